# heatmap.gp - speed-up of each candidate over the baseline, case by case over two axes: blue is
# faster, orange slower, white no change; the colour is full from 20 % on. Hatched: UNSURE. Black:
# the case failed. One panel for each candidate and each setting of `by`. See style.gp for how to
# call it.
# x, y   columns along the two axes                       (default seqlen_k, density_asked)
# by     columns whose values make panels of their own    (default "sweep")
# most   panels drawn                                     (default 6)

chart = "heatmap"
if (!exists("most")) most = 6
if (!exists("x")) x = "seqlen_k"
if (!exists("y")) y = "density_asked"
if (!exists("by")) by = "sweep"
high = 460
folder = strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("heatmap.gp")] : ""
load folder . "style.gp"

c_x = place(x); c_y = place(y)
if (c_x == 0 || c_y == 0) {
    print chart . ": " . cases_csv . " has no column " . (c_x ? y : x)
    exit gnuplot
}
array by_column[words(by) + 1]
do for [i = 1:words(by)] { by_column[i] = place(word(by, i)) }

# ---- panels, columns, rows: an arm that failed has a cell too ----
shown(unused) = strcol(c_role) eq "candidate" && (c_problem == 0 || strcol(c_problem) ne "across") && \
    (dev eq "" || text_of(c_device) eq dev) && strlen(text_of(c_x)) && strlen(text_of(c_y)) && \
    (real_of(c_ratio) > 0 || strcol(c_status) ne "ok")
tail_ = ""
join(i) = (tail_ = tail_ . "," . short_name(word(by, i)) . "=" . blank_free(text_of(by_column[i])), 0)
panel_name(unused) = (tail_ = "", words(by) ? int(sum [i = 1:words(by)] join(i)) : 0, strcol(c_arm) . tail_)
panels = ""; feed = ""; more = ""; xs = ""; ys = ""; cells_nr = 0; unsure = 0; failed = 0
see(unused) = shown(0) ? ( \
    name_ = panel_name(0), \
    more = (has(panels, name_) || words(panels) < most) ? more : add(more, name_), \
    panels = words(panels) < most ? add(panels, name_) : panels, \
    feed = has(panels, name_) ? labels_feed(feed, index_of(panels, name_), index_of(arms, strcol(c_arm)), strcol(c_case)) : feed, \
    xs = add(xs, text_of(c_x)), ys = add(ys, text_of(c_y)), \
    unsure = (strcol(c_status) eq "ok" && text_of(c_verdict) eq "UNSURE") ? unsure + 1 : unsure, \
    failed = strcol(c_status) eq "ok" ? failed : failed + 1, \
    cells_nr = cells_nr + 1, 0) : 0
stats cases_csv using (see(0)) nooutput
if (cells_nr == 0) {
    print chart . ": no compared row with " . x . " and " . y . " in " . cases_csv
    exit gnuplot
}

# ---- a row of the block: panel, column, row, colour (% clipped), kind (0 sure, 1 unsure, 2 failed),
# speed-up ----
gain(unused) = real_of(c_ratio) > 0 ? 1 / real_of(c_ratio) : NaN
clip(v) = v > 20 ? 20 : (v < -20 ? -20 : v)
kind_of(unused) = strcol(c_status) ne "ok" ? 2 : (text_of(c_verdict) eq "UNSURE" ? 1 : 0)
set table $cells
plot cases_csv using (shown(0) ? index_of(panels, panel_name(0)) : NaN):(order_of(xs, text_of(c_x))): \
        (order_of(ys, text_of(c_y))):(kind_of(0) == 2 ? NaN : clip(100 * (gain(0) - 1))):(kind_of(0)): \
        (kind_of(0) == 2 ? NaN : gain(0)) with table
unset table
eval read_block

