#!/usr/bin/env bats
# `bench check`: kernels that each break one rule are caught by the check of that rule and by no other,
# sound ones pass all, and failing cases are reduced.

load common

# check_config KERNEL[:LIBRARY[:OPTION=CHOICE]]...: an arm each, on one small case with declared sizes.
check_config() {
    local spec kernel library option
    printf '[global]\ndevice = cpu\ntimeout = 20\n' > check.ini
    for spec in "$@"; do
        IFS=: read -r kernel library option <<< "$spec"
        printf '[arm %s%s]\nlibrary = %s/libfixture_%s.so\nkernel = sage_fwd/%s\n%s\n' "$kernel" \
            "${option:+_flagged}" "$FIXTURES" "${library:-contract}" "$kernel" "$option" >> check.ini
    done
    printf '[sweep s]\noperator = sage_fwd\nheads = 2\nseqlen = 192\nsizes_mode = 1\n' >> check.ini
}

# failing DIR ARM [STATUS]: the checks with that status, in the order of the table, between blanks.
failing() {
    column "$1/checks.csv" check "arm=$2" "status=${3:-fail}" | tr '\n' ' ' | sed 's/ $//'
}

# expect_table STATUS: of the lines on stdin, "ARM: CHECK...", each is what failed with that status.
expect_table() {
    local arm checks got wrong=0
    while IFS=: read -r arm checks; do
        checks=$(xargs <<< "$checks")
        got=$(failing o "$arm" "$1")
        [ "$got" = "$checks" ] || {
            printf '%s: failed "%s", not "%s"\n' "$arm" "$got" "$checks"
            wrong=1
        }
    done
    [ "$wrong" -eq 0 ]
}

@test "each rule that a kernel breaks is caught by its check" {
    check_config sound writes_input wrong_type not_deterministic ignores_sizes reads_index leaks \
        allocates caches overruns uses takes_any refuses_valid gives_no_reason
    expect 3 "$BENCH" check --config check.ini --no-shrink --out o --quiet
    expect_table fail << END
sound:
writes_input: inputs
wrong_type: oracle
not_deterministic: repeat two_plans empty degenerate traffic contents
ignores_sizes: oracle
reads_index: oracle empty degenerate contents
leaks: no_growth
allocates: no_growth
caches: zeroed stale_valid recycled_view no_growth
overruns: guards
uses:
takes_any: empty degenerate refusals
refuses_valid: oracle
gives_no_reason: refusals
END
    grep -q '^pass .* sound ' out
    grep -Eq '^fail .* overruns .*1 fail' out
}

@test "what disturbs or ends the process is caught, and the rest goes on" {
    [ "${SAB_SANITIZE:-OFF}" = OFF ] || export ASAN_OPTIONS=handle_segv=0:allow_user_segv_handler=1
    check_config right:behaviour writes_nothing:behaviour right_at_first:behaviour \
        writes_outside:behaviour misses_tile:behaviour crashes:behaviour exits:behaviour \
        fails:behaviour prints:behaviour supports_anything:behaviour
    expect 3 "$BENCH" check --config check.ini --no-shrink --out o --quiet
    expect_table fail << END
right:
writes_nothing: oracle written
right_at_first: repeat two_plans traffic contents
writes_outside: guards
misses_tile: oracle written
crashes: oracle
exits: oracle
fails: oracle
prints: quiet
supports_anything: refusals
END
    column o/checks.csv text arm=exits check=oracle | grep -q 'the worker process ended: exit status 0'
    column o/checks.csv text arm=crashes check=oracle | grep -q SIGSEGV
    [ "$(column o/checks.csv ended arm=crashes check=oracle)" = crash ]
    # What needs no launch was asked all the same.
    [ "$(column o/checks.csv status arm=crashes check=refusals)" = pass ]
    column o/checks.csv text arm=crashes check=repeat | grep -q 'not run: a plain launch ends the process'
    refute grep -q '^printed by a kernel' out
    no_leftovers
}

@test "a kernel that hangs costs its time limit once" {
    check_config hangs:behaviour
    sed -i 's/^timeout.*/timeout = 4/' check.ini
    expect 3 "$BENCH" check --config check.ini --no-shrink --out o --quiet
    [ "$(failing o hangs)" = oracle ]
    [ "$(column o/checks.csv ended arm=hangs check=oracle)" = timeout ]
    column o/checks.csv text arm=hangs check=oracle | grep -q 'did not end within its time limit of 4 s'
}

