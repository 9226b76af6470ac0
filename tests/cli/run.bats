#!/usr/bin/env bats
# A run from end to end on the CPU: its files, its counts, --resume after a cut, --only and --arm.

load common

# What anchors/harness.md 4.2 and DESIGN 8 ask for; the axes stand between role and status.
case_columns="schema run_id plan_hash case_id operator kernel arm role batch heads kv_heads seqlen_q
seqlen_k density topk head_dim dtype pattern status status_text timer_asked timer_used cache_asked
cache_used processes rounds rounds_dropped span_min_ns span_p10_ns span_median_ns span_p90_ns
busy_median_ns activities tick_ns ratio ratio_lo ratio_hi ci_kind ci_level ratio_of_medians
ratio_cycles p q_bh mde_pct delta_pct floor_pct verdict reasons rounds_to_settle slot_pct carry_pct
drift_pct rho1 flops bytes tflops gbps limit limit_pct max_abs_err rel_l2 cosine check_before
check_after device pace_asked pace_used enqueue_ns plan_ns run_mhz density_asked density_realised
flops_valid flops_dense bits_equal registers shared_bytes local_bytes"
sample_columns="schema run_id case_id process super_round round attempt slot prev_arm arm span_ns
busy_ns activities activity_set start_ns idle_before_ns sm_mhz mem_mhz power_w temp_c throttle_bits
drop_reason"

has_columns() {
    local file=$1 name
    shift
    for name in "$@"; do
        head -n 1 "$file" | tr ',' '\n' | grep -qx "$name" || {
            echo "$file has no column $name"
            return 1
        }
    done
    # Unique.
    [ -z "$(head -n 1 "$file" | tr ',' '\n' | sort | uniq -d)" ]
}

# kept FILE: samples that no reason dropped, by their number.
kept() {
    column "$1" arm drop_reason= | wc -l
}

@test "a run writes its files, and their numbers fit together" {
    small_config
    expect 0 "$BENCH" --config small.ini --out deep/er/o
    local name
    for name in cases.csv samples.csv run.json report.md; do
        [ -s "deep/er/o/$name" ]
        grep -q "deep/er/o/$name" out
    done
    has_columns deep/er/o/cases.csv $case_columns
    has_columns deep/er/o/samples.csv $sample_columns
    # Two cases of three arms: base, head and the copy of base.
    [ "$(rows deep/er/o/cases.csv)" -eq 6 ]
    [ "$(kept deep/er/o/samples.csv)" -eq $((2 * 3 * 2 * 6)) ]
    [ "$(column deep/er/o/cases.csv status | sort -u)" = ok ]
    [ "$(column deep/er/o/cases.csv rounds | sort -u)" = 12 ]
    [ "$(column deep/er/o/cases.csv processes | sort -u)" = 2 ]
    [ "$(column deep/er/o/cases.csv check_before | sort -u)" = pass ]
    [ "$(column deep/er/o/cases.csv check_after | sort -u)" = pass ]
    [ "$(column deep/er/o/cases.csv cache_used | sort -u)" = cold ]
    [ "$(column deep/er/o/cases.csv pace_used | sort -u)" = none ]
    [ "$(column deep/er/o/cases.csv timer_used | sort -u)" = monotonic ]
    [ "$(column deep/er/o/cases.csv bits_equal role=candidate | sort -u)" = yes ]
    [ "$(column deep/er/o/cases.csv verdict role=baseline | sort -u)" = "" ]
    [ "$(column deep/er/o/cases.csv verdict role=candidate | grep -c .)" -eq 2 ]
    [ "$(json_word deep/er/o/run.json status)" = complete ]
    [ "$(json_word deep/er/o/run.json run_id)" = "$(column deep/er/o/cases.csv run_id | sort -u)" ]
    [ "$(json_word deep/er/o/run.json plan_hash)" = "$(column deep/er/o/cases.csv plan_hash | sort -u)" ]
    sealed deep/er/o
    no_leftovers
}

@test "each arm stands in each slot equally often, in every super-round" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*'
    local arm slot process
    for process in 0 1; do
        for slot in 0 1 2; do
            for arm in base head "base'"; do
                [ "$(column o/samples.csv arm "process=$process" "slot=$slot" | grep -cx "$arm")" -ge 2 ]
            done
        done
    done
}

@test "times are positive, ordered and no finer than they are stored" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*'
    paste -d ' ' <(column o/cases.csv span_min_ns) <(column o/cases.csv span_p10_ns) \
        <(column o/cases.csv span_median_ns) <(column o/cases.csv span_p90_ns) |
        awk '!($1 > 0 && $1 <= $2 && $2 <= $3 && $3 <= $4) { bad = 1 } END { exit bad }'
}

@test "the table is on stdout, progress on stderr, and --quiet keeps it down" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*'
    grep -q 's.B1.H1.S128' out
    says "of 2"
    expect 0 "$BENCH" --config small.ini --out p --only '*S128*' --quiet
    [ ! -s err ]
    refute grep -q "$(printf '\033')" out
}

@test "a config beside the caller, a folder with blanks, and the subcommand spelt out" {
    mkdir -p "a b"
    small_config
    mv small.ini "a b/small one.ini"
    expect 0 "$BENCH" run "a b/small one.ini" --out "a b/o o" --only '*S128*'
    [ -s "a b/o o/cases.csv" ]
}

@test "without --out the folder is named after config and device" {
    small_config
    expect 0 "$BENCH" --config small.ini --only '*S128*'
    [ -s results/small-cpu-*Z/run.json ]
}

