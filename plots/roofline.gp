# roofline.gp - work done against what this machine can do: TFLOP/s along FLOPs a byte of least
# memory traffic, under the ceilings that `bench ceilings` measured here, with the clock that they ran
# at. The colour is the arm and, of several operators, the mark the operator. Arrows go from the baseline to each other arm of the same case. See style.gp for how to call it.
# Memory is the read rate of the largest buffer, a tensor ceiling the best rate of its type; of the
# tensor types those are drawn that the rows' dtype names, else all.
# run_json  file with the ceilings  (default run.json in dir)

chart = "roofline"
if (!exists("high")) high = 600
folder = strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("roofline.gp")] : ""
load folder . "style.gp"
if (!exists("run_json")) run_json = dir . "/run.json"

# ---- ceilings: one line each, kind without blanks, bytes, rate a ns, MHz ----
cells = "gsub(/[\",]/, \"\"); sub(/^ */, \"\"); n = index($0, \": \"); k = substr($0, 1, n - 1); v = substr($0, n + 2)"
ceilings = system("awk '/\"ceilings\": *\\[/ { on = 1; next } on && /^ *\\]/ { exit } on { " . cells . \
    "; if (k == \"kind\") { gsub(/ /, \"_\", v); kind = v } else if (k == \"size_bytes\") size = v; else if (k == \"per_ns\") rate = v;" . \
    " else if (k == \"run_mhz\") mhz = v; else if ($0 ~ /}/) { print kind \";\" size + 0 \";\" rate + 0 \";\" mhz + 0; mhz = 0 } }' '" . run_json . "' 2>/dev/null")
kind_at(i) = part_of(word(ceilings, i), ";", 1)
field(s, n) = n == 1 ? (strstrt(s, ";") ? part_of(s, ";", 1) : s) : field(part_of(s, ";", 0), n - 1)
c_dtype = place("dtype"); c_flops = place("flops"); c_bytes = place("bytes"); c_mhz = place("run_mhz")

# ---- rows ----
counted(unused) = usable(0) && strcol(c_role) ne "duplicate" && real_of(c_time) > 0 && real_of(c_flops) > 0 && real_of(c_bytes) > 0
dtypes = ""; operators = ""; pairs = ""; nr = 0; shown_arms = ""; x_min = NaN; x_max = NaN; y_min = NaN; y_max = NaN; slow_mhz = NaN; fast_mhz = NaN
x_of(unused) = real_of(c_flops) / real_of(c_bytes)
y_of(unused) = real_of(c_flops) / real_of(c_time) / 1e3
pair_name(unused) = strcol(c_arm) . "," . blank_free(text_of(c_operator))
see(unused) = counted(0) ? ( nr = nr + 1, shown_arms = add(shown_arms, strcol(c_arm)), \
    operators = add(operators, blank_free(text_of(c_operator))), pairs = add(pairs, pair_name(0)), \
    dtypes = add(dtypes, replace_all(blank_free(text_of(c_dtype)), "i8", "int8")), \
    slow_mhz = real_of(c_mhz) >= slow_mhz ? slow_mhz : real_of(c_mhz), fast_mhz = real_of(c_mhz) <= fast_mhz ? fast_mhz : real_of(c_mhz), \
    x_min = x_of(0) >= x_min ? x_min : x_of(0), x_max = x_of(0) <= x_max ? x_max : x_of(0), \
    y_min = y_of(0) >= y_min ? y_min : y_of(0), y_max = y_of(0) <= y_max ? y_max : y_of(0), 0) : 0
stats cases_csv using (see(0)) nooutput

read_rate = 0; read_size = -1; read_mhz = 0; tensors = ""; named = 0
do for [i = 1:words(ceilings)] {
    size_ = real(field(word(ceilings, i), 2)); rate_ = real(field(word(ceilings, i), 3)); mhz_ = real(field(word(ceilings, i), 4))
    if (kind_at(i) eq "memory_read" && size_ > read_size) { read_size = size_; read_rate = rate_; read_mhz = mhz_ }
    if (strstrt(kind_at(i), "tensor_") == 1) {
        tensors = add(tensors, kind_at(i)[8:] . ";" . field(word(ceilings, i), 3) . ";" . field(word(ceilings, i), 4))
        if (strstrt(dtypes, kind_at(i)[8:])) { named = named + 1 }
    }
}
if (nr == 0 || read_rate == 0 || words(tensors) == 0) {
    print chart . ": " . (nr ? "no ceilings of memory and of a tensor unit in " . run_json . ", bench ceilings measures them" : "no row with FLOPs and bytes in " . cases_csv)
    exit gnuplot
}
is_drawn(t) = named == 0 || strstrt(dtypes, part_of(word(tensors, t), ";", 1)) > 0
top = 0
do for [t = 1:words(tensors)] {
    rate_ = real(field(word(tensors, t), 2)) / 1e3
    if (is_drawn(t) && rate_ > top) { top = rate_ }
}