panels_nr = words(panels)
nx = words(xs); ny = words(ys)
tall = 40 + 26 * ny < 170 ? 170 : (40 + 26 * ny > 420 ? 420 : 40 + 26 * ny)
gap_y = 84; right_side = 86
longest = 0
do for [k = 1:ny] { if (strlen(axis_text(word(ys, k))) > longest) { longest = strlen(axis_text(word(ys, k))) } }
longest = longest > 18 ? 18 : longest
gap_x = 44 + 8 * longest < 74 ? 74 : 44 + 8 * longest
high = panels_high(0)
eval set_terminal
set output out

head_1 = t_operator . ": speed-up over " . baseline . ", blue is faster" . (words(more) ? sprintf(" (first %d of %d panels)", panels_nr, panels_nr + words(more)) : "")
head_2 = regime . "; time of " . baseline . " / time of the arm; full colour from 20 %" . (unsure ? "; hatched: UNSURE" : "") . (failed ? "; black: failed" : "")
labels = labels_of(feed, int(panel_wide(0) / 6.5) - 16, x . " " . y, 1)
arm_of(i) = strstrt(word(panels, i), ",") ? part_of(word(panels, i), ",", 1) : word(panels, i)
set palette defined (-1 "#D55E00", -0.5 "#F0B48A", 0 "#FFFFFF", 0.5 "#8CBBDD", 1 "#0072B2")
set cbrange [-20:20]
set cbtics ("-20 %%" -20, "-10 %%" -10, "0" 0, "+10 %%" 10, "+20 %%" 20) font ",10"
set colorbox user origin screen 1 - 76.0 / wide, screen 1 - 1.0 * (above + tall) / high size screen 14.0 / wide, screen 1.0 * tall / high
unset grid
unset key
set border 0
set xrange [0.5:nx + 0.5]
set yrange [0.5:ny + 0.5]
text_size = panel_wide(0) / nx > 40 && tall / ny > 15 ? ",10" : ",7"
with_text = panel_wide(0) / nx > 26 && tall / ny > 11
written(v) = v < 9.95 ? sprintf("%.2f", v) : sprintf("%.1f", v)
dark(c) = abs(c) > 13 ? 0xFFFFFF : 0x000000
of(p, c) = $1 == p ? column(c) : NaN
turn = panel_wide(0) / nx < 8 * (all_numbers(xs) ? 5 : 12)

set multiplot
do for [i = 1:panels_nr] {
    eval place_panel
    if (i == 1) { eval place_head } else { unset label 101; unset label 102; unset colorbox }
    set label 1 arm_label(arm_of(i), labels, i) at graph 0, graph 1 offset 0, 0.6 left noenhanced font ",11"
    set xtics () scale 0 noenhanced font ",10"
    set ytics () scale 0 noenhanced font ",10"
    if (turn) { set xtics rotate by 40 right }
    do for [k = 1:nx] { set xtics add (shorten(axis_text(nth_value(xs, k)), 20) k) }
    do for [k = 1:ny] { set ytics add (shorten(axis_text(nth_value(ys, k)), 18) k) }
    set xlabel short_name(x) noenhanced font ",11"
    set ylabel short_name(y) noenhanced font ",11"
    set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind fillcolor rgb "#F3F3F3" fillstyle solid noborder
    plot $cells using (of(i, 5) == 2 ? NaN : of(i, 2)):3:(0.48):(0.48):4 with boxxyerror fillstyle solid noborder fillcolor palette, \
        $cells using (of(i, 5) == 1 ? $2 : NaN):3:(0.48):(0.48) with boxxyerror fillstyle transparent pattern 4 noborder fillcolor rgb "#555555", \
        $cells using (of(i, 5) == 2 ? $2 : NaN):3:(0.48):(0.48) with boxxyerror fillstyle solid noborder fillcolor rgb "#000000", \
        $cells using (with_text && of(i, 5) < 2 ? $2 : NaN):3:(written($6)):(dark($4)) with labels font text_size textcolor rgb variable
}
unset multiplot
