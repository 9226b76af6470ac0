#!/usr/bin/env bats
# The configurations that answer a question across problems, with CPU kernels in place of theirs and at a
# small shape: they expand, run, and every arm is held against the baseline.

load common.bash

# on_cpu CONFIG FLAG...: runs it into folder o.
on_cpu() {
    local config=$1
    shift
    sed 's,/w*g*mma$,/cpu,; s,^device .*,device = cpu,' "$SOURCE_DIR/configs/$config" > q.ini
    expect 0 "$BENCH" --config q.ini --noise_floor 99% --quiet --out o "$@"
}

# across ARM...: its rows are timed, held against the baseline, and without a verdict.
across() {
    local arm
    for arm in "$@"; do
        [ "$(column o/cases.csv status arm="$arm" | sort -u)" = ok ]
        [ "$(column o/cases.csv problem arm="$arm" | sort -u)" = across ]
        [ -z "$(column o/cases.csv verdict arm="$arm" | tr -d '\n')" ]
        column o/cases.csv ratio arm="$arm" | grep -qE '^[0-9]'
    done
}

@test "bsa_tail: ragged lengths and sizes beside whole blocks" {
    on_cpu bsa_tail.ini --rounds 1x14 --only '*fp16*' --sweep.tail.batch:heads:seqlen_q:seqlen_k:topk=1:1:128:128:1
    across minus_one plus_one queries global batch head
    [ "$(column o/cases.csv seqlen_k arm=plus_one)" = 129 ]
    [ "$(column o/cases.csv seqlen_q arm=queries)" = 129 ]
    [ "$(column o/cases.csv sizes_mode arm=head)" = 3 ]
}

@test "bsa_types: bf16, fp16 and int8 with fp8 on one mask" {
    on_cpu bsa_types.ini --rounds 1x6 --arm bf16 --arm fp16 --arm sage --sweep.types.batch:heads:seqlen:topk=1:1:256:2
    across fp16 sage
    [ "$(column o/cases.csv dtype arm=sage)" = int8_e4m3 ]
    # The same share of the same blocks.
    [ "$(column o/cases.csv density_realised | sort -u)" = 0.5 ]
}

@test "bsa_density: a dense arm beside each density" {
    on_cpu bsa_density.ini --rounds 1x6 --arm wgmma --arm dense --only 'small*' --sweep.small.heads 1 \
        --sweep.small.seqlen 256 --sweep.small.density 0.25,0.5
    across dense
    [ "$(column o/cases.csv role arm=dense | sort -u)" = context ]
    [ "$(column o/cases.csv density_realised arm=dense | sort -u)" = 1 ]
    grep -qF 'wgmma against dense: pays ' o/report.md
    [ "$(awk 'END { print NR }' o/crossover.csv)" -eq 3 ]
}
