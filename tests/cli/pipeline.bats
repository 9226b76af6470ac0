#!/usr/bin/env bats
# Pipelines: steps back to back as one arm, with parts, accuracy, and a gate that names the step.

load common

# pipe_config STEPS [LINE...]: a plain arm and a pipeline of the fixture library; lines at the end.
pipe_config() {
    local steps=$1
    shift
    {
        cat << END
[global]
device = cpu
rounds = 2x6
noise_floor = 99%

[arm plain]
kernel = sage_fwd/cpu
role = baseline

[pipeline both]
library = $FIXTURES/libfixture_behaviour.so
steps = $steps

[sweep s]
operator = sage_fwd
heads = 2
seqlen = 128, 200
END
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } > pipe.ini
}

right="sage_quant_q/cpu, sage_quant_kv/cpu, sage_fwd/right"

# above A B: A >= B as numbers.
above() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'
}

@test "a pipeline runs beside the kernel alone: parts, accuracy, a ratio and no verdict" {
    pipe_config "$right"
    expect 0 "$BENCH" --config pipe.ini --out o
    [ "$(column o/cases.csv status | sort -u)" = ok ]
    [ "$(column o/cases.csv kernel arm=both | sort -u)" = "sage_quant_q/cpu + sage_quant_kv/cpu + sage_fwd/right" ]
    [ "$(column o/cases.csv operator arm=both | sort -u)" = sage_fwd ]
    [ "$(column o/cases.csv problem arm=both | sort -u)" = across ]
    [ -z "$(column o/cases.csv verdict arm=both | sort -u)" ]
    [ "$(column o/cases.csv activities arm=both | sort -u)" = 3 ]
    above "$(column o/cases.csv ratio arm=both | sort -g | head -n 1)" 1
    # Every sample's parts are within its span, in the order of the steps.
    [ "$(column o/samples.csv parts_span_ns arm=both | grep -c '^[0-9.]*;[0-9.]*;[0-9.]*$')" -eq 24 ]
    [ -z "$(column o/samples.csv parts_span_ns arm=plain | sort -u)" ]
    paste -d ' ' <(column o/samples.csv span_ns arm=both) <(column o/samples.csv parts_span_ns arm=both | tr ';' ' ') |
        awk '{ if ($2 + $3 + $4 > $1 + 1) exit 1 }'
    column o/cases.csv parts_span_ns arm=both |
        grep -q '^sage_quant_q/cpu=[0-9.]*;sage_quant_kv/cpu=[0-9.]*;sage_fwd/right=[0-9.]*$'
    [ "$(column o/cases.csv parts_busy_ns arm=both | wc -l)" -eq 2 ]
    # Accuracy against attention of the bf16 inputs: the contract's cosine, and no better than the
    # kernel is on the codes that it was given.
    for cosine in $(column o/cases.csv accuracy_cosine arm=both); do above "$cosine" 0.999; done
    for l2 in $(column o/cases.csv accuracy_rel_l2 arm=both); do above "$l2" 0.02 && above 0.06 "$l2"; done
    [ -z "$(column o/cases.csv accuracy_rel_l2 arm=plain | sort -u)" ]
    grep -q 'Parts of pipeline both, medians; relative L2 and cosine' o/report.md
    grep -q 'across problems, no verdict' o/report.md
    sealed o
    no_leftovers
}

@test "a wrong step is named, and the arm is never timed" {
    pipe_config "sage_quant_q/wrong, sage_quant_kv/cpu, sage_fwd/right"
    expect 3 "$BENCH" --config pipe.ini --out o
    [ "$(column o/cases.csv status arm=both | sort -u)" = wrong ]
    column o/cases.csv status_text arm=both | grep -q "^before timing: step 'sage_quant_q/wrong': q_int8"
    [ "$(column o/samples.csv arm arm=both | wc -l)" -eq 0 ]
    [ "$(column o/cases.csv status arm=plain | sort -u)" = ok ]
    expect 3 "$BENCH" check --config pipe.ini
}

@test "the last step is judged on what it was given" {
    pipe_config "sage_quant_q/cpu, sage_quant_kv/cpu, sage_fwd/wrong"
    expect 3 "$BENCH" --config pipe.ini --out o
    column o/cases.csv status_text arm=both | grep -q "^before timing: step 'sage_fwd/wrong': .* of out "
    pipe_config "sage_quant_q/cpu, sage_quant_kv/cpu, sage_fwd/right_at_first"
    expect 3 "$BENCH" --config pipe.ini --out p
    column p/cases.csv status_text arm=both | grep -q "^after timing: step 'sage_fwd/right_at_first': out"
}

