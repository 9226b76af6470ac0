#!/usr/bin/env bats
# The indexer's operators from end to end on the CPU: checks at their defaults, a selection that is
# timed, layers of three kernels whose ids are converted, refusals.

load common

@test "all eight operators pass their checks at their defaults" {
    printf '[arm cpu]\nkernel = cpu\n' > i.ini
    for op in indexer_fwd indexer_topk score_sparse_indexer score_sparse_attention \
        score_dense_indexer score_dense_attention indexer_bwd_sparse indexer_bwd_dense; do
        printf '[sweep %s]\noperator = %s\n' "$op" "$op" >> i.ini
    done
    expect 0 "$BENCH" check --config i.ini --device cpu
    [ "$(grep -c '^pass' out)" -ge 8 ]
}

@test "packed segments end where they ended when contents change under a plan" {
    printf '[arm cpu]\nkernel = cpu\n' > i.ini
    for op in indexer_fwd score_dense_indexer indexer_bwd_dense; do
        printf '[sweep %s]\noperator = %s\nlayout = thd\nbatch = 2\nseqlen_q = 12\nseqlen_k = 20\nheads = 16\n' \
            "$op" "$op" >> i.ini
    done
    expect 0 "$BENCH" check --config i.ini --device cpu --check contents --out o
    [ "$(column o/checks.csv status check=contents | grep -c '^pass$')" -eq 3 ]
}

@test "a selection is timed: no error against the oracle, ties by a rule" {
    printf '[global]\ndevice = cpu\nrounds = 2x6\nnoise_floor = 99%%\n[arm base]\nkernel = cpu\nrole = baseline\n[sweep s]\noperator = indexer_topk\nseqlen_k = 300\ndata = relu, winners_left\ntie_break = larger\nlengths = ragged\n' > i.ini
    expect 0 "$BENCH" --config i.ini --out o
    [ "$(column o/cases.csv status | sort -u)" = ok ]
    [ "$(column o/cases.csv oracle | sort -u)" = full ]
    [ "$(column o/cases.csv max_abs_err | sort -u)" = 0 ]
    [ "$(column o/cases.csv check_after | sort -u)" = pass ]
}

@test "a layer: scores, selection and attention as one arm, on one sequence and on batches" {
    {
        printf '[global]\ndevice = cpu\nrounds = 1x6\nnoise_floor = 99%%\n'
        printf '[pipeline one]\nsteps = indexer_fwd/cpu(precision=fp8), indexer_topk/cpu, dsa_fwd/cpu\nrole = baseline\n'
        printf '[pipeline four]\nsteps = indexer_fwd/cpu, indexer_topk/cpu(batch=4, seqlen_q=8, seqlen_k=8), dsa_fwd/cpu\n'
        printf '[sweep s]\noperator = dsa_fwd\nheads = 2\nseqlen = 32\ntopk = 6\n'
    } > i.ini
    expect 0 "$BENCH" --config i.ini --out o
    [ "$(column o/cases.csv status | sort -u)" = ok ]
    [ "$(column o/cases.csv check_before | sort -u)" = pass ]
    grep -q 'Parts of pipeline four' o/report.md
}

@test "a training step: selection, scores of both sides, backward" {
    {
        printf '[global]\ndevice = cpu\n[pipeline p]\nsteps = indexer_fwd/cpu, indexer_topk/cpu, score_sparse_indexer/cpu, score_sparse_attention/cpu, indexer_bwd_sparse/cpu\n'
        printf '[sweep s]\noperator = indexer_bwd_sparse\nbatch = 2\nheads = 16\nseqlen = 24\ntopk = 6\n'
    } > i.ini
    expect 0 "$BENCH" check --config i.ini
    [ "$(grep -c '^pass' out)" -ge 1 ]
}

@test "what no case can be is refused with its line" {
    printf '[arm cpu]\nkernel = cpu\n[sweep s]\noperator = indexer_fwd\nheads = 24\n' > i.ini
    expect 2 "$BENCH" list --config i.ini --device cpu
    says 'heads = 24, must be 16, 32 or 64'
    says 'i.ini:'
    one_line
    printf '[arm cpu]\nkernel = cpu\n[sweep s]\noperator = indexer_topk\nseqlen_q = 5\nnext_n = 2\n' > i.ini
    expect 2 "$BENCH" list --config i.ini --device cpu
    says 'no multiple of next_n = 2'
    one_line
}
