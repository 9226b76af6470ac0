#!/usr/bin/env bats
# bench ab: refs become libraries, in a repository that holds the kernels alone.

load common

setup_file() {
    export REPO=$BATS_FILE_TMPDIR/repo CACHE=$BATS_FILE_TMPDIR/cache
    mkdir -p "$REPO"
    cp -r "$SOURCE_DIR/kernels" "$REPO/"
    cd "$REPO"
    git -c init.defaultBranch=main init -q
    git config user.name tester
    git config user.email tester@example.org
    git add -A
    git commit -qm base
    git branch base
    git checkout -qb head
    sed -i 's/= "cpu",/= "cpu", \/* head *\//' kernels/sage_fwd/cpu.c
    git commit -qam head
    git checkout -qb broken
    echo 'this is no C' >>kernels/sage_fwd/cpu.c
    git commit -qam broken
    git checkout -qb empty
    git rm -rq kernels
    echo nothing >README
    git add README
    git commit -qm empty
    git checkout -q base
    git checkout -qb newer
    sed -i '/^#define SAB_ABI_VERSION/s/[0-9][0-9]*u/99u/' kernels/abi/sab.h
    git commit -qam newer
    git checkout -q head
}

# What of a repository must stay: checkout, index, branches, worktrees, submodules.
state() {
    git status --porcelain
    git rev-parse HEAD
    git symbolic-ref -q HEAD || echo detached
    git diff --cached | sha256sum
    git branch --list
    git worktree list
    git submodule status
}

setup() {
    cd "$REPO"
    export XDG_CACHE_HOME=$CACHE
    before=$(state)
}

teardown() {
    [ ! -e "$BATS_TEST_TMPDIR/mounted" ] || umount -l "$BATS_TEST_TMPDIR/full"
}

# The repository is as it was.
untouched() {
    [ "$before" = "$(state)" ]
}

# The noise floor is as high as it goes: a verdict is not what is tested.
ab_config() {
    cat >"$BATS_TEST_TMPDIR/ab.ini" <<'EOF'
[global]
device = cpu
rounds = 2x6
noise_floor = 99%
[arm cpu]
kernel = sage_fwd/cpu
[sweep s]
operator = sage_fwd
heads    = 1
seqlen   = 128
EOF
    echo "$BATS_TEST_TMPDIR/ab.ini"
}

@test "two refs are built, cached, run and reported" {
    run "$BENCH" ab base head --arch none --build-only
    [ "$status" -eq 0 ]
    [ "$(grep -c 'libsab_kernels.so$' <<<"$output")" -eq 2 ]
    [ -z "$(ls -d "$CACHE"/sab/*/src 2>/dev/null)" ]
    untouched
    # The second time nothing is built.
    run "$BENCH" ab base head --arch none --config "$(ab_config)" --out "$BATS_TEST_TMPDIR/out"
    [ "$status" -eq 0 ]
    refute grep -q building <<<"$output"
    grep -q 'cpu@head' "$BATS_TEST_TMPDIR/out/cases.csv"
    grep -q 'cpu@base' "$BATS_TEST_TMPDIR/out/report.md"
    grep -q '"branches"' "$BATS_TEST_TMPDIR/out/run.json"
    run "$BENCH" repro "$BATS_TEST_TMPDIR/out" "$(column "$BATS_TEST_TMPDIR/out/cases.csv" case_id | head -n 1)"
    grep -q '^bench ab base head --arch none --config ' <<<"$output"
    grep -qFx "$output" "$BATS_TEST_TMPDIR/out/report.md"
    untouched
}

@test "libraries by their paths, without a repository" {
    libs=$("$BENCH" ab base head --arch none --build-only --quiet | cut -f 2)
    cd /
    # shellcheck disable=SC2086 # two paths
    run "$BENCH" ab $libs --config "$(ab_config)" --out "$BATS_TEST_TMPDIR/out"
    [ "$status" -eq 0 ]
    grep -q 'cpu@sab_kernels.2' "$BATS_TEST_TMPDIR/out/cases.csv"
}

@test "WORKTREE takes changes that are not committed, and says so" {
    echo '/* changed */' >>kernels/sage_fwd/cpu.c
    echo '/* new */' >kernels/sage_fwd/note.h
    run "$BENCH" ab base WORKTREE --arch none --config "$(ab_config)" --out "$BATS_TEST_TMPDIR/out"
    git checkout -q kernels/sage_fwd/cpu.c
    rm kernels/sage_fwd/note.h
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q -- '-dirty' "$BATS_TEST_TMPDIR/out/run.json"
    grep -Eq '"diff_sha256": "[0-9a-f]{64}"' "$BATS_TEST_TMPDIR/out/run.json"
    untouched
}

@test "a ref that does not build is exit 4 with the end of its log" {
    run "$BENCH" ab base broken --arch none --build-only
    [ "$status" -eq 4 ]
    grep -q "'broken' does not build" <<<"$output"
    grep -q 'error' <<<"$output"
    untouched
}