# ---- a row of the block: arm with operator, FLOP/byte, TFLOP/s, TFLOP/s of its baseline where it is the same work ----
same_problem(unused) = c_problem == 0 || strcol(c_problem) ne "across"
set table $rows
plot cases_csv using (counted(0) ? index_of(pairs, pair_name(0)) : NaN):(x_of(0)):(y_of(0)): \
        ((strcol(c_role) ne "baseline" && same_problem(0) && real_of(c_ratio) > 0) ? y_of(0) * real_of(c_ratio) : -1) with table
unset table
eval read_block

arrows_nr = 0
count_arrow(unused) = $4 > 0 ? (arrows_nr = arrows_nr + 1, 0) : 0
stats $rows using (count_arrow(0)) nooutput

clock(mhz) = mhz > 0 ? sprintf(" at %.0f MHz", mhz) : ""
head_1 = t_operator . ": throughput under the measured ceilings"
head_2 = regime . (slow_mhz > 0 ? sprintf(", ran at %.0f to %.0f MHz", slow_mhz, fast_mhz) : "") . \
    (arrows_nr ? "; arrows: from " . shorten(baseline, 24) . " to the arm of the same case" : "")
eval place_head
set lmargin at screen 0.085
set rmargin at screen 0.70
set tmargin at screen 0.88
set bmargin at screen 0.11
set logscale xy
memory_at(x) = x * read_rate / 1e3
ridge = top * 1e3 / read_rate
left = (x_min < ridge ? x_min : ridge) / 3
right = (x_max > ridge ? x_max : ridge) * 3
lowest = y_min / 3
set xrange [left:right]
set yrange [lowest:(top > y_max ? top : y_max) * 2]
# Labels at 1, 2 and 5 of each decade, of few at 1 alone.
set xtics () scale 0.8, 0.4
set ytics () scale 0.8, 0.4
decades(a, b) = log10(b) - log10(a)
label_of(v) = v >= 1e6 ? sprintf("%.0e", v) : sprintf("%.6g", v)
do for [e = -6:9] {
    do for [m in "1 2 5"] {
        v_ = m * 10.0 ** e
        if (v_ > left && v_ < right && (m eq "1" || decades(left, right) < 3)) { set xtics add (label_of(v_) v_) }
        if (v_ > lowest && v_ < 4 * top && (m eq "1" || decades(lowest, top) < 3)) { set ytics add (label_of(v_) v_) }
    }
}
set grid x y linecolor rgb "#E4E4E4" linewidth 0.8
set xlabel "FLOP / byte (least memory traffic)"
set ylabel "TFLOP/s"
set key noenhanced at screen 0.715, screen 0.88 left top Left reverse samplen 2.5 font ",10"
rate_of(t) = real(field(word(tensors, t), 2)) / 1e3
kept = ""
do for [t = 1:words(tensors)] { if (is_drawn(t)) { kept = add(kept, sprintf("%d", t)) } }
nth(n) = int(word(kept, n))
of(a, c) = $1 == a ? column(c) : NaN
arm_nr(a) = index_of(arms, word(shown_arms, a))
many = words(operators) > 1
pair_arm(p) = index_of(arms, part_of(word(pairs, p), ",", 1))
pair_mark(p) = many ? nth_of_many(index_of(operators, part_of(word(pairs, p), ",", 0))) : nth_mark(pair_arm(p))
# Of several operators a mark says nothing about the arm: its colour is a bar in the key.
arms_marked = many ? 0 : words(shown_arms)
arms_barred = many ? words(shown_arms) : 0
set samples 400
plot for [n = 1:words(kept)] (x * read_rate / 1e3 >= rate_of(nth(n)) ? rate_of(nth(n)) : NaN) with lines linewidth 1.6 dashtype n linecolor rgb "#444444" \
        title sprintf("%s %.4g TFLOP/s", part_of(word(tensors, nth(n)), ";", 1), rate_of(nth(n))) . clock(real(field(word(tensors, nth(n)), 3))), \
    (memory_at(x) <= top ? memory_at(x) : NaN) with lines linewidth 1.6 linecolor rgb "#888888" title sprintf("memory %.4g GB/s", read_rate) . clock(read_mhz), \
    for [k = 1:(arrows_nr ? 1 : 0)] $rows using ($4 > 0 ? $2 : NaN):4:(0):($3 - $4) with vectors filled size screen 0.009, 20 linewidth 1 linecolor rgb "#666666" notitle, \
    for [p = 1:words(pairs)] $rows using (of(p, 2)):3 with points pointtype pair_mark(p) pointsize 1.2 linecolor rgb colour_of(pair_arm(p)) notitle, \
    for [a = 1:arms_barred] keyentry with lines linewidth 6 linecolor rgb colour_of(arm_nr(a)) title shorten(word(shown_arms, a), 34), \
    for [a = 1:arms_marked] keyentry with points pointtype nth_mark(arm_nr(a)) pointsize 1.2 linecolor rgb colour_of(arm_nr(a)) title shorten(word(shown_arms, a), 34), \
    for [o = 1:(many ? words(operators) : 0)] keyentry with points pointtype nth_of_many(o) pointsize 1.2 linecolor rgb "#444444" title word(operators, o)