@test "an unsafe choice fails what it names and nothing else, and check says so" {
    check_config caches:contract:trust=said
    expect 0 "$BENCH" check --config check.ini --out o --quiet
    [ -z "$(failing o caches_flagged)" ]
    [ "$(failing o caches_flagged expected_failure)" = 'zeroed stale_valid recycled_view no_growth' ]
    grep -q '^expected failure: caches_flagged  zeroed, as trust=said is flagged' out
    grep -Eq '^zeroed +expected failure' out
    [ "$(column o/checks.csv hazards check=oracle)" = 'zeroed stale_valid recycled_view no_growth' ]
}

@test "an unsafe choice that passes is no less wrong" {
    check_config uses:contract:manner=modest
    expect 3 "$BENCH" check --config check.ini --no-shrink --check oracle --check zeroed --out o --quiet
    [ "$(failing o uses_flagged unexpected_pass)" = zeroed ]
    grep -Eq '^zeroed +UNEXPECTED PASS' out
    grep -q 'flagged unsafe for' out
}

@test "the first wrong element: tensor, index, both values" {
    check_config misses_tile:behaviour
    expect 3 "$BENCH" check --config check.ini --no-shrink --out o --quiet
    # The last tile of the last head: row 128 of head 1 of 192 rows of 128.
    [ "$(column o/checks.csv tensor check=written)" = out ]
    [ "$(column o/checks.csv element_index check=written)" = '[0,1,128,0]' ]
    [ "$(column o/checks.csv element check=written)" = $(((192 + 128) * 128)) ]
    [ "$(column o/checks.csv got check=oracle)" = nan ]
    grep -q "element out\[0,1,128,0\], number $(((192 + 128) * 128)): nan, must be " out
}

@test "a failing case is reduced to the smallest that fails, and its line plays it again" {
    check_config wrong_when_long
    sed -i 's/^heads.*/heads = 3/; s/^seqlen.*/seqlen = 112/' check.ini
    printf 'batch = 2\npattern = topk\n' >> check.ini
    expect 3 "$BENCH" check --config check.ini --out o --quiet
    [ "$(failing o wrong_when_long)" = oracle ]
    [ "$(column o/checks.csv smallest_case check=oracle)" = s.B1.H2.Sq101.Sk1.k1 ]
    grep -q '^    smallest that fails: s.B1.H2.Sq101.Sk1.k1$' out
    mapfile -t lines < <(sed -n 's/^    repro: bench //p' out)
    line=${lines[1]}
    eval "expect 3 \"$BENCH\" $line --out p --quiet --no-shrink"
    [ "$(column p/checks.csv case_id check=oracle)" = s.B1.H2.Sq101.Sk1.k1 ]
    [ "$(failing p wrong_when_long)" = oracle ]
    # One less of either, and it is right.
    eval "expect 0 \"$BENCH\" ${line% --only*} --sweep.s.seqlen_q=100 --quiet"
    eval "expect 0 \"$BENCH\" ${line% --only*} --sweep.s.heads=1 --quiet"
    # So does that of the case itself.
    eval "expect 3 \"$BENCH\" ${lines[0]} --quiet --no-shrink"
}

@test "the JUnit report counts as the table does" {
    check_config sound misses_tile:behaviour caches:contract:trust=said
    flags='--no-shrink --check oracle --check written --check zeroed --out o --quiet'
    # shellcheck disable=SC2086 # several flags
    expect 3 "$BENCH" check --config check.ini $flags
    [ "$(head -c 38 o/checks.xml)" = '<?xml version="1.0" encoding="UTF-8"?>' ]
    [ "$(grep -c '<testsuite ' o/checks.xml)" -eq 3 ]
    [ "$(grep -c '<testcase ' o/checks.xml)" -eq "$(rows o/checks.csv)" ]
    [ "$(grep -c '<failure ' o/checks.xml)" -eq 2 ]
    [ "$(grep -c '<skipped ' o/checks.xml)" -eq "$(column o/checks.csv check status=n/a | wc -l)" ]
    grep -q '<testsuite name="misses_tile" tests="[0-9]*" failures="2"' o/checks.xml
    if command -v xmllint > /dev/null; then xmllint --noout o/checks.xml; fi
    # The folder is a results folder like any other.
    [ "$(json_word o/run.json status)" = complete ]
    [ "$(column o/cases.csv status arm=misses_tile)" = wrong ]
    [ "$(column o/cases.csv status arm=sound)" = ok ]
    for name in checks.csv checks.xml cases.csv; do
        grep -q "\"$name\": \"$(sha256sum o/$name | cut -d ' ' -f 1)\"" o/run.json
    done
    expect 6 "$BENCH" check --config check.ini --out o --quiet
    says "'o' exists"
    # shellcheck disable=SC2086
    expect 3 "$BENCH" check --config check.ini $flags --force
}

