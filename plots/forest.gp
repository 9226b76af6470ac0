# forest.gp - change of time of each compared row with its 95 % interval, slowest on top, the delta
# band of each row behind it and the A/A noise floor as a dashed line. A' rows stand at the bottom,
# hollow, and give way first in a long list. See style.gp for how to call it.
# most  rows drawn, the slowest and the fastest of them  (default 60)

chart = "forest"
if (!exists("most")) most = 60
if (!exists("high")) high = 400
folder = strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("forest.gp")] : ""
load folder . "style.gp"

# ---- rows into arrays: gnuplot cannot sort a file ----
is_row(unused) = usable(0) && real_of(c_ratio) > 0 && (c_problem == 0 || strcol(c_problem) ne "across")
is_duplicate(unused) = strcol(c_role) eq "duplicate"
rows_nr = 0; duplicates_nr = 0; with_duplicates = 1
count(unused) = is_row(0) ? (rows_nr = rows_nr + 1, \
    duplicates_nr = is_duplicate(0) ? duplicates_nr + 1 : duplicates_nr, 0) : 0
stats cases_csv using (count(0)) nooutput
if (rows_nr > most && duplicates_nr < rows_nr) {
    with_duplicates = 0
    rows_nr = rows_nr - duplicates_nr
}
if (rows_nr == 0) {
    print chart . ": no compared row in " . cases_csv
    exit gnuplot
}
array change[rows_nr]; array low[rows_nr]; array high_end[rows_nr]; array name[rows_nr]
array width_of[rows_nr]; array noise[rows_nr]; array arm_nr[rows_nr]; array key_of[rows_nr]
array word_of[rows_nr]; array rank[rows_nr]; array case_of[rows_nr]
n = 0; has_interval = 0
keep(unused) = (is_row(0) && (with_duplicates || !is_duplicate(0))) ? ( n = n + 1, \
    change[n] = 100 * (real_of(c_ratio) - 1), low[n] = 100 * (real_of(c_lo) - 1), \
    high_end[n] = 100 * (real_of(c_hi) - 1), width_of[n] = real_of(c_delta), noise[n] = real_of(c_floor), \
    arm_nr[n] = index_of(arms, strcol(c_arm)), \
    key_of[n] = change[n] - (is_duplicate(0) ? 1e9 : 0), \
    word_of[n] = text_of(c_verdict), \
    case_of[n] = strcol(c_case), name[n] = strcol(c_arm), 0) : 0
stats cases_csv using (keep(0)) nooutput
do for [i = 1:n] {
    rank[i] = 1 + int(sum [j = 1:n] ((key_of[j] > key_of[i] || (key_of[j] == key_of[i] && j < i)) ? 1 : 0))
}
# The middle is left out of a long list.
half = most / 2
shown(i) = n <= most || rank[i] <= half || rank[i] > n - half
line_of(i) = n <= most ? rank[i] : (rank[i] <= half ? rank[i] : rank[i] - (n - 2 * half) + 1)
lines_nr = n <= most ? n : 2 * half + 1

# ---- names: the case, told apart from the others shown, and the arm ----
cases = ""; feed = ""
do for [i = 1:n] { if (shown(i)) { cases = add(cases, case_of[i]) } }
do for [k = 1:words(cases)] { feed = labels_feed(feed, k, 1, word(cases, k)) }
labels = labels_of(feed, 48, "", 0)
do for [i = 1:n] { if (shown(i)) { name[i] = label_at(labels, index_of(cases, case_of[i])) . "  " . shorten(name[i], 34) } }

