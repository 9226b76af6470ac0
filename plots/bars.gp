# bars.gp - arms by case. Above: throughput (or time), whiskers from the 10th to the 90th percentile
# of the samples. Below, where arms were compared: change of time against the baseline with its 95 %
# interval. A', the duplicate of the baseline, is hollow. See style.gp for how to call it.
# metric  rate, time                            (default: rate where FLOPs are known)
# most    cases drawn, in the order of the file (default 48)

chart = "bars"
if (!exists("most")) most = 48
if (!exists("high")) high = 720
folder = strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("bars.gp")] : ""
load folder . "style.gp"

c_flops = place("flops")
cases = ""; first_left_out = ""; all_cases = 0; last_case = ""; compared = 0; all_rates = 1; least = NaN; greatest = NaN; flips = 0; delta = NaN
lowest = 0; highest = 0; moved = 0
see(unused) = (usable(0) && real_of(c_time) > 0) ? ( \
    all_cases = strcol(c_case) eq last_case ? all_cases : all_cases + 1, last_case = strcol(c_case), \
    first_left_out = (first_left_out eq "" && words(cases) == most && !has(cases, strcol(c_case))) ? strcol(c_case) : first_left_out, \
    cases = words(cases) < most ? add(cases, strcol(c_case)) : cases, \
    all_rates = (real_of(c_flops) > 0) ? all_rates : 0, \
    least = (real_of(c_time) >= least) ? least : real_of(c_time), \
    greatest = (real_of(c_time) <= greatest) ? greatest : real_of(c_time), \
    compared = (real_of(c_lo) > 0) ? compared + 1 : compared, \
    delta = (real_of(c_delta) <= delta) ? delta : real_of(c_delta), \
    moved = (same_problem(0) && abs(real_of(c_ratio) - 1) > moved) ? abs(real_of(c_ratio) - 1) : moved, \
    lowest = (same_problem(0) && real_of(c_lo) < lowest + 1) ? real_of(c_lo) - 1 : lowest, \
    highest = (same_problem(0) && real_of(c_hi) > highest + 1) ? real_of(c_hi) - 1 : highest, 0) : 0
same_problem(unused) = (c_problem == 0 || strcol(c_problem) ne "across")
stats cases_csv using (see(0)) nooutput

# Intervals far beyond every change would hide the changes: they are cut at the frame.
frame = 3 * moved > 0.03 ? 3 * moved : 0.03
is_cut = lowest < -frame || highest > frame
if (lowest < -frame) { lowest = -frame }
if (highest > frame) { highest = frame }
inside(c) = same_problem(0) ? 100 * (real_of(c) - 1 < lowest ? lowest : (real_of(c) - 1 > highest ? highest : real_of(c) - 1)) : NaN
if (!exists("metric")) metric = all_rates ? "rate" : "time"
cases_nr = words(cases)
arms_nr = words(arms)
unit = least >= 1e6 ? 1e6 : 1e3
unit_name = unit == 1e6 ? "ms" : "µs"

# ---- a bar's place and height, once for each row: names take long to find among hundreds ----
step = 0.8 / arms_nr
at(arm) = index_of(cases, strcol(c_case)) - 0.4 + step * (arm - 0.5)
drawn(unused) = usable(0) && has(cases, strcol(c_case))
value_of(ns) = metric eq "rate" ? real_of(c_flops) / ns / 1e3 : ns / unit
change_of(c) = same_problem(0) ? 100 * (real_of(c) - 1) : NaN
set table $rows
plot cases_csv using (drawn(0) ? index_of(arms, strcol(c_arm)) : NaN):(at(index_of(arms, strcol(c_arm)))): \
        (value_of(real_of(c_time))):(value_of(real_of(c_p10))):(value_of(real_of(c_p90))): \
        (change_of(c_ratio)):(inside(c_lo)):(inside(c_hi)) with table
unset table
eval read_block
of(arm) = $1 == arm ? $2 : NaN

