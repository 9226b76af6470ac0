# latency.gp - median time against sequence length, both logarithmic: one line for each arm and each
# setting of the other axes, named by what tells it apart, with guides that grow as S and as S^2. Where the limit of a case is
# known its time stands as a dashed line. See style.gp for how to call it.
# by     columns whose values tell lines apart besides the arm  (default "sweep density_asked heads");
#        an arm with a problem of its own has its own density instead of the one asked for
# most   lines drawn                                            (default 12)
# along  column of the sequence length                          (default seqlen_k)

chart = "latency"
if (!exists("most")) most = 12
if (!exists("high")) high = 560
if (!exists("along")) along = "seqlen_k"
if (!exists("by")) by = "sweep density_asked heads"
folder = strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("latency.gp")] : ""
load folder . "style.gp"

c_x = place(along)
if (c_x == 0) {
    print chart . ": " . cases_csv . " has no column " . along
    exit gnuplot
}
array by_column[words(by) + 1]
do for [i = 1:words(by)] { by_column[i] = place(word(by, i)) }
c_own = place("density"); c_real = place("density_realised")
own_density(unused) = real_of(c_own) > 0 ? text_of(c_own) : text_of(c_real)
by_value(i) = blank_free((by_column[i] == c_density && text_of(c_density) eq "" && text_of(c_problem) eq "across") ? own_density(0) : text_of(by_column[i]))

# ---- a line is an arm with the values of `by` ----
array first[words(by) + 1]; array varies[words(by) + 1]
do for [i = 1:words(by)] { first[i] = ""; varies[i] = 0 }
# A' would only cover its baseline here.
timed(unused) = usable(0) && strcol(c_role) ne "duplicate" && real_of(c_x) > 0 && real_of(c_time) > 0
learn_one(i) = (first[i] = first[i] eq "" ? by_value(i) : first[i], \
    varies[i] = (first[i] ne by_value(i)) ? 1 : varies[i], 0)
learn(unused) = timed(0) ? int(sum [i = 1:words(by)] learn_one(i)) : 0
stats cases_csv using (learn(0)) nooutput
# Columns that mostly follow from others split a line where two of its cases stand at one length.
late = "seqlen_q topk kv_heads"
array late_column[words(late)]; array split[words(late)]
do for [j = 1:words(late)] { late_column[j] = place(word(late, j)); split[j] = "" }
late_part(j, name) = has(split[j], name) ? "," . word(late, j) . "=" . blank_free(text_of(late_column[j])) : ""
part(i) = varies[i] ? "," . short_name(word(by, i)) . "=" . by_value(i) : ""
tail_ = ""
join(i) = (tail_ = tail_ . part(i), 0)
by_name(unused) = (tail_ = "", int(sum [i = 1:words(by)] join(i)), strcol(c_arm) . tail_)
join_late(j) = (tail_ = tail_ . late_part(j, name_by), 0)
line_name(unused) = (name_by = by_name(0), tail_ = "", int(sum [j = 1:words(late)] join_late(j)), name_by . tail_)
note_split(unused) = timed(0) ? ( \
    place_ = line_name(0) . "@" . text_of(c_x), value_ = place_ . "=" . text_of(late_column[late_nr]), \
    split[late_nr] = (has(places, place_) && !has(values, value_)) ? add(split[late_nr], name_by) : split[late_nr], \
    places = add(places, place_), values = add(values, value_), 0) : 0
do for [late_nr = 1:words(late)] {
    places = ""; values = ""
    if (late_column[late_nr] > 0) { stats cases_csv using (note_split(0)) nooutput }
}

lines = ""; feed = ""; more_lines = 0; ticks = ""; least = NaN; greatest = NaN; quickest = NaN; slowest = NaN; limits = 0
see(unused) = timed(0) ? ( \
    name_ = line_name(0), \
    more_lines = (words(lines) < most || has(lines, name_)) ? more_lines : more_lines + 1, \
    lines = words(lines) < most ? add(lines, name_) : lines, \
    feed = has(lines, name_) ? labels_feed(feed, index_of(lines, name_), index_of(arms, strcol(c_arm)), strcol(c_case)) : feed, \
    ticks = add(ticks, sprintf("%d", real_of(c_x))), \
    least = real_of(c_x) >= least ? least : real_of(c_x), \
    greatest = real_of(c_x) <= greatest ? greatest : real_of(c_x), \
    quickest = real_of(c_time) >= quickest ? quickest : real_of(c_time), \
    slowest = real_of(c_time) <= slowest ? slowest : real_of(c_time), \
    limits = real_of(c_limit_pct) > 0 ? limits + 1 : limits, 0) : 0
