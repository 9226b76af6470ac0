#!/usr/bin/env bats
# Charts by what their SVG holds: texts, colours and places of worked numbers. A chart is 1000 pixels
# wide; a single panel begins at 74 and is 910 wide (right_side 16), see plots/style.gp.

setup() {
    [ -x "${BENCH:-}" ] || skip "BENCH does not name the program"
    command -v gnuplot > /dev/null || skip "gnuplot is not installed"
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir run
    echo '{"protocol": 7, "config_name": "s"}' > run/run.json
    HEAD=schema,case_id,sweep,operator,arm,role,heads,seqlen_k,dtype,status,baseline,problem,density_asked,density_realised,device,cache_used,pace_used,run_mhz,span_p10_ns,span_median_ns,span_p90_ns,tick_ns,ratio,ratio_lo,ratio_hi,delta_pct,verdict,flops,bytes
}

# row CASE ARM ROLE HEADS SEQLEN DENSITY MEDIAN RATIO VERDICT [STATUS [FLOPS BYTES]]
row() {
    local base=base
    [ "$3" != baseline ] || base=
    echo "1,$1,s,bsa_fwd,$2,$3,$4,$5,bf16,${10:-ok},$base,same,$6,$6,NVIDIA H200,cold,burst,1700,$7,$7,$7,32,$8,$8,$8,0.5,$9,${11:-},${12:-}" >> run/cases.csv
}

# texts FILE: every text of an SVG, one a line.
texts() {
    sed -n 's/.*<text[^>]*>\(.*\)<\/text>.*/\1/p' "$1" | sed 's/<[^>]*>//g; s/^ *//; s/&amp;/\&/g'
}

has_text() {
    texts "$1" | grep -qF -- "$2" || {
        echo "no text '$2' in $1:"
        texts "$1"
        return 1
    }
}

no_text() {
    if texts "$1" | grep -qF -- "$2"; then
        echo "text '$2' in $1"
        return 1
    fi
}

# cells FILE PLOT: colour and left edge of the filled shapes of one plot command, one a line.
cells() {
    sed -n "/id=\"gnuplot_plot_$2\"/,/id=\"gnuplot_plot_[^$2]/p" "$1" |
        sed -n "s/.*<polygon *fill = '\([^']*\)' points = '\([0-9]*\).*/\1 \2/p"
}

# marks FILE: each kind of point with its colour and how many there are, sorted.
marks() {
    grep -oE "<use xlink:href='#gpPt[0-9]+' transform=[^>]*" "$1" |
        sed -E "s/.*#(gpPt[0-9]+)'.* color='([^']*)'.*/\1 \2/" | sort | uniq -c | sed -E 's/ *([0-9]+) (.*)/\2 \1/'
}

draw() {
    run "$BENCH" plot run --chart "$@"
    [ "$status" -eq 0 ] || {
        echo "$output"
        return 1
    }
}

# heads by seqlen: 2 rows of 3. Ratios 0.5, 0.9, 1, 1.25, one unsure, one failed.
grid_rows() {
    echo "$HEAD" > run/cases.csv
    local i=0 h s
    local ratios=(0.5 0.9 1 1.25 0.98 '') verdicts=(FASTER FASTER SAME SLOWER UNSURE '') stats=(ok ok ok ok ok oom)
    for h in 4 8; do
        for s in 1024 2048 4096; do
            row "s.H$h.S$s" base baseline "$h" "$s" 0.5 10000 '' ''
            row "s.H$h.S$s" head candidate "$h" "$s" 0.5 10000 "${ratios[i]}" "${verdicts[i]}" "${stats[i]}"
            row "s.H$h.S$s" "base'" duplicate "$h" "$s" 0.5 10000 1 SAME
            i=$((i + 1))
        done
    done
}

