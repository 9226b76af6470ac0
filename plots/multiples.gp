# multiples.gp - one panel for each sequence length: throughput (or time) along another axis, a line
# for each arm and each setting of `by`, whiskers from the 10th to the 90th percentile of the
# samples. Panels share their scales, but for times. A' is left out. See style.gp for how to call it.
# metric  rate, time                                (default: rate where FLOPs are known)
# panel   column whose values make panels           (default seqlen_k)
# along   column along the axis of a panel          (default density_asked)
# by      columns whose values tell lines apart     (default "")
# most    panels drawn                              (default 9)
# most_lines                                        (default 10)

chart = "multiples"
if (!exists("most")) most = 9
if (!exists("most_lines")) most_lines = 10
if (!exists("panel")) panel = "seqlen_k"
if (!exists("along")) along = "density_asked"
if (!exists("by")) by = ""
high = 460
folder = strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("multiples.gp")] : ""
load folder . "style.gp"

c_panel = place(panel); c_x = place(along); c_flops = place("flops")
if (c_panel == 0 || c_x == 0) {
    print chart . ": " . cases_csv . " has no column " . (c_panel ? along : panel)
    exit gnuplot
}
array by_column[words(by) + 1]
do for [i = 1:words(by)] { by_column[i] = place(word(by, i)) }

# ---- panels, values along them, lines ----
timed(unused) = usable(0) && strcol(c_role) ne "duplicate" && (c_problem == 0 || strcol(c_problem) ne "across") && \
    strlen(text_of(c_panel)) && strlen(text_of(c_x)) && real_of(c_time) > 0
tail_ = ""
join(i) = (tail_ = tail_ . "," . short_name(word(by, i)) . "=" . blank_free(text_of(by_column[i])), 0)
line_name(unused) = (tail_ = "", words(by) ? int(sum [i = 1:words(by)] join(i)) : 0, strcol(c_arm) . tail_)
panels = ""; xs = ""; lines = ""; feed = ""; more = ""; all_rates = 1; least = NaN; greatest = NaN
see(unused) = timed(0) ? ( \
    name_ = line_name(0), \
    more = (has(lines, name_) || words(lines) < most_lines) ? more : add(more, name_), \
    lines = words(lines) < most_lines ? add(lines, name_) : lines, \
    feed = has(lines, name_) ? labels_feed(feed, index_of(lines, name_), index_of(arms, strcol(c_arm)), strcol(c_case)) : feed, \
    panels = add(panels, text_of(c_panel)), xs = add(xs, text_of(c_x)), \
    all_rates = real_of(c_flops) > 0 ? all_rates : 0, \
    least = real_of(c_time) >= least ? least : real_of(c_time), \
    greatest = real_of(c_time) <= greatest ? greatest : real_of(c_time), 0) : 0
stats cases_csv using (see(0)) nooutput
if (words(panels) == 0) {
    print chart . ": no timed row with " . panel . " and " . along . " in " . cases_csv
    exit gnuplot
}
if (!exists("metric")) metric = all_rates ? "rate" : "time"
unit = least * greatest >= 1e12 ? 1e6 : 1e3
unit_name = unit == 1e6 ? "ms" : "µs"
value_of(ns) = metric eq "rate" ? real_of(c_flops) / ns / 1e3 : ns / unit

# Numbers stand where they belong, words side by side.
numeric = all_numbers(xs)
x_of(s) = numeric ? number_of(s) : index_of(xs, s)
x_min = NaN; x_max = NaN
do for [k = 1:words(xs)] {
    x_min = x_of(word(xs, k)) >= x_min ? x_min : x_of(word(xs, k))
    x_max = x_of(word(xs, k)) <= x_max ? x_max : x_of(word(xs, k))
}
log_x = numeric && x_min > 0 && x_max > 30 * x_min

# ---- a row of the block: panel, line, x, value, value at p10, at p90 ----
set table $rows
plot cases_csv using (timed(0) ? order_of(panels, text_of(c_panel)) : NaN):(index_of(lines, line_name(0))): \
        (x_of(text_of(c_x))):(value_of(real_of(c_time))):(value_of(real_of(c_p10))):(value_of(real_of(c_p90))) with table
unset table
eval read_block

arm_of(l) = strstrt(word(lines, l), ",") ? part_of(word(lines, l), ",", 1) : word(lines, l)
labels = labels_of(feed, 36, panel . " " . along, 1)
title_of(l) = arm_label(shorten(arm_of(l), 34), labels, l)
longest = 0
do for [l = 1:words(lines)] { if (strlen(title_of(l)) > longest) { longest = strlen(title_of(l)) } }
key_across = fewer_across(longest)

