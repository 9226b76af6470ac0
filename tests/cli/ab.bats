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
    git checkout -q head
}

setup() {
    cd "$REPO"
    export XDG_CACHE_HOME=$CACHE
    before=$(git status --porcelain; git rev-parse HEAD; git branch --list; git worktree list)
}

# The repository is as it was.
untouched() {
    [ "$before" = "$(git status --porcelain; git rev-parse HEAD; git branch --list; git worktree list)" ]
}

ab_config() {
    cat >"$BATS_TEST_TMPDIR/ab.ini" <<'EOF'
[global]
device = cpu
rounds = 2x6
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
    ! grep -q building <<<"$output"
    grep -q 'cpu@head' "$BATS_TEST_TMPDIR/out/cases.csv"
    grep -q 'cpu@base' "$BATS_TEST_TMPDIR/out/report.md"
    grep -q '"branches"' "$BATS_TEST_TMPDIR/out/run.json"
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

@test "Ctrl-C while building leaves nothing behind" {
    XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache "$BENCH" ab base head --arch none --build-only &
    pid=$!
    sleep 2
    kill -INT $pid
    status=0
    wait $pid || status=$?
    [ "$status" -eq 130 ]
    [ -z "$(ls -d "$BATS_TEST_TMPDIR"/cache/sab/*/src 2>/dev/null)" ]
    untouched
}