@test "heat map: speed-up, clipped colour, hatched UNSURE, black failure" {
    grid_rows
    draw heatmap
    has_text run/heatmap.svg 'bsa_fwd: speed-up over base, blue is faster'
    has_text run/heatmap.svg 'NVIDIA H200, cold cache, pace burst, protocol 7; time of base / time of the arm; full colour from 20 %; hatched: UNSURE; black: failed'
    # 1 / 0.5, 1 / 0.9, 1 / 1, 1 / 1.25, 1 / 0.98; the failed cell has none.
    for value in 2.00 1.11 1.00 0.80 1.02; do has_text run/heatmap.svg "$value"; done
    [ "$(texts run/heatmap.svg | grep -cE '^[0-9]\.[0-9][0-9]$')" -eq 5 ]
    # The axes: lengths in order, heads in order, one panel, no A'.
    [ "$(texts run/heatmap.svg | grep -xE '1k|2k|4k' | tr '\n' ' ')" = '1k 2k 4k ' ]
    [ "$(texts run/heatmap.svg | grep -xE '[48]' | tr '\n' ' ')" = '4 8 ' ]
    [ "$(texts run/heatmap.svg | grep -cx head)" -eq 1 ]
    no_text run/heatmap.svg "base'"
    # Columns are 280 pixels from 74 on, with a gap of 2 % at each side. Twice as fast is beyond the clip, the
    # full blue, and 1.25 times the time the full orange; +11 % lies between, no change is white.
    cells run/heatmap.svg 1a > got
    cat > want << 'END'
rgb(  0, 114, 178) 79
rgb(124, 179, 216) 359
rgb(255, 255, 255) 639
rgb(213,  94,   0) 79
rgb(232, 241, 248) 359
END
    diff got want
    [ "$(cells run/heatmap.svg 2a)" = 'url(#gpPat1) 359' ]
    [ "$(cells run/heatmap.svg 3a)" = 'rgb(  0,   0,   0) 639' ]
}

@test "small multiples: a panel for each length, throughput on one scale" {
    grid_rows
    # 1e9 FLOP in 10 us are 100 TFLOP/s: the scale ends above it.
    awk -F, -v OFS=, 'NR > 1 { $28 = 1e9; $29 = 1e6 } { print }' run/cases.csv > t && mv t run/cases.csv
    draw multiples
    has_text run/multiples.svg 'bsa_fwd: throughput in TFLOP/s, higher is better, by seqlen'
    for panel in 1k 2k 4k; do has_text run/multiples.svg "seqlen $panel"; done
    [ "$(texts run/multiples.svg | grep -cx heads)" -eq 3 ]
    [ "$(texts run/multiples.svg | grep -cx 100)" -eq 3 ]
    no_text run/multiples.svg 120
    no_text run/multiples.svg "base'"
}

@test "panels and keys name the setting in short, without the axes of the chart" {
    echo "$HEAD" > run/cases.csv
    local h s d
    for d in 0.25 0.5; do
        for h in 4 8 16; do
            for s in 1024 2048 4096; do
                row "s.B1.H$h.S$s.d$d" base baseline "$h" "$s" "$d" 10000 '' ''
                row "s.B1.H$h.S$s.d$d" head candidate "$h" "$s" "$d" 9000 0.9 FASTER
            done
        done
    done
    draw heatmap
    [ "$(texts run/heatmap.svg | grep '^head (' | tr '\n' ';')" = 'head (d0.25);head (d0.5);' ]
    draw multiples
    [ "$(texts run/multiples.svg | grep -E '^(base|head) ' | tr '\n' ';')" = 'base (d0.25);head (d0.25);base (d0.5);head (d0.5);' ]
    draw multiples --only '*.d0.5'
    [ "$(texts run/multiples.svg | grep -xE 'base|head' | tr '\n' ';')" = 'base;head;' ]
    draw forest
    has_text run/forest.svg 'H16 S2048 d0.25  head'
}

# crossing_rows: density, time of sparse / time of dense and its interval, a line each.
crossing_rows() {
    echo "$HEAD" > run/cases.csv
    local d r lo hi
    while read -r d r lo hi; do
        echo "1,s.d$d,s,bsa_fwd,sparse,baseline,4,1024,bf16,ok,,same,$d,$d,NVIDIA H200,cold,burst,1700,,$(awk "BEGIN { print 100000 * $r }"),,32,,,,,,," >> run/cases.csv
        awk -v d="$d" -v r="$r" -v lo="$lo" -v hi="$hi" 'BEGIN {
            printf "1,s.d%s,s,bsa_fwd,dense,context,4,1024,bf16,ok,sparse,across,,1,NVIDIA H200,cold,burst,1700,,100000,,32,%.17g,%.17g,%.17g,0.5,,,\n", d, 1 / r, 1 / hi, 1 / lo }' >> run/cases.csv
    done
}

