# run_order.gp - every sample of one case in the order in which it was taken: colour is the arm, the
# mark its slot in the round, a cross a dropped sample; the running clock on the second axis. Time
# inside a process is real, processes stand side by side. See style.gp for how to call it.
# only  case_id to draw  (default: the first one of samples.csv)

chart = "run_order"
if (!exists("high")) high = 520
if (!exists("only")) only = ""
folder = strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("run_order.gp")] : ""
load folder . "style.gp"

if (only eq "") only = first_case(0)
samples_csv = samples_of(only)
header = header_of(dir . "/samples.csv")
s_case = place("case_id"); s_process = place("process"); s_slot = place("slot"); s_arm = place("arm")
s_span = place("span_ns"); s_start = place("start_ns"); s_run = place("run_mhz")
s_drop = place("drop_reason")

# ---- which processes ----
most_processes = 200
array begin[most_processes]; array end_[most_processes]; array offset_s[most_processes]
do for [p = 1:most_processes] { begin[p] = NaN; end_[p] = NaN }
samples_nr = 0; dropped = 0; clocks = 0; quickest = NaN; slowest = NaN; slots = 0
p_of(unused) = int(real_of(s_process)) + 1
is_here(unused) = strcol(s_case) eq only && p_of(0) >= 1 && p_of(0) <= most_processes && real_of(s_span) > 0
see(unused) = is_here(0) ? ( samples_nr = samples_nr + 1, \
    p_ = p_of(0), \
    begin[p_] = real_of(s_start) >= begin[p_] ? begin[p_] : real_of(s_start), \
    end_[p_] = real_of(s_start) <= end_[p_] ? end_[p_] : real_of(s_start), \
    quickest = real_of(s_span) >= quickest ? quickest : real_of(s_span), \
    slowest = real_of(s_span) <= slowest ? slowest : real_of(s_span), \
    slots = real_of(s_slot) + 1 > slots ? real_of(s_slot) + 1 : slots, \
    dropped = text_of(s_drop) eq "" ? dropped : dropped + 1, \
    clocks = real_of(s_run) > 0 ? clocks + 1 : clocks, 0) : 0
stats samples_csv using (see(0)) nooutput
if (samples_nr == 0) {
    print chart . ": no sample of case '" . only . "' in " . dir . "/samples.csv"
    exit gnuplot
}
total = 0; processes = 0
do for [p = 1:most_processes] {
    if (begin[p] == begin[p]) { total = total + (end_[p] - begin[p]); processes = processes + 1 }
}
gap = processes > 1 ? 0.03 * total : 0
at_ = 0
do for [p = 1:most_processes] {
    offset_s[p] = 0
    if (begin[p] == begin[p]) {
        offset_s[p] = at_
        if (at_ > 0) { set arrow from at_ - gap / 2 / 1e9, graph 0 to at_ - gap / 2 / 1e9, graph 1 nohead back linecolor rgb grey dashtype 3 }
        set label sprintf("process %d", p - 1) at first at_, graph 0.975 left font ",9" textcolor rgb "#666666"
        at_ = at_ + (end_[p] - begin[p] + gap) / 1e9
        offset_s[p] = offset_s[p] - begin[p] / 1e9
    }
}
unit = quickest * slowest >= 1e12 ? 1e6 : 1e3
unit_name = unit == 1e6 ? "ms" : "µs"

head_1 = only . ": samples in run order"
head_2 = regime . sprintf("; %d samples, %d dropped", samples_nr, dropped) . (clocks ? "; small dots: running clock" : "")
@place_head
set lmargin at screen 0.09
set rmargin at screen (clocks ? 0.915 : 0.985)
set tmargin at screen 0.80
set bmargin at screen 0.115
set xlabel "time within the processes (s)"
# gnuplot leaves out an axis title for which wide numbers leave no room; a label stays.
y_title = "span (" . unit_name . ")"
set xrange [-0.01 * at_:at_]
if (clocks) {
    set border 11 linecolor rgb "#444444"
    set y2tics nomirror out
    set label 104 "running clock (MHz)" at screen 0.988, graph 0.5 center rotate by 90 textcolor rgb "#666666"
    stats samples_csv using (is_here(0) ? real_of(s_run) : NaN) name "CLOCK" nooutput
    # Into the lower fifth, so that clock and samples do not cover each other.
    reach = CLOCK_max - CLOCK_min > 1 ? CLOCK_max - CLOCK_min : 1
    set y2range [CLOCK_min - 0.2 * reach:CLOCK_min + 5 * reach]
} else {
    set y2range [0:1]
}
stats samples_csv using (is_here(0) ? real_of(s_span) / unit : NaN) name "SPAN" nooutput
spread = SPAN_max > SPAN_min ? SPAN_max - SPAN_min : SPAN_max * 0.01
below = clocks ? 0.4 : 0.08
if (SPAN_max > 2.5 * SPAN_min) {
    set logscale y
    y_title = "span (" . unit_name . ", log scale)"
    set yrange [SPAN_min * (SPAN_min / SPAN_max) ** below:SPAN_max * (SPAN_max / SPAN_min) ** 0.14]
    tic_lo = SPAN_min; tic_hi = SPAN_max
    eval log_ytics
} else {
    set yrange [SPAN_min - below * spread:SPAN_max + 0.14 * spread]
}
set label 103 y_title at screen 0.014, graph 0.5 center rotate by 90
set key noenhanced horizontal at screen 0.985, screen 0.815 right bottom samplen 1 maxcols 8 font ",10"
time_of(unused) = real_of(s_start) / 1e9 + offset_s[p_of(0)]
kept(a, s) = is_here(0) && strcol(s_arm) eq word(arms, a) && int(real_of(s_slot)) == s && text_of(s_drop) eq ""
plot for [a = 1:words(arms)] for [s = 0:slots - 1] samples_csv using (kept(a, s) ? time_of(0) : NaN):(real_of(s_span) / unit) \
        with points pointtype (is_hollow(a) ? nth_mark(s + 1) - 1 : nth_mark(s + 1)) pointsize 0.7 linecolor rgb colour_of(a) notitle, \
    samples_csv using ((is_here(0) && text_of(s_drop) ne "") ? time_of(0) : NaN):(real_of(s_span) / unit) \
        with points pointtype 2 pointsize 1 linecolor rgb "#000000" title (dropped ? "dropped" : ""), \
    for [i = 1:(clocks ? 1 : 0)] samples_csv using (is_here(0) ? time_of(0) : NaN):(real_of(s_run)) axes x1y2 \
        with points pointtype 7 pointsize 0.25 linecolor rgb grey title "running clock", \
    for [a = 1:words(arms)] keyentry with points pointtype (is_hollow(a) ? 6 : 7) linecolor rgb colour_of(a) title word(arms, a), \
    for [s = 0:slots - 1] keyentry with points pointtype nth_mark(s + 1) linecolor rgb "#444444" title sprintf("slot %d", s)
