#!/usr/bin/env bats
# The profiler's command line, with a script in place of the profiler.

load common

# fake_ncu [LINE...]: a script that writes its words, one a line, and runs the lines.
fake_ncu() {
    mkdir -p tools
    {
        printf '#!/bin/sh\nprintf "%%s\\n" "$@" > "%s/words"\n' "$PWD"
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } > tools/ncu
    chmod +x tools/ncu
    PATH=$PWD/tools:$PATH
}

one_case() {
    small_config
    CASE=s.B1.H1.S128.d0.5
    CASE=$("$BENCH" list --config small.ini | grep -o 's\.B1\.H1\.S128[^ ]*' | head -n 1)
}

@test "ncu gets filters, the user's options, and this program inside" {
    one_case
    fake_ncu
    expect 0 "$PROGRAM" ncu --config small.ini --only "$CASE" --arm head -- --set full
    for word in --clock-control none --nvtx --nvtx-include 'bench@sample 0/' --set full --inside "$CASE"; do
        grep -qxF -- "$word" words
    done
    [ "$(grep -nxF -- full words | cut -d : -f 1)" -lt "$(grep -nxF -- --inside words | cut -d : -f 1)" ]
    refute grep -qxF -- -- words
}

@test "ncu has nothing to profile on device cpu, and says so" {
    one_case
    fake_ncu 'while [ "${1##*/}" != bench ]; do shift; done' 'exec "$@"'
    expect 6 "$PROGRAM" ncu --config small.ini --only "$CASE" --arm head
    says 'ncu profiles CUDA kernels, and this case would run on device cpu'
}

@test "ncu that is not there" {
    one_case
    [ ! -x /usr/local/cuda/bin/ncu ] || skip "the toolkit is installed"
    expect 6 env -u CUDA_HOME -u CUDA_PATH PATH=/usr/bin:/bin "$PROGRAM" ncu --config small.ini --only "$CASE" --arm head
    one_line
    says 'install Nsight Compute'
}

@test "ncu wants one case and one arm" {
    one_case
    fake_ncu
    expect 2 "$PROGRAM" ncu --config small.ini --only "$CASE"
    says 'needs --only CASE and one --arm NAME'
    expect 2 "$PROGRAM" ncu --config small.ini --only 's.*' --arm head
    says 'matches 2 cases'
    expect 2 "$PROGRAM" ncu --config small.ini --only "$CASE" --arm heat
    says "did you mean 'head'"
    expect 2 "$PROGRAM" ncu --only "$CASE" --arm head
    says 'needs --config FILE'
    [ ! -e words ]
}
