#!/usr/bin/env bats
# Words to the user: help, version, report, plot and doctor.

load common

@test "--version and --help, everywhere" {
    local command
    expect 0 "$BENCH" --version
    grep -Eq '^bench [0-9]+\.[0-9]+\.[0-9]+ ' out
    expect 0 "$BENCH" --help
    grep -q '^usage: bench ' out
    for command in run list check report plot doctor help; do
        expect 0 "$BENCH" "$command" --help
        grep -q "^usage: bench $command" out
        [ ! -s err ]
    done
}

@test "help explains a key, a reason and a command" {
    expect 0 "$BENCH" help
    [ -s out ]
    expect 0 "$BENCH" help rounds
    grep -q '5x24' out
    expect 0 "$BENCH" help few_processes
    [ -s out ]
    expect 0 "$BENCH" help run
    [ -s out ]
    expect 2 "$BENCH" help ruonds
    says rounds
    one_line
}

@test "report prints a finished run as Markdown, without touching it" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o
    cp -r o before
    expect 0 "$BENCH" report o
    cmp out o/report.md
    diff -r before o
    expect 2 "$BENCH" report nowhere
    one_line
}

@test "a run without gnuplot is complete and says so; plot draws later" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o
    [ "$(json_word o/run.json status)" = complete ]
    [ -z "$(find o -name '*.png')" ]
    says gnuplot
    command -v gnuplot > /dev/null || skip "no gnuplot here"
    sealed o
    expect 0 "$PROGRAM" plot o
    [ -s o/bars.png ]
    [ -s o/bars.svg ]
    [ -s o/forest.png ]
    [ -s o/run_order.png ]
    # The sealed files are as they were.
    sealed o
}

@test "plot of what is no results folder is 2" {
    expect 2 "$BENCH" plot nowhere
    one_line
}

@test "doctor says something about this machine and nothing is wrong with that" {
    expect 0 "$BENCH" doctor
    [ -s out ]
}
