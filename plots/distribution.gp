# distribution.gp - how the samples of one case spread: for each arm the share of its samples on each
# tick of the timer, above a line from the 10th to the 90th percentile with the median. Grey lines are
# the ticks; where they lie too close a bar takes several, and the title says how many. Arms that lie
# far apart are drawn around their own medians. Dropped samples are left out. See style.gp for how to
# call it.
# only  case_id to draw                          (default: the first one of samples.csv)
# most  bars along the axis, and ticks with a line  (default 100)

chart = "distribution"
if (!exists("most")) most = 100
if (!exists("only")) only = ""
high = 420
folder = strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("distribution.gp")] : ""
load folder . "style.gp"

c_tick = place("tick_ns")
if (only eq "") only = first_case(0)
samples_csv = samples_of(only)

# ---- what cases.csv says of the case: the tick, and each arm's percentiles ----
array p10[words(arms)]; array p50[words(arms)]; array p90[words(arms)]
do for [a = 1:words(arms)] { p50[a] = -1 }
tick = 0; racers = ""
keep(unused) = (usable(0) && strcol(c_case) eq only && real_of(c_time) > 0) ? ( \
    a_ = index_of(arms, strcol(c_arm)), tick = real_of(c_tick) > 0 ? real_of(c_tick) : tick, \
    p10[a_] = real_of(c_p10) > 0 ? real_of(c_p10) : real_of(c_time), p50[a_] = real_of(c_time), \
    p90[a_] = real_of(c_p90) > 0 ? real_of(c_p90) : real_of(c_time), racers = add(racers, strcol(c_arm)), 0) : 0
stats cases_csv using (keep(0)) nooutput
if (words(racers) == 0) {
    print chart . ": no timed row of case '" . only . "' in " . cases_csv
    exit gnuplot
}

header = header_of(dir . "/samples.csv")
s_arm = place("arm"); s_span = place("span_ns"); s_drop = place("drop_reason")
kept(unused) = has(racers, strcol(s_arm)) && real_of(s_span) > 0 && text_of(s_drop) eq ""

# ---- the part of the axis that is shown: far outliers would hide everything else ----
least = NaN; greatest = NaN; reach = 0
do for [r = 1:words(racers)] {
    a = index_of(arms, word(racers, r))
    least = p10[a] >= least ? least : p10[a]
    greatest = p90[a] <= greatest ? greatest : p90[a]
    reach = p90[a] - p10[a] > reach ? p90[a] - p10[a] : reach
}
if (reach < 4 * tick) { reach = 4 * tick }
apart = greatest - least > 6 * reach
array origin[words(racers)]
do for [r = 1:words(racers)] {
    a = index_of(arms, word(racers, r))
    origin[r] = apart ? (tick > 0 ? floor(p50[a] / tick) * tick : p50[a]) : 0
    if (apart) {
        least = (r > 1 && least < p10[a] - origin[r]) ? least : p10[a] - origin[r]
        greatest = (r > 1 && greatest > p90[a] - origin[r]) ? greatest : p90[a] - origin[r]
    }
}
from_ = least - 1.5 * reach; to_ = greatest + 1.5 * reach
x_of(unused) = real_of(s_span) - origin[index_of(racers, strcol(s_arm))]
samples_nr = 0; outside = 0; seen_least = NaN; seen_greatest = NaN
see(unused) = kept(0) ? ( samples_nr = samples_nr + 1, v_ = x_of(0), \
    outside = (v_ < from_ || v_ > to_) ? outside + 1 : outside, \
    seen_least = v_ >= seen_least ? seen_least : v_, \
    seen_greatest = v_ <= seen_greatest ? seen_greatest : v_, 0) : 0
stats samples_csv using (see(0)) nooutput
if (samples_nr == 0) {
    print chart . ": no sample of case '" . only . "' in " . dir . "/samples.csv"
    exit gnuplot
}
if (outside == samples_nr) { from_ = seen_least; to_ = seen_greatest; outside = 0 }
from_ = seen_least > from_ ? seen_least : from_
to_ = seen_greatest < to_ ? seen_greatest : to_
if (tick <= 0) { tick = (to_ - from_) / most; tick = tick > 0 ? tick : 1 }
per_bar = ceil((to_ - from_) / tick / most)
per_bar = per_bar < 1 ? 1 : per_bar
width = per_bar * tick
# A bar of one tick stands on it; one of several covers them. Bars are counted from the first.
nth_bar(ns) = per_bar == 1 ? floor(ns / tick + 0.5) : floor(ns / width)
bar_at(n) = (nth_bar(from_) + n + (per_bar == 1 ? 0 : 0.5)) * width