@test "a ref without kernels, no such ref, one name alone" {
    run "$BENCH" ab base empty --arch none --build-only
    [ "$status" -eq 2 ]
    grep -q "no folder kernels/" <<<"$output"
    run "$BENCH" ab base nowhere --arch none --build-only
    [ "$status" -eq 2 ]
    grep -q "'nowhere' is no file and no commit" <<<"$output"
    run "$BENCH" ab base --arch none --build-only
    [ "$status" -eq 2 ]
    untouched
}

@test "a shallow clone says what it may lack" {
    git clone -q --depth 1 "file://$REPO" "$BATS_TEST_TMPDIR/shallow"
    cd "$BATS_TEST_TMPDIR/shallow"
    run "$BENCH" ab base HEAD --arch none --build-only
    [ "$status" -eq 2 ]
    grep -q "shallow clone" <<<"$output"
}

@test "the same library twice is an A/A comparison: never an alarm that goes unsaid" {
    lib=$("$BENCH" ab base base --arch none --build-only --quiet | head -n 1 | cut -f 2)
    ln -s "$lib" "$BATS_TEST_TMPDIR/link.so"
    run "$BENCH" ab "$lib" "$BATS_TEST_TMPDIR/link.so" --config "$(ab_config)" --out "$BATS_TEST_TMPDIR/out"
    [ "$status" -eq 0 ] || [ "$status" -eq 5 ]
    [ "$(grep -c 'sage_fwd/cpu' "$BATS_TEST_TMPDIR/out/cases.csv")" -eq 3 ]
}

@test "one ref twice, and two names of one commit" {
    run "$BENCH" ab base base main --arch none --config "$(ab_config)" --out "$BATS_TEST_TMPDIR/out"
    [ "$status" -eq 0 ] || [ "$status" -eq 5 ]
    grep -q 'cpu@base,' "$BATS_TEST_TMPDIR/out/cases.csv"
    grep -q 'cpu@base.2,' "$BATS_TEST_TMPDIR/out/cases.csv"
    grep -q 'cpu@main,' "$BATS_TEST_TMPDIR/out/cases.csv"
    untouched
}

@test "a ref with another ABI version: both versions are named" {
    run "$BENCH" ab base newer --arch none --config "$(ab_config)" --out "$BATS_TEST_TMPDIR/out"
    [ "$status" -eq 2 ]
    grep -q 'has ABI version 99, this program has [0-9]*: build both from the same sab.h' <<<"$output"
    untouched
}

# refused RULE LIBRARY LIBRARY: exit 2 before anything is measured, and the rule is named.
refused() {
    run "$BENCH" ab "$2" "$3" --config "$(ab_config)" --out "$BATS_TEST_TMPDIR/out"
    echo "$output"
    [ "$status" -eq 2 ]
    grep -q -- "$1" <<<"$output"
    [ ! -e "$BATS_TEST_TMPDIR/out/cases.csv" ]
}

@test "two builds that would share code: a helper library, default visibility" {
    base=$("$BENCH" ab base base --arch none --build-only --quiet | head -n 1 | cut -f 2)
    cp "$FIXTURES/libfixture_needs_helper.so" "$BATS_TEST_TMPDIR/libcopy.so"
    refused "needs 'libfixture_helper.so', which two builds would share: link it statically" \
        "$FIXTURES/libfixture_needs_helper.so" "$BATS_TEST_TMPDIR/libcopy.so"
    refused 'beside sab_library: compile with -fvisibility=hidden' \
        "$base" "$FIXTURES/libfixture_two_symbols.so"
    refused 'which two builds would share: compile with -fno-gnu-unique and -fvisibility=hidden' \
        "$FIXTURES/libfixture_unique.so" "$base"
}

@test "a detached HEAD stays detached" {
    git checkout -q --detach base
    before=$(state)
    run "$BENCH" ab HEAD head --arch none --build-only
    stayed=0
    untouched || stayed=1
    git checkout -q head
    [ "$status" -eq 0 ]
    [ "$stayed" -eq 0 ]
    grep -q '^HEAD' <<<"$output"
}