# The worked example of tests/unit/test_crossover.c.
crossing_example() {
    crossing_rows << 'END'
0.25 0.5 0.39 0.61
0.5 0.9 0.79 1.01
0.75 1.4 1.29 1.51
1 1.7 1.59 1.81
END
}

@test "crossover: the crossing and its interval, in words and in place" {
    crossing_example
    draw crossover
    has_text run/crossover.svg 'bsa_fwd: median time in µs along the density, and up to where sparse pays'
    has_text run/crossover.svg 'pays up to 0.55 [0.49, 0.60]'
    has_text run/crossover.svg 'dense (dense)'
    # The axis ends at 1.05: 0.55 stands at 74 + 910 * 0.55 / 1.05 = 550.67, the band from 0.49375 to 0.605,
    # 501.92 to 598.33.
    grep -qE 'M55[01]\.[0-9]+,[0-9.]+ L55[01]\.[0-9]+,' run/crossover.svg
    grep -qE "50[12]\.[0-9]+,[0-9.]+ .*59[89]\.[0-9]+" run/crossover.svg
    # What was drawn can be read.
    [ "$(head -1 run/crossover.csv)" = device,setting,arm,dense,density,span_median_ns,dense_median_ns,ratio,ratio_lo,ratio_hi,state,crossing,crossing_lo,crossing_hi,interval ]
    [ "$(wc -l < run/crossover.csv)" -eq 5 ]
    "$BENCH" report run > report
    grep -qFx -- '- sparse against dense: pays up to density 0.550 [0.494, 0.605]' report
    # Without the dense arm there is none, and the file says so.
    sed -i '/,dense,/d' run/cases.csv
    run "$BENCH" plot run --chart crossover
    [ "$status" -eq 2 ]
    [[ "$output" == *"chart 'crossover' is not for these rows"* ]]
}

@test "crossover: where intervals hold 1 it says unsure" {
    printf '%s\n' '0.25 1.03 0.41 2.6' '0.5 0.79 0.12 5.4' | crossing_rows
    draw crossover
    has_text run/crossover.svg 'unsure: intervals of the ratio hold 1'
    no_text run/crossover.svg measured
    [ "$(awk -F, 'NR > 1 { print $11 }' run/crossover.csv | sort -u)" = unsure ]
    "$BENCH" report run > report
    grep -qFx -- '- sparse against dense: unsure: the interval of the ratio holds 1 at 2 of 2 densities measured' report
    # From 0.9 to 1.1 the upper bound passes 1 half way from 0.5 to 0.75.
    printf '%s\n' '0.5 0.7 0.5 0.9' '0.75 0.8 0.6 1.1' | crossing_rows
    draw crossover
    has_text run/crossover.svg 'pays up to 0.62, unsure beyond'
    # Sure below, sure above, sure of neither order.
    printf '%s\n' '0.5 0.7 0.6 0.8' '0.75 0.8 0.7 0.9' | crossing_rows
    draw crossover
    has_text run/crossover.svg 'pays at every density measured'
    printf '%s\n' '0.5 1.7 1.6 1.8' '0.75 1.8 1.7 1.9' | crossing_rows
    draw crossover
    has_text run/crossover.svg 'pays at no density measured'
    printf '%s\n' '0.5 1.7 1.6 1.8' '0.75 0.8 0.7 0.9' | crossing_rows
    draw crossover
    has_text run/crossover.svg 'no single crossing'
}

@test "latency: an arm with a problem of its own has a line for each of its densities" {
    echo "$HEAD" > run/cases.csv
    local s d
    for s in 1024 2048; do
        for d in 0.25 0.5; do
            row "s.S$s.d$d" base baseline 4 "$s" "$d" 10000 '' ''
            row "s.S$s.d$d" own candidate 4 "$s" "$d" 20000 2 ''
            row "s.S$s.d$d" dense context 4 "$s" 1 40000 4 ''
        done
    done
    sed -i '/,own,\|,dense,/s/,same,[^,]*,/,across,,/' run/cases.csv
    draw latency
    [ "$(texts run/latency.svg | grep -E '^(base|own|dense)' | tr '\n' ';')" = \
        'base (d0.25);own (d0.25);dense;base (d0.5);own (d0.5);' ]
    has_text run/latency.svg 'bsa_fwd: median time'
    # More operators than a title holds.
    awk -F, -v OFS=, 'NR > 1 { $4 = "op" NR % 4 } { print }' run/cases.csv > t && mv t run/cases.csv
    draw latency
    has_text run/latency.svg '4 operators: median time'
    no_text run/latency.svg op1
}

