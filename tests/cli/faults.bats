#!/usr/bin/env bats
# Kernels that break a rule, workers that die and users that stop a run: the row says what happened,
# the other arms keep theirs, and the exit status is DESIGN 5's.

load common

# fault KERNEL STATUS ROW-STATUS TEXT [FLAG...]: one bad arm between two good ones, in both cases.
fault() {
    local kernel=$1 status=$2 row=$3 text=$4
    shift 4
    odd_config "$kernel"
    expect "$status" "$BENCH" --config odd.ini --out o "$@"
    [ "$(column o/cases.csv status arm=odd | sort -u)" = "$row" ]
    [ "$(column o/cases.csv status arm=odd | wc -l)" -eq 2 ]
    column o/cases.csv status_text arm=odd | grep -qF -- "$text"
    # The others are timed in full.
    [ "$(column o/cases.csv status arm=base | sort -u)" = ok ]
    [ "$(column o/cases.csv status "arm=base'" | sort -u)" = ok ]
    [ "$(column o/cases.csv rounds arm=base | sort -u)" = 12 ]
    # A failed row has no verdict and a place in the report.
    [ -z "$(column o/cases.csv verdict arm=odd | sort -u)" ]
    grep -q 'odd' o/report.md
    sealed o
    no_leftovers
}

@test "a right kernel of another library passes" {
    odd_config right
    expect 0 "$BENCH" --config odd.ini --out o
    [ "$(column o/cases.csv status | sort -u)" = ok ]
    [ "$(column o/cases.csv bits_equal arm=odd | sort -u)" = yes ]
}

@test "wrong values: never timed" {
    fault wrong 3 wrong "before timing"
    [ "$(column o/samples.csv arm arm=odd | wc -l)" -eq 0 ]
    [ "$(column o/cases.csv check_before arm=odd | sort -u)" = wrong ]
}

@test "an output that is never written" {
    fault writes_nothing 3 wrong "before timing"
    [ "$(column o/samples.csv arm arm=odd | wc -l)" -eq 0 ]
}

@test "a tile that is left out" {
    fault misses_tile 3 wrong "before timing"
}

@test "a byte behind the output: the arm that wrote it is to blame, and it alone" {
    fault writes_outside 3 wrong "written behind 'out'"
}

@test "right at the gate and wrong later: caught after timing" {
    fault right_at_first 3 wrong "after timing"
    [ "$(column o/cases.csv check_before arm=odd | sort -u)" = pass ]
    [ "$(column o/cases.csv check_after arm=odd | sort -u)" = wrong ]
}

@test "a segmentation fault" {
    [ "${SAB_SANITIZE:-OFF}" = OFF ] || export ASAN_OPTIONS=handle_segv=0:allow_user_segv_handler=1
    fault crashes 4 crash "SIGSEGV"
}

@test "exit(0) in a kernel is a crash all the same" {
    fault exits 4 crash "the worker process ended"
}

@test "a launch that fails" {
    fault fails 4 crash "the fixture fails at launch"
}

@test "a kernel that hangs ends at the time-out" {
    # Long for what the other arms do in it.
    local limit=3
    [ "${SAB_SANITIZE:-OFF}" = OFF ] || limit=12
    odd_config hangs
    sed -i 's/^seqlen.*/seqlen = 128/' odd.ini
    expect 4 "$BENCH" --config odd.ini --out o --timeout "$limit"
    [ "$(column o/cases.csv status arm=odd)" = timeout ]
    column o/cases.csv status_text arm=odd | grep -qF 'no answer within its time limit'
    [ "$(column o/cases.csv status arm=base)" = ok ]
    [ "$(column o/cases.csv rounds arm=base)" = 12 ]
    sealed o
    no_leftovers
}

@test "a crash with [gate] failed = pass is a row and status 0" {
    odd_config crashes
    [ "${SAB_SANITIZE:-OFF}" = OFF ] || export ASAN_OPTIONS=handle_segv=0:allow_user_segv_handler=1
    printf '\n[gate]\nfailed = pass\n' >> odd.ini
    expect 0 "$BENCH" --config odd.ini --out o
    [ "$(column o/cases.csv status arm=odd | sort -u)" = crash ]
}

@test "a wrong result outranks a crash" {
    odd_config crashes
    [ "${SAB_SANITIZE:-OFF}" = OFF ] || export ASAN_OPTIONS=handle_segv=0:allow_user_segv_handler=1
    printf '\n[arm bad]\nlibrary = %s\nkernel = sage_fwd/wrong\n' "$FIXTURES/libfixture_behaviour.so" >> odd.ini
    expect 3 "$BENCH" --config odd.ini --out o
}

@test "what a kernel prints does not get into the table" {
    odd_config prints
    expect 0 "$BENCH" --config odd.ini --out o
    refute grep -q 'printed by a kernel' out
    [ "$(column o/cases.csv status | sort -u)" = ok ]
}

@test "check: wrong is 3, and nothing is timed" {
    odd_config misses_tile
    expect 3 "$BENCH" check --config odd.ini --no-shrink
    odd_config right
    expect 0 "$BENCH" check --config odd.ini
    [ ! -e results ]
    odd_config writes_outside
    expect 3 "$BENCH" check --config odd.ini --no-shrink
    no_leftovers
}

# long_run: begins a run of many seconds in the background; its id is in $pid.
long_run() {
    small_config
    sed -i 's/^seqlen.*/seqlen = 512/' small.ini
    "$BENCH" --config small.ini --rounds 60x60 --out o > out 2> err &
    pid=$!
    wait_for measured
}

measured() {
    [ -e o/samples.csv ] && [ "$(wc -l < o/samples.csv)" -gt 1 ]
}

stopped_by() {
    local got=0
    long_run
    kill "-$1" "$pid"
    wait "$pid" || got=$?
    [ "$got" -eq 130 ]
    [ "$(json_word o/run.json status)" = interrupted ]
    [ "$(rows o/samples.csv)" -gt 0 ]
    [ "$(column o/cases.csv status | sort -u)" = ok ]
    # It prints what there is.
    grep -q 's.B1.H1.S512' out
    sealed o
    no_leftovers
    refute pgrep -P "$pid"
}

@test "Ctrl-C: status 130, files sealed, the table printed" {
    stopped_by INT
}

@test "SIGTERM is the first Ctrl-C" {
    stopped_by TERM
}

@test "after Ctrl-C --resume finishes the run" {
    small_config
    sed -i 's/^seqlen.*/seqlen = 64, 128/' small.ini
    "$BENCH" --config small.ini --rounds 6x36 --out o > out 2> err &
    pid=$!
    wait_for measured
    kill -INT "$pid"
    local got=0
    wait "$pid" || got=$?
    [ "$got" -eq 130 ]
    expect 0 "$BENCH" --config small.ini --rounds 6x36 --out o --resume
    [ "$(column o/samples.csv arm drop_reason= | wc -l)" -eq $((2 * 6 * 36 * 3)) ]
    [ -z "$(cut -d , -f 3-8 o/samples.csv | sort | uniq -d)" ]
    [ "$(json_word o/run.json status)" = complete ]
    sealed o
}

@test "SIGKILL of a worker: that case is a crash, the others are kept" {
    odd_config hangs
    sed -i 's/^seqlen.*/seqlen = 128/' odd.ini
    FIXTURE_MARK=$PWD/hanging "$BENCH" --config odd.ini --out o --timeout 600 > out 2> err &
    pid=$!
    # The hanging kernel holds the worker, so that it is there to be killed.
    wait_for test -e hanging
    pkill -KILL -P "$pid"
    local got=0
    wait "$pid" || got=$?
    [ "$got" -eq 4 ]
    [ "$(column o/cases.csv status arm=odd)" = crash ]
    column o/cases.csv status_text arm=odd | grep -q SIGKILL
    [ "$(column o/cases.csv status arm=base)" = ok ]
    [ "$(column o/cases.csv rounds arm=base)" -eq 12 ]
    sealed o
    no_leftovers
}

@test "the second Ctrl-C stops at once" {
    odd_config hangs
    FIXTURE_MARK=$PWD/hanging "$BENCH" --config odd.ini --out o --timeout 600 > out 2> err &
    pid=$!
    wait_for test -e hanging
    kill -INT "$pid"
    sleep 0.5
    kill -0 "$pid"
    kill -INT "$pid"
    local got=0
    wait "$pid" || got=$?
    [ "$got" -eq 130 ]
    no_leftovers
}
