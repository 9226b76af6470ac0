#!/usr/bin/env bats
# The DSA operators from end to end on the CPU: checks, a run with inputs that another operator makes,
# and cases that are refused.

load common

dsa_config() {
    {
        printf '[global]\ndevice = cpu\nrounds = 2x6\nnoise_floor = 99%%\n[arm base]\nkernel = cpu\nrole = baseline\n'
        printf '[arm plain]\nkernel = cpu\nsimd = off\n[sweep s]\noperator = %s\nheads = 2\nseqlen = 20\ntopk = 12\n' "$1"
        shift
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } > dsa.ini
}

@test "both operators pass their checks at their defaults" {
    printf '[arm cpu]\nkernel = cpu\n[sweep f]\noperator = dsa_fwd\n[sweep b]\noperator = dsa_bwd\n' > dsa.ini
    expect 0 "$BENCH" check --config dsa.ini --device cpu
    [ "$(grep -c '^pass' out)" -ge 2 ]
}

@test "hard cases pass: ragged lengths, invalid ids, every kind of sink, a row of NaN" {
    dsa_config dsa_fwd 'lengths = none, ragged, empty' 'pattern = scattered, duplicates, invalid' \
        'sink = mixed' 'dtype = bf16, fp16' 'lse_prefix = 5'
    expect 0 "$BENCH" check --config dsa.ini
    dsa_config dsa_bwd 'lengths = ragged' 'pattern = scattered, single' 'sink = mixed' \
        'dtype = bf16, fp16' 'data = poison' 'deterministic = 1'
    expect 0 "$BENCH" check --config dsa.ini
}

@test "a run of the backward: out and lse are made, the bits of an arm are compared" {
    dsa_config dsa_bwd 'head_dim = 576'
    expect 0 "$BENCH" --config dsa.ini --out o
    [ "$(column o/cases.csv status | sort -u)" = ok ]
    [ "$(column o/cases.csv oracle | sort -u)" = full ]
    [ "$(column o/cases.csv check_after | sort -u)" = pass ]
    [ "$(column o/cases.csv density_realised | sort -u)" = 0.59999999999999998 ] ||
        [ "$(column o/cases.csv density_realised | sort -u)" = 0.6 ]
}

@test "what no case can be is refused with its line" {
    dsa_config dsa_fwd 'lse_prefix = 13'
    expect 2 "$BENCH" list --config dsa.ini
    says 'lse_prefix = 13 is above topk = 12'
    says 'dsa.ini:'
    one_line
    dsa_config dsa_fwd 'head_dim = 520'
    expect 2 "$BENCH" list --config dsa.ini
    says 'head_dim = 520'
    one_line
    dsa_config dsa_bwd 'pattern = overlap' 'overlap = 0'
    expect 2 "$BENCH" list --config dsa.ini
    says 'needs seqlen_k of at least 24'
}

@test "the matrices for GPUs resolve, their narrowest and their empty cases pass on the CPU" {
    for op in fwd bwd; do
        config=$SOURCE_DIR/tests/gpu/dsa_$op.ini
        expect 0 "$BENCH" list --config "$config" --device cpu
        for cases in 'heads.B1.H1.*' 'none.*'; do
            rm -rf o
            expect 0 "$BENCH" check --config "$config" --device cpu --only "$cases" --out o
            [ "$(grep -c '^pass' out)" -ge 4 ]
        done
    done
}