# Forty cases of two operators: shapes that differ in heads, topk, head_dim and what follows from them.
forty_cases() {
    local h=$HEAD shape heads k rest sweep s
    HEAD=${HEAD/dtype,/topk,head_dim,dtype,}
    echo "$HEAD" > run/cases.csv
    HEAD=$h
    for sweep in forward backward; do
        for shape in 64:640: 128:1152: 64:2048:.D576 64:2048:; do
            IFS=: read -r heads k rest <<< "$shape"
            for s in 2048 4096 8192 16384 32768; do
                row "$sweep.B1.H$heads.S$s.k$k$rest.sink-$k" base baseline "$heads" "$s" '' $((s * heads)) '' '' ok 1e10 1e7
                sed -i "\$ s/,s,bsa_fwd,/,$sweep,dsa_$sweep,/; \$ s/,bf16,/,$k,${rest:-.D512},bf16,/; \$ s/,\.D/,/" run/cases.csv
            done
        done
    done
}

@test "forty cases: every bar and line has a name of its own, uncut" {
    forty_cases
    draw bars
    no_text run/bars.svg 'cases)'
    texts run/bars.svg | grep -E '^(forward|backward) ' > got
    [ "$(wc -l < got)" -eq 40 ]
    [ -z "$(sort got | uniq -d)" ]
    [ "$(sed -n '1p; 11p; 16p; 40p' got | tr '\n' ';')" = \
        'forward H64 S2048 k640;forward H64 S2048 k2048 D576;forward H64 S2048 k2048;backward H64 S32768 k2048;' ]
    has_text run/bars.svg '; all B1; '
    # By hand too, and one case alone has its whole name.
    gnuplot -e "dir='run'; out='hand.svg'" "$SOURCE_DIR/plots/bars.gp"
    diff <(texts hand.svg) <(texts run/bars.svg)
    draw bars --only 'forward.B1.H64.S2048.k640*'
    has_text run/bars.svg 'forward B1 H64 S2048 k640 sink-640'
}

@test "latency: lines named by what tells them apart, never by the length along x" {
    forty_cases
    draw latency
    [ "$(texts run/latency.svg | grep ^base | tr '\n' ';')" = \
        'base (forward H64 k640);base (forward H128 k1152);base (forward H64 k2048 D576);base (forward H64 k2048);base (backward H64 k640);base (backward H128 k1152);base (backward H64 k2048 D576);base (backward H64 k2048);' ]
    # One line of an arm: the arm alone.
    draw latency --only 'forward*k640*'
    [ "$(texts run/latency.svg | grep ^base)" = base ]
    # Cases of one length that differ in topk alone are not one line.
    draw latency --only '*.S2048.*' --only '*.H64.S4096.k640*' --only '*.H128.S4096.*'
    [ "$(texts run/latency.svg | grep -c '^base (forward H64 k')" -eq 3 ]
}

ceilings() {
    cat > run/run.json << 'END'
{
  "protocol": 7,
  "ceilings": [
    {
      "kind": "memory read",
      "size_bytes": 1048576.0,
      "per_ns": 9000.0,
      "arm": "read"
    },
    {
      "kind": "memory read",
      "size_bytes": 1073741824.0,
      "per_ns": 4000.0,
      "run_mhz": 1980.0,
      "arm": "read"
    },
    {
      "kind": "tensor bf16",
      "size_bytes": 0.0,
      "per_ns": 800000.0,
      "run_mhz": 1690.0,
      "arm": "wgmma"
    },
    {
      "kind": "tensor e4m3",
      "size_bytes": 0.0,
      "per_ns": 1700000.0,
      "run_mhz": 1650.0,
      "arm": "wgmma"
    }
  ]
}
END
}