@test "checks are not gone on with, and no run goes on with them" {
    printf '[global]\ndevice = cpu\nrounds = 1x6\n[arm a]\nkernel = copy/cpu\n[sweep s]\noperator = copy\nsize = 4k\n' > check.ini
    expect 0 "$BENCH" check --config check.ini --check guards --out o --quiet
    cp -r o before
    expect 2 "$BENCH" check --config check.ini --out o --resume
    says '`bench check` begins anew each time; --force replaces'
    one_line
    expect 2 "$BENCH" --config check.ini --out o --resume
    says "'o' holds checks, no times"
    diff -r before o
    expect 0 "$BENCH" report o
    expect 2 "$BENCH" check --config check.ini --apart --together
    says 'exclude each other'
}

@test "a check that is killed leaves what it found" {
    check_config misses_tile:behaviour hangs:behaviour
    "$BENCH" check --config check.ini --check guards --check written --out o --timeout 600 --quiet > out 2> err &
    pid=$!
    # The second arm hangs: the first is all that there will be.
    wait_for test -s o/checks.csv
    kill -KILL "$pid"
    wait "$pid" || true
    [ "$(failing o misses_tile)" = written ]
    [ "$(json_word o/run.json status)" = running ]
    expect 3 "$BENCH" check --config check.ini --no-shrink --check written --arm misses_tile --out o --force --quiet
}

@test "without a folder nothing is written, and a skip is no failure" {
    printf '[global]\ndevice = cpu\n[arm a]\nkernel = sage_fwd/cpu\n[sweep s]\noperator = sage_fwd\nhead_dim = 64\n' > skip.ini
    expect 0 "$BENCH" check --config skip.ini
    grep -q '^skip .*head dimension' out
    [ ! -e results ]
    no_leftovers
}

@test "checks by name" {
    check_config misses_tile:behaviour
    expect 3 "$BENCH" check --config check.ini --no-shrink --check written --check guards --out o --quiet
    [ "$(column o/checks.csv check | xargs)" = 'guards written' ]
    expect 0 "$BENCH" check --config check.ini --check guards --quiet
    expect 2 "$BENCH" check --config check.ini --check guard
    says "'guard' is no check, did you mean 'guards'"
}

@test "cases that share a process fail where they fail apart" {
    check_config wrong_when_long overruns crashes:behaviour caches:contract:trust=said
    [ "${SAB_SANITIZE:-OFF}" = OFF ] || export ASAN_OPTIONS=handle_segv=0:allow_user_segv_handler=1
    sed -i 's/^seqlen.*/seqlen = 64, 192/' check.ini
    flags='--check oracle --check guards --check zeroed --quiet'
    # shellcheck disable=SC2086 # several flags
    expect 3 "$BENCH" check --config check.ini --no-shrink --out o $flags
    # shellcheck disable=SC2086
    expect 3 "$BENCH" check --config check.ini --no-shrink --out p $flags --together
    # shellcheck disable=SC2086
    expect 3 "$BENCH" check --config check.ini --no-shrink --out q $flags --apart
    for folder in o p q; do
        column $folder/checks.csv check status=fail | wc -l > $folder.nr
        for arm in wrong_when_long overruns crashes caches_flagged; do
            for case in s.B1.H2.S64.d0.5.sizes_mode-1 s.B1.H2.S192.d0.5.sizes_mode-1; do
                column $folder/checks.csv status "arm=$arm" "case_id=$case" | xargs echo "$arm" "$case"
            done
        done > $folder.table
    done
    # One of two cases is long; each overruns, and each crashes.
    [ "$(cat o.nr)" -eq 5 ]
    cmp o.table p.table
    cmp o.table q.table
}

@test "check stops at Ctrl-C" {
    check_config hangs:behaviour
    local got=0
    FIXTURE_MARK=$PWD/hanging "$BENCH" check --config check.ini --timeout 600 > out 2> err &
    pid=$!
    wait_for test -e hanging
    kill -INT "$pid"
    wait "$pid" || got=$?
    [ "$got" -eq 130 ]
    no_leftovers
}
