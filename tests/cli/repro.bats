#!/usr/bin/env bats
# One case of a finished run again.

load common

run_once() {
    small_config 'seed = 5'
    expect 0 "$BENCH" --config small.ini --out done --quiet
    CASE=$(column done/cases.csv case_id arm=base | tail -n 1)
}

@test "repro --ini expands to that one case and runs alone" {
    run_once
    expect 0 "$BENCH" repro done "$CASE" --ini
    mkdir elsewhere
    cp out elsewhere/one.ini
    rm small.ini
    cd elsewhere
    expect 0 "$BENCH" list --config one.ini
    grep -q "$CASE" out
    [ "$(grep -c 's\.B1\.H1\.S' out)" -eq 1 ]
    expect 0 "$BENCH" --config one.ini --out again --quiet
    [ "$(column again/cases.csv case_id | sort -u)" = "$CASE" ]
    [ "$(json_word again/run.json seed)" = 5 ]
    [ "$(column again/cases.csv arm | tr '\n' ' ')" = "$(column ../done/cases.csv arm case_id="$CASE" | tr '\n' ' ')" ]
}

@test "repro prints the command with --only" {
    run_once
    expect 0 "$BENCH" repro done "$CASE"
    [ "$(cat out)" = "bench --config small.ini --only $CASE" ]
}

@test "the report prints for each case what repro prints" {
    small_config
    expect 0 "$BENCH" --config small.ini --out done --quiet --rounds 2x7 --seed 9 \
        --sweep.s.seqlen=128,256 '--sweep.s.where=seqlen > 100' --only '*S*'
    "$BENCH" report done > again.md
    [ "$(grep -c '^bench .* --only ' done/report.md)" -eq 2 ]
    for CASE in $(column done/cases.csv case_id arm=base); do
        expect 0 "$BENCH" repro done "$CASE"
        grep -qx "bench --config small.ini --rounds 2x7 --seed 9 --sweep.s.seqlen=128,256 .--sweep.s.where=seqlen > 100. --only $CASE" out
        grep -qFx "$(cat out)" done/report.md
        grep -qFx "$(cat out)" again.md
    done
}

@test "repro names the nearest case" {
    run_once
    expect 2 "$BENCH" repro done "${CASE}0"
    one_line
    says "did you mean '$CASE'"
    expect 2 "$BENCH" repro done
    says 'repro takes a results folder and a case'
    expect 2 "$BENCH" repro . "$CASE"
    says 'no results folder'
    expect 0 "$BENCH" repro --help
}