@test "roofline: measured ceilings of the types at hand, arrows from the baseline" {
    ceilings
    echo "$HEAD" > run/cases.csv
    # 1e10 FLOP on 1e7 bytes in 50 us: 1000 FLOP/byte, 200 TFLOP/s; head takes half of the time: 400.
    row s.a base baseline 4 1024 0.5 50000 '' '' ok 1e10 1e7
    row s.a head candidate 4 1024 0.5 25000 0.5 FASTER ok 1e10 1e7
    draw roofline
    has_text run/roofline.svg 'NVIDIA H200, cold cache, pace burst, protocol 7, ran at 1700 to 1700 MHz; arrows: from base to the arm of the same case'
    has_text run/roofline.svg 'bf16 800 TFLOP/s at 1690 MHz'
    has_text run/roofline.svg 'memory 4000 GB/s at 1980 MHz'
    no_text run/roofline.svg e4m3
    # The ridge is at 800e3 / 4000 = 200 FLOP/byte, so the axis goes from 200 / 3 to 3000, a factor of 45, over
    # 615 pixels from 85: 1000 stands at 85 + 615 * log(15) / log(45) = 522.5. Upwards it goes from 200 / 3 to
    # 1600, a factor of 24, over 462 pixels from 534: 200 at 374.3, 400 at 273.5, the tip of the arrow.
    grep -q "rgb(102, 102, 102)'  d='M522.50,374.30 L522.50," run/roofline.svg
    grep -q "rgb(102, 102, 102)'  d='M522.50,[0-9.]* L[0-9.]*,[0-9.]* L522.50,273.53 " run/roofline.svg
    [ "$(texts run/roofline.svg | grep -cE '^(base|head|bsa_fwd)$')" -eq 2 ]
    # Of two operators the mark is the operator, the colour the arm: a dot (gpPt6) and a square (gpPt4) of one blue.
    row s.b base baseline 4 1024 0.5 50000 '' '' ok 1e10 1e7
    sed -i '$ s/bsa_fwd/bsa_bwd/; $ s/1e10,1e7$/1e10,2e7/' run/cases.csv
    draw roofline
    [ "$(texts run/roofline.svg | grep -xE 'base|head|bsa_fwd|bsa_bwd' | tr '\n' ' ')" = 'base head bsa_fwd bsa_bwd ' ]
    marks run/roofline.svg > got
    diff got - << 'END'
gpPt4 rgb(  0, 114, 178) 1
gpPt4 rgb( 68,  68,  68) 1
gpPt6 rgb(  0, 114, 178) 1
gpPt6 rgb( 68,  68,  68) 1
gpPt6 rgb(213,  94,   0) 1
END
    # Without ceilings there is no roofline, by name an error, by hand a word.
    echo '{"protocol": 7}' > run/run.json
    run "$BENCH" plot run --chart roofline
    [ "$status" -eq 2 ]
    [[ "$output" == *'bench ceilings'* ]]
    run gnuplot -e "dir='run'; out='x.svg'" "$SOURCE_DIR/plots/roofline.gp"
    [[ "$output" == *'no ceilings'* ]]
}

samples() {
    echo schema,case_id,process,round,slot,arm,activity_set,span_ns,start_ns,drop_reason > run/samples.csv
    local i=0 span
    for span in "$@"; do
        echo "1,s.a,0,$i,0,base,k,$span,$((i * 1000000))," >> run/samples.csv
        i=$((i + 1))
    done
}

@test "distribution: shares on the ticks of the timer" {
    echo "$HEAD" > run/cases.csv
    row s.a base baseline 4 1024 0.5 5120 '' ''
    # Ticks 159 to 162 of 32 ns: one, three, none, one; a dropped sample does not count.
    samples 5088 5120 5120 5120 5184
    echo '1,s.a,0,9,0,base,k,5152,9000000,clock' >> run/samples.csv
    draw distribution
    has_text run/distribution.svg 's.a: distribution of the samples'
    has_text run/distribution.svg 'NVIDIA H200, cold cache, pace burst, protocol 7; 5 samples; tick 32 ns (grey lines)'
    # Three bars, one three times as high as the others.
    boxes=$(grep -A200 "gnuplot_plot_2" run/distribution.svg | grep -oE "points *= *'[^']*'" | head -20)
    heights=$(echo "$boxes" | awk -F"'" '{ n = split($2, p, /[ ,]+/); lo = 1e9; hi = 0; for (i = 2; i <= n; i += 2) if (p[i] != "") { if (p[i] < lo) lo = p[i]; if (p[i] > hi) hi = p[i] } printf "%.0f ", hi - lo }')
    awk -v h="$heights" 'BEGIN { n = split(h, b, " "); exit !(n == 3 && b[2] / b[1] > 2.9 && b[2] / b[1] < 3.1 && b[3] == b[1]) }' || {
        echo "heights: $heights"
        return 1
    }
}

