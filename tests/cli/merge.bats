#!/usr/bin/env bats
# Finished runs of one plan as one.

load common

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    source "$BATS_TEST_DIRNAME/common.bash"
    small_config
    PATH=/nowhere "$BENCH" --config small.ini --out a --quiet > out1 2>&1
    PATH=/nowhere "$BENCH" --config small.ini --out b --quiet > out2 2>&1
}

folders() {
    cp -r "$BATS_FILE_TMPDIR/a" "$BATS_FILE_TMPDIR/b" "$BATS_FILE_TMPDIR/small.ini" .
}

@test "merge joins samples and derives everything anew" {
    folders
    expect 0 "$BENCH" merge both a b
    sealed both
    [ "$(rows both/samples.csv)" -eq $(($(rows a/samples.csv) + $(rows b/samples.csv))) ]
    [ "$(rows both/cases.csv)" -eq "$(rows a/cases.csv)" ]
    [ "$(column both/cases.csv processes arm=head | sort -u)" = 4 ]
    [ "$(column both/samples.csv process | sort -u | tr '\n' ' ')" = '0 1 2 3 ' ]
    [ "$(json_word both/run.json status)" = complete ]
    grep -q '"merged_from"' both/run.json
    grep -q '4x6' both/report.md
    expect 0 "$BENCH" cmp a both
    grep -q ' 2 -> 4 ' out
}

@test "merge refuses what is not the same and says which" {
    folders
    "$BENCH" --config small.ini --rounds 2x12 --only '*S128*' --out c --quiet > /dev/null 2>&1
    expect 2 "$BENCH" merge both a c
    one_line
    says "'c' has another plan than 'a'"
    sed -i 's/"protocol": [0-9]*/"protocol": 77/' b/run.json
    expect 2 "$BENCH" merge both a b
    says "'b' has protocol 77"
    expect 2 "$BENCH" merge both a a
    says 'are the same run'
    [ ! -e both ]
}

@test "merge never writes over what it reads" {
    folders
    expect 2 "$BENCH" merge b a b --force
    says 'both a run to merge and the folder to write'
    sealed b
}

@test "merge wants a folder and two runs" {
    folders
    expect 2 "$BENCH" merge both a
    says 'merge takes a new folder and at least two runs, 2 folders were given'
    echo x >> b/samples.csv
    expect 2 "$BENCH" merge both a b
    says "b/samples.csv' was changed after its run"
    mkdir full
    touch full/keep
    cp -r "$BATS_FILE_TMPDIR/b" c
    expect 6 "$BENCH" merge full a c
    says "results folder 'full' exists"
    expect 0 "$BENCH" merge --help
}