@test "--only and --arm select" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*' --arm base
    [ "$(column o/cases.csv arm | sort -u)" = "$(printf "base\nbase'")" ]
    [ "$(column o/cases.csv case_id | sort -u)" = s.B1.H1.S128.d0.5 ]
    expect 0 "$BENCH" --config small.ini --out p --only '*S128*' --only '*S192*' --duplicate no
    [ "$(rows p/cases.csv)" -eq 4 ]
}

@test "rounds are rounded up to whole super-rounds" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*' --rounds 1x7
    [ "$(column o/cases.csv rounds arm=head)" -eq 12 ]
}

@test "a flag of a section, an included file and a variable" {
    small_config
    printf '[global]\nseed = ${SEED}\n' > seed.ini
    sed -i '1i include = seed.ini' small.ini
    SEED=7 expect 0 "$BENCH" --config small.ini --out o --sweep.s.seqlen=64 --rounds=1x6
    grep -q '"seed": 7' o/run.json
    [ "$(column o/cases.csv seqlen_q | sort -u)" = 64 ]
}

@test "the same folder again is 6; --force writes it anew" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*'
    cp o/samples.csv before
    expect 6 "$BENCH" --config small.ini --out o --only '*S128*'
    one_line
    cmp before o/samples.csv
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*' --force
    refute cmp -s before o/samples.csv
    [ "$(kept o/samples.csv)" -eq 36 ]
    sealed o
}

@test "--resume of a finished run does nothing" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o
    cp -r o before
    expect 0 "$BENCH" --config small.ini --out o --resume
    cmp before/samples.csv o/samples.csv
    cmp before/cases.csv o/cases.csv
    sealed o
}

@test "--resume of a run that another plan began is refused" {
    small_config
    expect 0 "$BENCH" --config small.ini --out o
    cp -r o before
    expect 2 "$BENCH" --config small.ini --out o --resume --seed 5
    says "another plan"
    diff -r before o
}

sealed_some() {
    [ -s o/cases.csv ] && [ "$(wc -l < o/samples.csv)" -gt 150 ]
}

@test "SIGKILL of the parent: --resume goes on, loses nothing and repeats nothing" {
    small_config
    sed -i 's/^seqlen.*/seqlen = 64, 96, 128/' small.ini
    "$BENCH" --config small.ini --rounds 6x18 --out o > out 2> err &
    local pid=$! id
    wait_for sealed_some
    kill -KILL "$pid"
    wait "$pid" || true
    cp -r o cut
    # A line that was torn, as after a power cut.
    printf '1,half of a li' >> o/samples.csv
    expect 0 "$BENCH" --config small.ini --rounds 6x18 --out o --resume
    [ "$(json_word o/run.json status)" = complete ]
    for id in 64 96 128; do
        [ "$(column o/samples.csv arm "case_id=s.B1.H1.S$id.d0.5" drop_reason= | wc -l)" -eq $((6 * 18 * 3)) ]
    done
    # Every place of the run exactly once.
    [ -z "$(cut -d , -f 3-8 o/samples.csv | sort | uniq -d)" ]
    # What was sealed is there, byte for byte.
    [ "$(sort cut/samples.csv o/samples.csv | uniq -d | wc -l)" -gt 54 ]
    sealed o
}

@test "a worker goes when its parent is killed" {
    small_config
    sed -i 's/^seqlen.*/seqlen = 1024/' small.ini
    "$BENCH" --config small.ini --rounds 50x60 --out o > out 2> err &
    local pid=$! worker=
    # A child that only asks for what the host is comes and goes first: a
    # worker is one that is there while samples are being written.
    timing() { [ -s o/samples.csv ] && worker=$(pgrep -P "$pid"); }
    wait_for timing
    kill -KILL "$pid"
    wait "$pid" || true
    wait_for gone "$worker"
}

@test "--resume is refused where a library has changed since" {
    cp "$FIXTURES/libfixture_behaviour.so" libown.so
    small_config
    sed -i '0,/^kernel.*/s//kernel = sage_fwd\/right\nlibrary = libown.so/' small.ini
    expect 0 "$BENCH" --config small.ini --out o --only '*S128*'
    printf 'x' >> libown.so
    expect 2 "$BENCH" --config small.ini --out o --only '*S128*' --resume
    says "has changed since"
}

@test "a library that is replaced between two processes ends the run with 6, and what is sealed stays" {
    local name
    for name in libown.so old.so new.so; do cp "$FIXTURES/libfixture_behaviour.so" "$name"; done
    printf 'x' >> new.so
    odd_config replaces
    sed -i '0,/^kernel.*/s//kernel = sage_fwd\/right/; /^library/d; s/^kernel/library = libown.so\n&/' odd.ini
    # The kernel itself moves the new file there, while the first process is at work.
    FIXTURE_NEW=new.so FIXTURE_MARK=libown.so expect 6 "$BENCH" --config odd.ini --out o
    [ ! -e new.so ]
    says "library '$PWD/libown.so' was replaced while the run went on"
    [ "$(grep -c 'was replaced' err)" -eq 1 ]
    [ "$(json_word o/run.json status)" = failed ]
    [ "$(column o/samples.csv process | sort -u)" = 0 ]
    [ "$(kept o/samples.csv)" -eq $((2 * 3 * 6)) ]
    sealed o
    no_leftovers
    expect 2 "$BENCH" --config odd.ini --out o --resume
    says "has changed since"
    mv old.so libown.so
    expect 0 "$BENCH" --config odd.ini --out o --resume
    [ "$(kept o/samples.csv)" -eq $((2 * 3 * 2 * 6)) ]
    [ "$(column o/cases.csv library_sha256 | sort -u)" = "$(sha256sum libown.so | cut -d ' ' -f 1)" ]
}