@test "run order: numbers on a logarithmic axis of less than a decade, titles beside wide numbers" {
    echo "$HEAD" > run/cases.csv
    row s.a base baseline 4 1024 0.5 40000000 '' ''
    samples 22000000 40000000 80000000
    draw run_order
    has_text run/run_order.svg 'span (ms, log scale)'
    [ "$(texts run/run_order.svg | grep -xE '30|50|70' | tr '\n' ' ')" = '30 50 70 ' ]
    # A hundred and more: powers of ten and what lies between, each once.
    samples 22000 400000 2400000
    draw run_order
    has_text run/run_order.svg 'span (µs, log scale)'
    for value in 20 50 100 200 500 1000 2000; do
        [ "$(texts run/run_order.svg | grep -cx "$value")" -eq 1 ]
    done
    # The middle of 22 us and 240 ms lies above 1 ms.
    samples 22000 240000000
    draw run_order
    has_text run/run_order.svg 'span (ms, log scale)'
    # Numbers so wide that gnuplot would leave out the title beside them.
    awk -v OFS= 'NR == 1 { print $0, ",run_mhz" } NR > 1 { print $0, ",", 100000 * NR }' run/samples.csv > t && mv t run/samples.csv
    draw run_order
    has_text run/run_order.svg 'running clock (MHz)'
}

@test "a long sweep: what is drawn is a part of it and says so" {
    echo "$HEAD" > run/cases.csv
    for h in $(seq 1 20); do
        for s in 1 2 3 4 5 6 7 8 9 10; do
            row "s.H$h.S$s" base baseline "$h" $((s * 512)) 0.5 10000 '' '' ok 1e9 1e6
            row "s.H$h.S$s" head candidate "$h" $((s * 512)) 0.5 9000 0.9 FASTER ok 1e9 1e6
        done
    done
    run "$BENCH" plot run
    [ "$status" -eq 0 ]
    has_text run/bars.svg '(first 48 of 200 cases)'
    has_text run/bars.svg 'not drawn: 152 cases from s.H5.S9 on; bench plot --only GLOB draws those chosen'
    [ "$(texts run/bars.svg | grep -cxE 'H[0-9]+ S[0-9]+')" -eq 48 ]
    has_text run/latency.svg '(first 12 lines)'
    has_text run/multiples.svg '(first 9 of 10)'
    has_text run/forest.svg '... 140 more rows, bench plot --only GLOB draws those chosen ...'
    [ -s run/heatmap.svg ]
}

@test "--only draws some cases, and leaves no file behind" {
    grid_rows
    draw bars --only 's.H4.*'
    [ "$(texts run/bars.svg | grep -xE 'S[0-9]+' | tr '\n' ' ')" = 'S1024 S2048 S4096 ' ]
    has_text run/bars.svg '; all s, H4; '
    no_text run/bars.svg H8
    [ -z "$(find run -name '.*.tmp')" ]
    run "$BENCH" plot run --only 'x*'
    [ "$status" -eq 2 ]
    [[ "$output" == *"no case of 'run' matches 'x*'"* ]]
    run "$BENCH" plot run --chart heatmp
    [ "$status" -eq 2 ]
    [[ "$output" == *"'heatmap'"* ]]
}

@test "every script runs by hand" {
    ceilings
    crossing_example
    row s.d0.25 other candidate 4 1024 0.25 40000 0.9 FASTER ok 1e10 1e7
    row s.d0.25 "base'" duplicate 4 1024 0.25 40000 1 SAME ok 1e10 1e7
    samples 50000 50032
    sed -i 's/,s.a,/,s.d0.25,/; s/,base,/,sparse,/' run/samples.csv
    PATH=/nowhere run "$BENCH" plot run
    [ -s run/crossover.csv ]
    for script in "$SOURCE_DIR"/plots/*.gp; do
        chart=$(basename "$script" .gp)
        [ "$chart" != style ] || continue
        for term in png svg; do
            run gnuplot -e "dir='run'; out='$chart.$term'" "$script"
            [ "$status" -eq 0 ] && [ -s "$chart.$term" ] || {
                echo "$chart.$term: $output"
                return 1
            }
        done
    done
}
