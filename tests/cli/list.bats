#!/usr/bin/env bats
# `bench list` says beforehand what a run would do; what does not fit is a row of the run, and status 0.

load common

@test "list prints cases, arms, rounds and an estimate, and runs nothing" {
    small_config
    expect 0 "$BENCH" list --config small.ini
    grep -q '^arm base: sage_fwd/cpu of .*(baseline)' out
    grep -q "^arm base': .*copy of the baseline" out
    grep -q '^s.B1.H1.S128.d0.5 .*3 arms .*2x6 ' out
    grep -q '^2 cases, about ' out
    [ ! -e results ]
    no_leftovers
}

@test "list obeys flags and --only" {
    small_config
    expect 0 "$BENCH" list --config small.ini --only '*S192*' --rounds 3x12
    grep -q '^1 cases' out
    grep -q 'S192.* 3x12 ' out
    refute grep -q 'S128' out
}

@test "a case without the memory is oom: list says so, the run has the row" {
    small_config
    sed -i 's/^seqlen.*/seqlen = 128, 8m/; s/^heads.*/heads = 64/' small.ini
    expect 0 "$BENCH" list --config small.ini
    grep -q 'base: oom: needs ' out
    expect 0 "$BENCH" --config small.ini --out o --rounds 1x6
    [ "$(column o/cases.csv status case_id=s.B1.H64.S8388608.d0.5 | sort -u)" = oom ]
    [ "$(column o/cases.csv status case_id=s.B1.H64.S128.d0.5 | sort -u)" = ok ]
    [ "$(rows o/cases.csv)" -eq 6 ]
}

@test "a sample longer than max_time is skip: list says so, the run has the row" {
    small_config
    sed -i 's/^seqlen.*/seqlen = 128, 128k/' small.ini
    expect 0 "$BENCH" list --config small.ini --max_time 1s
    grep -q 'base: skip: one sample would take about .*max_time = 1.00 s' out
    expect 0 "$BENCH" --config small.ini --out o --max_time 1s
    [ "$(column o/cases.csv status case_id=s.B1.H1.S131072.d0.5 | sort -u)" = skip ]
    [ "$(column o/cases.csv status case_id=s.B1.H1.S128.d0.5 | sort -u)" = ok ]
}

@test "an arm that serves no sweep is an error" {
    small_config
    printf '\n[arm other]\nkernel = null/cpu\n' >> small.ini
    expect 2 "$BENCH" list --config small.ini
    says "arm 'other' serves no sweep"
}

@test "--operators prints every axis with its default" {
    expect 0 "$BENCH" list --operators
    grep -q '^sage_fwd: ' out
    grep -q '^null: ' out
    grep -Eq '^  density +=' out
    grep -Eq '^  seqlen_q +=' out
}

@test "--kernels prints the catalogue with options" {
    expect 0 "$BENCH" list --kernels
    grep -Eq '^  sage_fwd/cpu +cpu ' out
    grep -q '      simd = auto | off' out
}

@test "a sweep that names only its operator is a valid small case, checked in 10 s" {
    printf '[arm a]\nkernel = cpu\n[sweep sage_fwd]\n' > least.ini
    SECONDS=0
    expect 0 "$BENCH" check --config least.ini --device cpu
    # The promise is of an optimised build.
    [ "${SAB_SANITIZE:-OFF}" != OFF ] || [ "$SECONDS" -le 10 ]
}

@test "the quick sweep: arms for another device are left out with a line" {
    : "${SOURCE_DIR:?the source tree}"
    expect 0 "$BENCH" list --config "$SOURCE_DIR/configs/quick.ini" --device cpu
    says "arm 'mma' is left out"
    grep -q '^arm scalar: .*(baseline)' out
}