# Intervals far beyond every change would hide the changes: they are cut at the frame.
frame = 3
do for [i = 1:n] {
    if (3 * abs(change[i]) > frame) { frame = 3 * abs(change[i]) }
    if (1.5 * width_of[i] > frame) { frame = 1.5 * width_of[i] }
}
is_cut = 0
do for [i = 1:n] {
    if (low[i] < -frame) { low[i] = -frame; is_cut = 1 }
    if (high_end[i] > frame) { high_end[i] = frame; is_cut = 1 }
}
least = 0; greatest = 0; longest = 0
do for [i = 1:n] {
    if (shown(i)) {
        a_ = low[i] == low[i] ? low[i] : change[i]
        b_ = high_end[i] == high_end[i] ? high_end[i] : change[i]
        if (a_ < least) { least = a_ }
        if (b_ > greatest) { greatest = b_ }
        if (width_of[i] > greatest) { greatest = width_of[i] }
        if (-width_of[i] < least) { least = -width_of[i] }
        if (strlen(name[i]) > longest) { longest = strlen(name[i]) }
    }
}
reach = greatest - least
high = 144 + 21 * lines_nr
if (high < 260) { high = 260 }
if (term eq "svg") {
    set terminal svg size wide, high font font . ",13" background "white" linewidth 1.2
} else {
    set terminal pngcairo size wide, high font "Sans,11" background "white" linewidth 1.2
}
set output out

head_1 = t_operator . ": change of time against " . baseline . ", left of 0 is faster"
head_2 = regime . "; 95 % intervals" . (is_cut ? " (cut at the frame)" : "") . ", grey: within delta" . ((duplicate eq "" || !with_duplicates) ? "" : ", hollow: A' (same as " . baseline . ")")
set label 101 head_1 at screen 0.012, screen 1 - 24.0 / high left noenhanced font ",14"
set label 102 head_2 at screen 0.012, screen 1 - 50.0 / high left noenhanced font ",10" textcolor rgb "#444444"
set lmargin at screen (0.02 + 0.0078 * longest < 0.55 ? 0.02 + 0.0078 * longest : 0.55)
set rmargin at screen 0.985
set tmargin at screen 1 - 70.0 / high
set bmargin at screen 66.0 / high
set xrange [least - 0.06 * reach:greatest + 0.24 * reach]
set yrange [lines_nr + 0.7:0.3]
set xlabel "change of time (%)"
unset grid
set grid x linecolor rgb "#E4E4E4" linewidth 0.8
unset key
set samples n + 1
set ytics () noenhanced scale 0 font ",10"
do for [i = 1:n] {
    if (shown(i)) {
        set ytics add (name[i] line_of(i))
        if (width_of[i] > 0) {
            set object rectangle from -width_of[i], line_of(i) - 0.5 to width_of[i], line_of(i) + 0.5 \
                behind fillcolor rgb band fillstyle solid noborder
        }
        if (noise[i] > 0) {
            set arrow from noise[i], line_of(i) - 0.5 to noise[i], line_of(i) + 0.5 nohead back linecolor rgb grey dashtype 2
            set arrow from -noise[i], line_of(i) - 0.5 to -noise[i], line_of(i) + 0.5 nohead back linecolor rgb grey dashtype 2
        }
        set label sprintf("%+.1f  %s", abs(change[i]) < 0.05 ? 0 : change[i], word_of[i]) at graph 0.995, first line_of(i) right noenhanced font ",10"
    }
}
if (n > most) { set label sprintf("... %d more rows, bench plot --only GLOB draws those chosen ...", n - 2 * half) at graph 0.5, first half + 1 center font ",10" }
set arrow from 0, graph 0 to 0, graph 1 nohead back linecolor rgb "#444444"
if (c_floor > 0) { head_2 = head_2 . ", dashed: noise floor" }
set label 102 head_2

plot for [a = 1:words(arms)] '+' using ((i = int($0) + 1, (i <= n && shown(i) && arm_nr[i] == a && low[i] == low[i]) ? low[i] : NaN)):(line_of(i <= n ? i : n)):((i <= n ? high_end[i] - low[i] : 0)):(0) \
        with vectors heads size screen 0.003, 90 fixed linewidth 1.6 linecolor rgb colour_of(a), \
    for [a = 1:words(arms)] '+' using ((i = int($0) + 1, (i <= n && shown(i) && arm_nr[i] == a) ? change[i] : NaN)):(line_of(i <= n ? i : n)) \
        with points pointtype (is_hollow(a) ? 6 : nth_mark(a)) pointsize 1.1 linecolor rgb colour_of(a)
