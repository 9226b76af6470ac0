#!/usr/bin/env bats
# Charts and reports of a finished folder, through the program.

setup() {
    [ -x "${BENCH:-}" ] || skip "BENCH does not name the program"
    DIR=$BATS_TEST_TMPDIR/run
    mkdir "$DIR"
    cat >"$DIR/cases.csv" <<'CSV'
schema,case_id,sweep,operator,arm,role,seqlen_q,seqlen_k,status,status_text,problem,density_asked,device,cache_used,pace_used,span_p10_ns,span_median_ns,span_p90_ns,tick_ns,ratio,ratio_lo,ratio_hi,delta_pct,verdict,flops
1,s.S1024,s,sage_fwd,base,baseline,1024,1024,ok,,same,0.1,NVIDIA H200,cold,burst,21000,21600,22100,32,,,,,,1e9
1,s.S1024,s,sage_fwd,head,candidate,1024,1024,ok,,same,0.1,NVIDIA H200,cold,burst,20900,21250,21900,32,0.984,0.981,0.987,0.5,FASTER,1e9
1,s.S4096,s,sage_fwd,base,baseline,4096,4096,ok,,same,0.1,NVIDIA H200,cold,burst,81000,81600,82100,32,,,,,,4e9
1,s.S4096,s,sage_fwd,head,candidate,4096,4096,ok,,same,0.1,NVIDIA H200,cold,burst,80900,81650,81900,32,1.001,0.998,1.003,0.5,SAME,4e9
1,s.S8192,s,sage_fwd,head,candidate,8192,8192,wrong,"out differs, by ""3e-1""",same,0.1,NVIDIA H200,cold,burst,,,,32,,,,,,4e9
CSV
    echo '{"protocol": 1, "config_name": "s"}' >"$DIR/run.json"
}

needs_gnuplot() {
    command -v gnuplot >/dev/null || skip "gnuplot is not installed"
}

@test "plot draws PNG and SVG of each chart that the rows allow" {
    needs_gnuplot
    run "$BENCH" plot "$DIR"
    [ "$status" -eq 0 ]
    for chart in bars forest latency; do
        [ -s "$DIR/$chart.png" ]
        [ -s "$DIR/$chart.svg" ]
        [[ "$output" == *"$chart.svg"* ]]
    done
    [ ! -e "$DIR/run_order.png" ]
    grep -q 'NVIDIA H200, cold cache, pace burst, protocol 1' "$DIR/forest.svg"
    [ -z "$(find "$DIR" -name '.*.tmp')" ]
}

@test "a folder with a quote and a blank in its name" {
    needs_gnuplot
    mv "$DIR" "$BATS_TEST_TMPDIR/it's a run"
    run "$BENCH" plot "$BATS_TEST_TMPDIR/it's a run"
    [ "$status" -eq 0 ]
    [ -s "$BATS_TEST_TMPDIR/it's a run/bars.svg" ]
}

@test "scripts run by hand" {
    needs_gnuplot
    for chart in bars forest latency; do
        run gnuplot -e "dir='$DIR'; out='$BATS_TEST_TMPDIR/$chart.svg'; term='svg'" \
            "$SOURCE_DIR/plots/$chart.gp"
        [ "$status" -eq 0 ]
        [ -s "$BATS_TEST_TMPDIR/$chart.svg" ]
    done
}

@test "without gnuplot plot says what to install" {
    run env PATH=/nonexistent "$BENCH" plot "$DIR"
    [ "$status" -eq 6 ]
    [[ "$output" == *"apt install gnuplot-nox"* ]]
}

@test "a folder that is none, and rows without times" {
    run "$BENCH" plot "$BATS_TEST_TMPDIR/none"
    [ "$status" -eq 2 ]
    [[ "$output" == *"none/cases.csv"* ]]
    sed -i '2,5d' "$DIR/cases.csv"
    run "$BENCH" plot "$DIR"
    [ "$status" -eq 2 ]
    [[ "$output" == *"no row was timed"* ]]
    run "$BENCH" plot
    [ "$status" -eq 2 ]
}

@test "report prints Markdown and the plain table" {
    run "$BENCH" report "$DIR"
    [ "$status" -eq 0 ]
    [ "${lines[0]:0:61}" = "**3 rows: 1 faster, 1 same, 0 slower, 0 unsure, 1 failed. Wor" ]
    [[ "$output" == *'`s.S8192` head: wrong: out differs, by "3e-1"'* ]]
    run "$BENCH" report "$DIR" --table
    [ "$status" -eq 0 ]
    [[ "$output" == *"-1.6 % [-1.9, -1.3]  FASTER"* ]]
    run "$BENCH" report "$DIR" --write
    [ "$status" -eq 0 ]
    [ -s "$DIR/report.md" ]
    run "$BENCH" report "$DIR" --tabel
    [ "$status" -eq 2 ]
    [[ "$output" == *"--table"* ]]
}

@test "help explains keys, reasons and commands, and refuses the rest" {
    run "$BENCH" help
    [ "$status" -eq 0 ]
    [[ "$output" == *autocorr* ]]
    run "$BENCH" help a_prime
    [ "$status" -eq 0 ]
    [[ "$output" == *"two identical copies"* ]]
    run "$BENCH" help max_time
    [ "$status" -eq 0 ]
    run "$BENCH" help plot
    [ "$status" -eq 0 ]
    run "$BENCH" help max_tiem
    [ "$status" -eq 2 ]
    [[ "$output" == *"'max_time'"* ]]
}

@test "doctor looks at device cpu and changes nothing" {
    run "$BENCH" doctor --device cpu
    [ "$status" -eq 0 ]
    [[ "$output" == *"device: "* ]]
    run "$BENCH" doctor --device cqu
    [ "$status" -eq 2 ]
    [[ "$output" == *"'cqu' is none of auto, cpu, cuda, cuda:N"* ]]
}