set boxwidth step * 0.92 absolute
set style fill solid 0.85 border -1
set xrange [0.4:cases_nr + 0.6]
set offsets 0, 0, 0, 0
# ---- labels: straight where there is room, else turned as little as it takes ----
feed = ""
do for [i = 1:cases_nr] { feed = labels_feed(feed, i, 1, word(cases, i)) }
labels = labels_of(feed, 40, "", 0)
longest = 0
do for [i = 1:cases_nr] { if (strlen(label_at(labels, i)) > longest) { longest = strlen(label_at(labels, i)) } }
font_px = cases_nr > 24 ? 8 : (cases_nr > 14 ? 9 : 11)
tic_font = sprintf(",%d", font_px)
label_px = 0.78 * font_px * longest
turn = cases_nr > 6 || label_px > 880.0 / cases_nr
left_px = 0.085 * wide + 0.6 / (cases_nr + 0.2) * 0.9 * wide
rad(degrees) = degrees * pi / 180
angle = cases_nr > 14 ? 50 : 32
do for [step_ in "50 62 75"] { if (label_px * cos(rad(angle)) > left_px) { angle = real(step_) } }
# What long labels need more stands below everything else.
plain = high
extra = turn ? label_px * sin(rad(angle)) + (all_cases > most ? 38 : 18) - 0.19 * plain : 0
extra = extra > 0 ? extra : 0
high = int(plain + extra)
up(share) = (share * plain + extra) / high
if (extra > 0) {
    eval set_terminal
    set output out
}
put_labels = "do for [i = 1:cases_nr] { set xtics add (label_at(labels, i) i) }; " . \
    "if (turn) { set xtics rotate by angle right font tic_font }"

common = labels_common(labels, 44)
left_out = all_cases > most ? sprintf(" (first %d of %d cases)", most, all_cases) : ""
head_1 = t_operator . ": " . (metric eq "rate" ? "throughput, higher is better" : "time, lower is better") . left_out
head_2 = regime . (strlen(common) ? "; all " . common : "") . "; upper whiskers: 10th to 90th percentile of the samples"
if (all_cases > most) {
    set label 103 sprintf("not drawn: %d cases from %s on; bench plot --only GLOB draws those chosen", all_cases - most, first_left_out) \
        at screen 0.012, screen 12.0 / high left noenhanced font ",10" textcolor rgb "#444444"
}

set multiplot
two = compared > 0
split = two ? 0.53 : (turn ? 0.2 : 0.08)
set lmargin at screen 0.085
set rmargin at screen 0.985
set tmargin at screen up(0.86)
set bmargin at screen up(split)
@place_head
set ylabel metric eq "rate" ? "TFLOP/s" : "median time (" . unit_name . ")"
if (metric eq "time" && greatest > 20 * least) {
    set logscale y
    set ylabel "median time (" . unit_name . ", log scale)"
    set yrange [least / unit / 2:greatest / unit * 2]
    floor_y = least / unit / 2
} else {
    set yrange [0:*]
    floor_y = 0
}
set xtics () 
if (two) {
    set format x ""
    do for [i = 1:cases_nr] { set xtics add ("" i) }
} else {
    eval put_labels
}
set xtics noenhanced scale 0
set key noenhanced horizontal at screen 0.985, screen up(0.868) right bottom samplen 1.5 maxcols 6
plot for [a = 1:arms_nr] $rows using (of(a)):3 \
        with boxes linecolor rgb colour_of(a) fillstyle solid (is_hollow(a) ? 0.0 : 0.85) border linecolor rgb colour_of(a) title arm_title(word(arms, a)), \
    for [a = 1:arms_nr] $rows using (of(a)):5:(0):($4 - $5) \
        with vectors arrowstyle 1 notitle

if (two) {
    unset logscale y
    unset label 101; unset label 102; unset label 103
    set tmargin at screen up(0.48)
    set bmargin at screen up(turn ? 0.19 : 0.08)
    set ylabel "change of time (%)\nfaster below 0"
    set yrange [105 * lowest - 0.5:105 * highest + 0.5]
    set format x
    set xtics ()
    eval put_labels
    set xtics noenhanced scale 0
    set object 1 rectangle from graph 0, first -delta to graph 1, first delta behind fillcolor rgb band fillstyle solid noborder
    set label 1 sprintf("grey: within delta, %.2g %%; whiskers: 95 %% interval", delta) . (is_cut ? ", cut at the frame" : "") at graph 0.005, graph 1.05 font ",10" textcolor rgb "#444444" front
    unset key
    plot 0 linecolor rgb "#444444" notitle, \
        for [a = 1:arms_nr] $rows using (of(a)):6 \
        with boxes linecolor rgb colour_of(a) fillstyle solid (is_hollow(a) ? 0.0 : 0.85) border linecolor rgb colour_of(a) notitle, \
        for [a = 1:arms_nr] $rows using (of(a)):7:(0):($8 - $7) \
        with vectors arrowstyle 1 notitle
}
unset multiplot