stats cases_csv using (see(0)) nooutput
lines_nr = words(lines)
unit = quickest * slowest >= 1e12 ? 1e6 : 1e3
unit_name = unit == 1e6 ? "ms" : "µs"

arm_of(l) = strstrt(word(lines, l), ",") ? word(lines, l)[1:strstrt(word(lines, l), ",") - 1] : word(lines, l)
arm_nr(l) = index_of(arms, arm_of(l))
# Lines of one arm share its colour, lines of one setting their mark.
setting_of(l) = strstrt(word(lines, l), ",") ? word(lines, l)[strstrt(word(lines, l), ","):] : "-"
settings = ""
do for [l = 1:words(lines)] { settings = add(settings, setting_of(l)) }
labels = labels_of(feed, 36, along, 1)
title_of(l) = arm_label(shorten(arm_of(l), 34), labels, l)
longest = 0
do for [l = 1:lines_nr] { if (strlen(title_of(l)) > longest) { longest = strlen(title_of(l)) } }

head_1 = t_operator . ": median time against " . along . (more_lines ? sprintf(" (first %d lines)", lines_nr) : "")
head_2 = regime . "; grey guides grow as S and S^2" . (limits ? "; dashed: time at the limit" : "") . "; whiskers: 10th to 90th percentile"
@place_head
set lmargin at screen 0.10
set rmargin at screen right_of_chart(longest)
set tmargin at screen 0.88
set bmargin at screen 0.11
set logscale xy
set xrange [least / 1.25:greatest * 1.25]
set yrange [quickest / unit / 2:slowest / unit * 2]
tic_lo = quickest / unit / 2; tic_hi = slowest / unit * 2
eval log_ytics
set grid x y linecolor rgb "#E4E4E4" linewidth 0.8
set xtics () scale 0.5
do for [i = 1:words(ticks)] { set xtics add (k_of(real(word(ticks, i))) real(word(ticks, i))) }
set mxtics 1
set xlabel along . " (tokens)" noenhanced
set ylabel "median time (" . unit_name . ")"
set key noenhanced at screen right_of_chart(longest) + 0.015, screen 0.88 left top Left reverse samplen 2.5 font ",10"
set samples 200
# Of each row its line and what is drawn, once: names take long to find among hundreds of cases.
set table $rows
plot cases_csv using (timed(0) ? index_of(lines, line_name(0)) : NaN):(real_of(c_x)):(real_of(c_time) / unit): \
        (real_of(c_p10) / unit):(real_of(c_p90) / unit):(real_of(c_time) * real_of(c_limit_pct) / 100 / unit) with table
unset table
eval read_block
# A point of another line must not break this one.
set datafile missing NaN
of(l, c) = $1 == l ? column(c) : NaN
guide(s, power) = quickest / unit * 0.6 * (s / least) ** power
plot guide(x, 1) linecolor rgb grey linewidth 0.9 title "as S", \
    guide(x, 2) linecolor rgb grey linewidth 0.9 dashtype 3 title "as S^2", \
    for [l = 1:lines_nr] $rows using (of(l, 2)):3 smooth unique \
        with lines linecolor rgb colour_of(arm_nr(l)) linewidth 1.6 notitle, \
    for [l = 1:lines_nr] $rows using (of(l, 2)):3 \
        with points pointtype nth_of_many(index_of(settings, setting_of(l))) pointsize 1.1 linecolor rgb colour_of(arm_nr(l)) title title_of(l), \
    for [l = 1:lines_nr] $rows using (of(l, 2)):4:(0):($5 - $4) \
        with vectors nohead linewidth 1.2 linecolor rgb "#222222" notitle, \
    for [l = 1:(limits ? lines_nr : 0)] $rows using (of(l, 2)):6 smooth unique \
        with lines linecolor rgb colour_of(arm_nr(l)) dashtype 2 linewidth 1 notitle