@test "a launch that a step refuses names the step" {
    pipe_config "sage_quant_q/cpu, sage_quant_kv/cpu, sage_fwd/fails"
    expect 4 "$BENCH" --config pipe.ini --out o
    column o/cases.csv status_text arm=both | grep -q "step 'sage_fwd/fails': the fixture fails at launch"
}

@test "check passes a right pipeline, and sees what it leaves unwritten" {
    pipe_config "$right"
    expect 0 "$BENCH" check --config pipe.ini
    pipe_config "sage_quant_q/cpu, sage_quant_kv/cpu, sage_fwd/misses_tile"
    expect 3 "$BENCH" check --config pipe.ini
}

@test "pipelines of the same steps on the same inputs get a verdict" {
    pipe_config "$right" '' '[pipeline again]' 'steps = sage_quant_q/cpu(simd=off), sage_quant_kv/cpu, sage_fwd/cpu'
    sed -i '/^\[arm plain\]/,/^role/d' pipe.ini
    expect 0 "$BENCH" --config pipe.ini --out o
    [ "$(column o/cases.csv role arm=both | sort -u)" = baseline ]
    [ "$(column o/cases.csv problem | sort -u)" = same ]
    [ "$(column o/cases.csv bits_equal arm=again | sort -u)" = yes ]
    [ "$(column o/cases.csv bits_equal "arm=both'" | sort -u)" = yes ]
    [ "$(column o/cases.csv verdict arm=again | grep -c .)" -eq 2 ]
    column o/cases.csv options arm=again | grep -q 'sage_quant_q.simd=off sage_quant_kv.simd=auto'
}

@test "merge and resume know pipelines" {
    pipe_config "$right"
    expect 0 "$BENCH" --config pipe.ini --out a
    expect 0 "$BENCH" --config pipe.ini --out b
    expect 0 "$BENCH" merge m a b
    sealed m
    [ "$(column m/cases.csv processes arm=both | sort -u)" = 4 ]
    [ "$(column m/cases.csv parts_span_ns arm=both | grep -c 'sage_fwd/right=')" -eq 2 ]
    expect 0 "$BENCH" --config pipe.ini --out a --resume
    [ "$(column a/samples.csv parts_span_ns arm=both | grep -c ';')" -eq 24 ]
    case=$(column a/cases.csv case_id arm=both | head -n 1)
    expect 0 "$BENCH" repro a "$case" --ini
    grep -q 'steps = sage_quant_q/cpu' out
}

@test "list shows the steps" {
    pipe_config "$right"
    expect 0 "$BENCH" list --config pipe.ini
    grep -q '^arm both: sage_quant_q/cpu + sage_quant_kv/cpu + sage_fwd/right of ' out
}

@test "bad steps are refused with the line that names them" {
    pipe_config "sage_quant_q/cpu, sage_quant_kv/cpu, sage_fwd/no_such"
    expect 2 "$BENCH" --config pipe.ini
    grep -q "pipe.ini:10: arm 'both': .*no_such" err
    pipe_config "sage_quant_q/cpu(simd=no_such), sage_quant_kv/cpu, sage_fwd/right"
    expect 2 "$BENCH" --config pipe.ini
    grep -q "pipe.ini:12: arm 'both': .*no_such" err
    pipe_config "sage_quant_q/cpu, sage_quant_kv/cpu, sage_fwd/right"
    sed -i '/^library/d; s/^steps.*/steps = sage_quant_q\/vector, sage_quant_kv\/cpu, sage_fwd\/cpu/' pipe.ini
    expect 2 "$BENCH" --config pipe.ini
    grep -q "'sage_quant_q/vector' runs on device cuda and 'sage_quant_kv/cpu' on device cpu" err
    [ ! -e results ]
}

@test "help tells how steps are written" {
    expect 0 "$BENCH" help steps
    grep -q 'OPERATOR/KERNEL\[(KEY=VALUE, ...)\], ...' out
    grep -q parts_span_ns out
    grep -q accuracy_rel_l2 out
}

@test "the configuration for the cost of quantising runs on a CPU" {
    expect 0 "$BENCH" --config "$SOURCE_DIR/configs/sage_pipeline.ini" --device cpu --rounds 1x2 --only 'small.*S512*' --out o
    [ "$(column o/cases.csv status | sort -u)" = ok ]
    [ "$(column o/cases.csv accuracy_cosine arm=quantised_cpu | grep -c .)" -eq 2 ]
}