@test "paths with spaces, a submodule, hooks, and a worktree of the user that is not there now" {
    git clone -q "file://$REPO" "$BATS_TEST_TMPDIR/a b"
    cd "$BATS_TEST_TMPDIR/a b"
    git -c protocol.file.allow=always submodule add -q "file://$REPO" third_party/other
    git -c user.name=tester -c user.email=tester@example.org commit -qm submodule
    git worktree add -q -b away "$BATS_TEST_TMPDIR/away"
    mv "$BATS_TEST_TMPDIR/away" "$BATS_TEST_TMPDIR/unplugged"
    before=$(state)
    printf '#!/bin/sh\ntouch "%s/hook"\n' "$BATS_TEST_TMPDIR" >.git/hooks/post-checkout
    chmod +x .git/hooks/post-checkout
    export XDG_CACHE_HOME="$BATS_TEST_TMPDIR/c d"
    cd third_party
    run "$BENCH" ab head HEAD --arch none --config "$(ab_config)" --out "$BATS_TEST_TMPDIR/o u t"
    cd ..
    [ "$status" -eq 0 ]
    grep -q 'cpu@HEAD' "$BATS_TEST_TMPDIR/o u t/cases.csv"
    untouched
    [ -z "$(find "$XDG_CACHE_HOME" -name src)" ]
    [ ! -e "$BATS_TEST_TMPDIR/hook" ]
}

@test "a cache folder that is not absolute is not looked for in the repository" {
    run env XDG_CACHE_HOME=cache HOME="$BATS_TEST_TMPDIR" "$BENCH" ab nowhere base --arch none --build-only
    [ "$status" -eq 2 ]
    run env XDG_CACHE_HOME=cache HOME="$BATS_TEST_TMPDIR" "$BENCH" ab empty base --arch none --build-only
    [ "$status" -eq 2 ]
    [ -d "$BATS_TEST_TMPDIR/.cache/sab" ]
    untouched
}

@test "a full disk under the cache is exit 6, and nothing half built is used later" {
    mkdir "$BATS_TEST_TMPDIR/full"
    mount -t tmpfs -o size=256k tmpfs "$BATS_TEST_TMPDIR/full" 2>/dev/null || skip "may not mount"
    touch "$BATS_TEST_TMPDIR/mounted"
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/full
    # Full while git writes the sources, then while cmake and the compiler write.
    for size in 256k 1m 1200k; do
        mount -o remount,size=$size "$XDG_CACHE_HOME"
        run "$BENCH" ab base base --arch none --build-only
        echo "$size: $output"
        [ "$status" -eq 6 ]
        grep -q "cannot build 'base' in '.*': disk full" <<<"$output"
        [ -z "$(find "$XDG_CACHE_HOME" -name src -o -name build -o -name '*.so*')" ]
        untouched
    done
    mount -o remount,size=64m "$XDG_CACHE_HOME"
    run "$BENCH" ab base base --arch none --build-only
    [ "$status" -eq 0 ]
    grep -q "building 'base'" <<<"$output"
    grep -q 'libsab_kernels.so$' <<<"$output"
    untouched
}

builders() {
    [ -f "$BATS_TEST_TMPDIR/builders" ] && [ "$(wc -l <"$BATS_TEST_TMPDIR/builders")" -eq 2 ]
}

# endless_build: bench is in the middle of building; its id is in $pid. What stands for the build is
# a program with a child of its own, which both do not end by themselves.
endless_build() {
    mkdir "$BATS_TEST_TMPDIR/shim"
    printf '#!/bin/sh\nsleep 900 &\nprintf "%%s\\n" $$ $! > "%s/builders"\nwait\n' "$BATS_TEST_TMPDIR" \
        >"$BATS_TEST_TMPDIR/shim/cmake"
    chmod +x "$BATS_TEST_TMPDIR/shim/cmake"
    PATH="$BATS_TEST_TMPDIR/shim:$PATH" XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache \
        "$BENCH" ab base head --arch none --build-only >/dev/null 2>&1 &
    pid=$!
    wait_for builders
}

@test "Ctrl-C while building leaves nothing behind" {
    local status=0 builder
    endless_build
    kill -INT "$pid"
    wait "$pid" || status=$?
    [ "$status" -eq 130 ]
    [ -z "$(ls -d "$BATS_TEST_TMPDIR"/cache/sab/*/src 2>/dev/null)" ]
    while read -r builder; do wait_for gone "$builder"; done <"$BATS_TEST_TMPDIR/builders"
    untouched
}

@test "SIGKILL of bench ends what it was building" {
    local builder
    endless_build
    kill -KILL "$pid"
    wait "$pid" || true
    while read -r builder; do
        wait_for gone "$builder"
    done <"$BATS_TEST_TMPDIR/builders"
    # The next build takes the worktree away; here there is none.
    rm -rf "$BATS_TEST_TMPDIR/cache"
    git worktree prune
    untouched
}

@test "without cmake it is exit 6" {
    mkdir "$BATS_TEST_TMPDIR/few"
    ln -s "$(command -v git)" "$BATS_TEST_TMPDIR/few/git"
    local got=0
    PATH=$BATS_TEST_TMPDIR/few XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache \
        "$BENCH" ab base head --arch none --build-only >/dev/null 2>"$BATS_TEST_TMPDIR/err" || got=$?
    cat "$BATS_TEST_TMPDIR/err"
    [ "$got" -eq 6 ]
    grep -q "cannot start 'cmake'" "$BATS_TEST_TMPDIR/err"
    untouched
}