# ---- shares: arm and bar as one whole number, so that equal ones are found equal ----
here(unused) = kept(0) && x_of(0) >= from_ && x_of(0) <= to_
code_of(unused) = 1000 * index_of(racers, strcol(s_arm)) + nth_bar(x_of(0)) - nth_bar(from_)
array total[words(racers)]
do for [r = 1:words(racers)] { total[r] = 0 }
sum_up(unused) = kept(0) ? (r_ = index_of(racers, strcol(s_arm)), total[r_] = total[r_] + 1, 0) : 0
stats samples_csv using (sum_up(0)) nooutput
# What is left out must not break the sums.
set datafile missing NaN
set table $counts
plot samples_csv using (here(0) ? code_of(0) : NaN):(1.0 / total[index_of(racers, strcol(s_arm))]) smooth frequency
unset table
unset datafile missing
eval read_block
most_share = 0
see_share(unused) = (most_share = $2 > most_share ? $2 : most_share, 0)
stats $counts using (see_share(0)) nooutput

size_ = apart ? to_ - from_ : p50[index_of(arms, word(racers, 1))]
unit = size_ >= 1e6 ? 1e6 : (size_ >= 3e3 ? 1e3 : 1)
unit_name = unit == 1e6 ? "ms" : (unit == 1e3 ? "µs" : "ns")
rows_nr = words(racers)
high = 170 + 80 * rows_nr
eval set_terminal
set output out
grid_shown = (to_ - from_) / tick <= most
in_ns(ns) = ns >= 1e6 ? sprintf("%.5g ms", ns / 1e6) : (ns >= 1e3 ? sprintf("%.5g µs", ns / 1e3) : sprintf("%.4g ns", ns))
head_1 = only . ": distribution of the samples"
head_2 = regime . sprintf("; %d samples", samples_nr) . (outside ? sprintf(", %d outside", outside) : "") . "; tick " . in_ns(tick) . \
    (per_bar > 1 ? sprintf(", a bar is %d of them", per_bar) : "") . (grid_shown ? " (grey lines)" : "")
eval place_head
longest = 0
do for [r = 1:rows_nr] { if (strlen(word(racers, r)) > longest) { longest = strlen(word(racers, r)) } }
set lmargin at screen (0.02 + 0.0092 * longest < 0.09 ? 0.09 : (0.02 + 0.0092 * longest > 0.3 ? 0.3 : 0.02 + 0.0092 * longest))
set rmargin at screen 0.985
set tmargin at screen 1 - 66.0 / high
set bmargin at screen 64.0 / high
set xrange [(from_ - 1.5 * width) / unit:(to_ + 1.5 * width) / unit]
set yrange [0:rows_nr]
unset grid
unset key
set xlabel apart ? "span from the median of the arm (" . unit_name . ")" : "span (" . unit_name . ")"
set ytics () scale 0 noenhanced font ",10"
# First arm on top.
foot(r) = rows_nr - r + 0.2
do for [r = 1:rows_nr] {
    a = index_of(arms, word(racers, r))
    set ytics add (shorten(word(racers, r), 34) . (apart ? "\n" . in_ns(p50[a]) : "") foot(r) + 0.25)
    set arrow 20 + r from (p10[a] - origin[r]) / unit, foot(r) - 0.09 to (p90[a] - origin[r]) / unit, foot(r) - 0.09 nohead front linewidth 1.6 linecolor rgb "#222222"
    set label 20 + r "" at (p50[a] - origin[r]) / unit, foot(r) - 0.09 point pointtype 7 pointsize 0.8 linecolor rgb "#222222" front
}
if (grid_shown) {
    ticks_nr = int(ceil((to_ + width) / tick)) - int(floor((from_ - width) / tick))
    set samples ticks_nr + 1
} else { ticks_nr = 0 }
first_tick = floor((from_ - width) / tick) * tick
plot for [k = 1:(grid_shown ? 1 : 0)] '+' using ((first_tick + $0 * tick) / unit):(0):(0):(rows_nr) with vectors nohead linewidth 0.5 linecolor rgb "#DDDDDD" notitle, \
    for [r = 1:rows_nr] $counts using (int($1) / 1000 == r ? bar_at(int($1) % 1000) / unit : NaN):(foot(r) + 0.36 * $2 / most_share):(0.45 * width / unit):(0.36 * $2 / most_share) \
        with boxxyerror fillstyle solid (is_hollow(index_of(arms, word(racers, r))) ? 0.0 : 0.85) border linecolor rgb colour_of(index_of(arms, word(racers, r))) \
        linecolor rgb colour_of(index_of(arms, word(racers, r)))