all_panels = words(panels)
panels_nr = all_panels < most ? all_panels : most
tall = panels_nr < 4 ? 270 : 190
above = 88 + 17 * key_rows(words(lines))
high = panels_high(0)
eval set_terminal
set output out
stats $rows using ($1 >= 1 && $1 <= panels_nr && $2 >= 1 ? $4 : NaN) name "ALL" nooutput

arm_nr(l) = index_of(arms, arm_of(l))
setting_of(l) = strstrt(word(lines, l), ",") ? part_of(word(lines, l), ",", 0) : "-"
settings = ""
do for [l = 1:words(lines)] { settings = add(settings, setting_of(l)) }

head_1 = t_operator . ": " . (metric eq "rate" ? "throughput in TFLOP/s, higher is better" : "median time in " . unit_name . ", lower is better") . ", by " . short_name(panel) . \
    (all_panels > most ? sprintf(" (first %d of %d)", most, all_panels) : "") . (words(more) ? sprintf(" (first %d of %d lines)", words(lines), words(lines) + words(more)) : "")
head_2 = regime . "; whiskers: 10th to 90th percentile of the samples"
unset key
margin_x = log_x ? (x_max / x_min) ** 0.06 : 0.06 * (x_max > x_min ? x_max - x_min : 1)
if (log_x) {
    set logscale x
    set xrange [x_min / margin_x:x_max * margin_x]
} else {
    set xrange [x_min - margin_x:x_max + margin_x]
}
if (metric eq "rate") { set yrange [0:1.08 * ALL_max] } else { set yrange [0:*] }
turn = !numeric && panel_wide(0) / words(xs) < 90
last_x = -1e300
set xtics () noenhanced scale 0.5 font ",10"
if (turn) { set xtics rotate by 25 right }
# No label may touch its neighbour.
room(v) = log_x ? log(v) / log(x_max / x_min) : (v - x_min) / (x_max > x_min ? x_max - x_min : 1)
do for [k = 1:words(xs)] {
    v_ = x_of(nth_value(xs, k))
    if (!numeric || last_x < -1e299 || room(v_) - room(last_x) > 0.11) {
        set xtics add (shorten(axis_text(nth_value(xs, k)), 14) v_)
        last_x = v_
    } else { set xtics add ("" v_) }
}
set mxtics 1
set ytics font ",10"
# Lines that a panel has, since one without a point is only warned of.
array present[panels_nr]
do for [i = 1:panels_nr] { present[i] = "" }
note_present(unused) = ($1 >= 1 && $1 <= panels_nr && $2 >= 1) ? (present[int($1)] = add(present[int($1)], sprintf("%d", $2)), 0) : 0
stats $rows using (note_present(0)) nooutput
set datafile missing NaN
of(i, l, c) = ($1 == i && $2 == l) ? column(c) : NaN
set multiplot
do for [i = 1:panels_nr] {
    eval place_panel
    if (i == 1) {
        eval place_head
        do for [l = 1:words(lines)] {
            entry_nr = l; entry_title = title_of(l); entry_colour = colour_of(arm_nr(l)); entry_dash = 1
            entry_mark = nth_of_many(index_of(settings, setting_of(l)))
            eval add_entry
        }
    } else { unset label 101; unset label 102; eval drop_entries }
    set label 1 short_name(panel) . " " . axis_text(nth_value(panels, i)) at graph 0.02, graph 1 offset 0, 0.5 left noenhanced font ",11"
    set xlabel (panels_nr - i < columns_nr(0)) ? short_name(along) : "" noenhanced font ",11"
    nr_ = words(present[i])
    nth(n) = int(word(present[i], n))
    plot for [n = 1:nr_] $rows using (of(i, nth(n), 3)):4 smooth unique \
            with lines linecolor rgb colour_of(arm_nr(nth(n))) linewidth 1.5 notitle, \
        for [n = 1:nr_] $rows using (of(i, nth(n), 3)):4 \
            with points pointtype nth_of_many(index_of(settings, setting_of(nth(n)))) pointsize 1 linecolor rgb colour_of(arm_nr(nth(n))) notitle, \
        for [n = 1:nr_] $rows using (of(i, nth(n), 3)):6:(0):($5 - $6) \
            with vectors nohead linewidth 1.2 linecolor rgb "#222222" notitle
}
unset multiplot
