# style.gp - what every chart shares: input columns by name, colours, terminal, title.
#
# Each script draws one chart of one results folder and holds no data:
#     gnuplot -e "dir='results/x'; out='x.svg'; term='svg'" plots/forest.gp
# dir   folder with cases.csv and samples.csv   (default ".")
# out   file to write                           (default CHART.TERM in dir)
# term  png or svg                              (default: by the end of `out`, else png)
# protocol  for the title             (default: what run.json says)
# dev   draw rows of this device only           (default: all)
# wide, high  size in pixels
# cases_csv   file with the rows         (default cases.csv in dir)
#
# Rows whose status is not "ok" are passed over, so that what stands in their status_text cannot
# harm: gnuplot reads neither doubled quotes nor line ends inside a cell.

if (!exists("dir")) dir = "."
if (!exists("dev")) dev = ""
if (!exists("out")) out = ""
if (!exists("term")) term = (strlen(out) > 4 && out[strlen(out) - 3:] eq ".svg") ? "svg" : "png"
if (out eq "") out = dir . "/" . chart . "." . term
if (!exists("wide")) wide = 1000
if (!exists("cases_csv")) cases_csv = dir . "/cases.csv"
# Samples of one case, picked before gnuplot reads them: a long run has hundreds of thousands. With
# one more column: of an empty last cell gnuplot repeats what an earlier line had there.
find_case = "NR == 1 { for (i = 1; i <= NF; i++) if ($i == \"case_id\") c = i } "
samples_of(id) = "< awk -F, -v id='" . id . "' '" . find_case . \
    "NR == 1 || $c == id { print $0 \",-\" }' '" . dir . "/samples.csv'"
first_case(unused) = system("awk -F, '" . find_case . "NR == 2 { print $c; exit }' '" . dir . "/samples.csv'")

# ---- columns by name ----
# `header` is the first line of a file between commas; place("name") the column's number, 0 for none.
header = ","
place(name) = strstrt(header, "," . name . ",") ? \
    int(sum [i_ = 1:strstrt(header, "," . name . ",")] (header[i_:i_] eq "," ? 1 : 0)) : 0
header_of(file) = "," . system("head -n 1 '" . file . "'") . ","
text_of(c) = c > 0 ? strcol(c) : ""
real_of(c) = c > 0 ? (valid(c) ? column(c) : NaN) : NaN

# ---- lists of words: names hold no blanks ----
has(list, s) = strstrt(" " . list . " ", " " . s . " ") > 0
add(list, s) = has(list, s) ? list : list . (list eq "" ? "" : " ") . s
index_of(list, s) = int(sum [i_ = 1:words(list)] (word(list, i_) eq s ? i_ : 0))
# The middle of a name goes where it is longer than there is room for; of cases and lines see labels_of().
shorten(s, most) = strlen(s) > most ? s[1:most / 2 - 1] . ".." . s[strlen(s) - most / 2 + 2:] : s
blank_free(s) = strlen(s) ? s : "-"
part_of(s, sep, first) = first ? s[1:strstrt(s, sep) - 1] : s[strstrt(s, sep) + strlen(sep):]
replace_all(s, a, b) = strstrt(s, a) ? part_of(s, a, 1) . b . replace_all(part_of(s, a, 0), a, b) : s

# ---- names of cases, and of groups of cases such as a line is: label.awk beside this file ----
# labels_feed() adds a case to a group, numbered from 1; labels_of() makes words of all, label_at() is
# one of them. Where an arm has one group, arm_label() is the arm alone.
scripts_ = replace_all(folder, "'", "'\\''")
labels_feed(feed, group, arm, id) = strlen(feed) < 100000 ? feed . sprintf("%d %d %s\n", group, arm, id) : feed
labels_of(feed, fit, drop, alone) = system(sprintf("awk -v fit=%d -v alone=%d -v drop='%s' -f '%slabel.awk' << 'END_OF_CASES'\n%sEND_OF_CASES", \
    fit, alone, drop, scripts_, feed))
label_at(labels, group) = replace_all(word(labels, group + 1), "|", " ")
arm_label(arm, labels, group) = word(labels, group + 1) eq "-" ? arm : arm . " (" . label_at(labels, group) . ")"
# What all groups share, as far as there is room for it.
head_of(s, most) = strlen(s) <= most ? s : (strstrt(s, "|") ? head_of(part_of_last(s), most) : "")
part_of_last(s) = s[1:int(sum [i_ = 1:strlen(s)] (s[i_:i_] eq "|" && strstrt(s[i_ + 1:], "|") == 0 ? i_ : 0)) - 1]
labels_common(labels, most) = word(labels, 1) eq "-" ? "" : replace_all(head_of(word(labels, 1), most), "|", ", ")

# ---- values of an axis in order: by size where all are numbers, else as they appear ----
is_number(s) = strlen(s) && 0 == int(sum [i_ = 1:strlen(s)] (strstrt("0123456789.e+-", s[i_:i_]) ? 0 : 1)) && s[1:1] ne "e"
all_numbers(list) = words(list) == int(sum [i_ = 1:words(list)] (is_number(word(list, i_)) ? 1 : 0))
number_of(s) = is_number(s) ? real(s) : NaN
rank_of(list, s) = 1 + int(sum [i_ = 1:words(list)] (real(word(list, i_)) < number_of(s) ? 1 : 0))
order_of(list, s) = all_numbers(list) ? rank_of(list, s) : index_of(list, s)
nth_value(list, n) = word(list, int(sum [k_ = 1:words(list)] (order_of(list, word(list, k_)) == n ? k_ : 0)))
# 16384 as 16k.
k_of(s) = (s >= 1024 && int(s) % 1024 == 0) ? sprintf("%dk", s / 1024) : sprintf("%.6g", s)
axis_text(s) = is_number(s) ? k_of(real(s)) : s
short_name(s) = s eq "density_asked" ? "density" : (s eq "seqlen_k" ? "seqlen" : s)

# ---- colours: Okabe and Ito's, told apart with every kind of colour vision ----
array colour[8]
colour[1] = 0x0072B2; colour[2] = 0xD55E00; colour[3] = 0x009E73; colour[4] = 0xCC79A7
colour[5] = 0xE69F00; colour[6] = 0x56B4E9; colour[7] = 0x000000; colour[8] = 0x999999
array mark[8] = [7, 5, 9, 13, 11, 15, 3, 1]
nth_colour(i) = colour[(i - 1) % 8 + 1]
nth_mark(i) = mark[(i - 1) % 8 + 1]
# More marks where A' is not drawn: from the ninth on hollow ones.
array hollow_mark[8] = [6, 4, 8, 12, 10, 14, 2, 0]
nth_of_many(i) = (i - 1) % 16 < 8 ? nth_mark(i) : hollow_mark[(i - 1) % 8 + 1]
grey = 0x888888
band = 0xDDDDDD

# ---- terminal ----
font = "Helvetica,Arial,sans-serif"
set_terminal = (term eq "svg") ? \
    "set terminal svg size wide, high font font . ',13' background 'white' linewidth 1.2" : \
    "set terminal pngcairo size wide, high font 'Sans,11' background 'white' linewidth 1.2"
eval set_terminal
set output out
set encoding utf8
set border 3 linecolor rgb "#444444"
set tics nomirror out
set grid y linecolor rgb "#E4E4E4" linewidth 0.8 dashtype solid
set key top right
# Whiskers are arrows with flat heads: error bars would rub out what lies under their middle.
set style arrow 1 heads size screen 0.003, 90 fixed linewidth 1.2 linecolor rgb "#222222"

header = header_of(cases_csv)
set datafile separator comma
set datafile columnheaders

# ---- where the common columns of cases.csv are ----
c_case = place("case_id"); c_arm = place("arm"); c_role = place("role")
c_status = place("status"); c_device = place("device"); c_problem = place("problem")
c_time = place("span_median_ns"); c_p10 = place("span_p10_ns"); c_p90 = place("span_p90_ns")
c_ratio = place("ratio"); c_lo = place("ratio_lo"); c_hi = place("ratio_hi")
c_delta = place("delta_pct"); c_floor = place("floor_pct"); c_verdict = place("verdict")
c_density = place("density_asked"); c_limit = place("limit"); c_limit_pct = place("limit_pct")
c_cache = place("cache_used"); c_pace = place("pace_used"); c_operator = place("operator")

usable(unused) = (strcol(c_status) eq "ok" && (dev eq "" || text_of(c_device) eq dev))

# ---- what the title says ----
t_device = ""; t_cache = ""; t_pace = ""; t_operator = ""; arms = ""; baseline = ""; duplicate = ""
note_row(unused) = usable(0) ? ( \
    t_device = text_of(c_device), t_cache = text_of(c_cache), t_pace = text_of(c_pace), \
    t_operator = has(t_operator, text_of(c_operator)) ? t_operator : t_operator . " " . text_of(c_operator), \
    arms = add(arms, strcol(c_arm)), \
    baseline = strcol(c_role) eq "baseline" ? strcol(c_arm) : baseline, \
    duplicate = strcol(c_role) eq "duplicate" ? strcol(c_arm) : duplicate, 0) : 0
stats cases_csv using (note_row(0)) nooutput
if (words(arms) == 0) {
    print chart . ": no timed row in " . cases_csv
    exit gnuplot
}
if (strlen(t_operator)) t_operator = t_operator[2:]
if (words(t_operator) > 3) t_operator = sprintf("%d operators", words(t_operator))
if (!exists("protocol")) {
    protocol = system("sed -n 's/.*\"protocol\": *\\([0-9]*\\).*/\\1/p' '" . dir . "/run.json' 2>/dev/null | head -1")
}
regime = t_device . (t_cache eq "" ? "" : ", " . t_cache . " cache") . \
    ((t_pace eq "" || t_pace eq "none") ? "" : ", pace " . t_pace) . \
    (protocol eq "" ? "" : ", protocol " . protocol)
arm_title(a) = a eq duplicate ? a . " (A', same as " . baseline . ")" : a
# A' has its baseline's colour and is hollow.
is_hollow(i) = word(arms, i) eq duplicate
colour_of(i) = nth_colour((is_hollow(i) && baseline ne "") ? index_of(arms, baseline) : i)

# ---- the two lines over a chart, at the same distance from its top whatever its height ----
head_1 = ""; head_2 = ""
place_head = "set label 101 head_1 at screen 0.012, screen 1 - 20.0 / high left noenhanced font ',14'; " . \
    "set label 102 head_2 at screen 0.012, screen 1 - 43.0 / high left noenhanced font ',10' textcolor rgb '#444444'"

# ---- a key right of a chart: the chart's right end, where the longest title has that many characters ----
right_side_px(longest) = 7.8 * longest + 62 < 0.3 * wide ? 0.3 * wide : (7.8 * longest + 62 > 0.5 * wide ? 0.5 * wide : 7.8 * longest + 62)
right_of_chart(longest) = 1 - right_side_px(longest) / wide

# ---- numbers on a logarithmic y axis from tic_lo to tic_hi: gnuplot writes powers of ten only ----
log_steps(unused) = tic_hi < 10 * tic_lo ? "1 1.5 2 3 5 7" : (tic_hi < 300 * tic_lo ? "1 2 5" : "1")
log_ytics = "do for [d_ = int(floor(log10(tic_lo))):int(floor(log10(tic_hi)))] { do for [m_ in log_steps(0)] { " . \
    "set ytics add (sprintf('%g', real(m_) * 10.0 ** d_) real(m_) * 10.0 ** d_) } }"

# ---- panels: `panels_nr` of them in rows of at most three, below `above` pixels ----
panels_nr = 1
above = 72; tall = 300; gap_x = 74; gap_y = 58; right_side = 16
columns_nr(unused) = panels_nr < 3 ? panels_nr : (panels_nr == 4 ? 2 : 3)
lines_nr(unused) = (panels_nr + columns_nr(0) - 1) / columns_nr(0)
panels_high(unused) = above + lines_nr(0) * (tall + gap_y)
panel_wide(unused) = (wide - right_side - columns_nr(0) * gap_x) / columns_nr(0)
panel_left(i) = gap_x + ((i - 1) % columns_nr(0)) * (panel_wide(0) + gap_x)
panel_top(i) = above + ((i - 1) / columns_nr(0)) * (tall + gap_y)
place_panel = "set lmargin at screen 1.0 * panel_left(i) / wide; " . \
    "set rmargin at screen 1.0 * (panel_left(i) + panel_wide(0)) / wide; " . \
    "set tmargin at screen 1 - 1.0 * panel_top(i) / high; " . \
    "set bmargin at screen 1 - 1.0 * (panel_top(i) + tall) / high"

# ---- rows as numbers: scripts put them into a block once and draw from that ----
# read_block switches the reading of files to blocks, read_csv back.
read_block = "unset datafile columnheaders; set datafile separator whitespace"
read_csv = "set datafile separator comma; set datafile columnheaders"

# ---- a key over the panels, in rows of key_across entries: those of gnuplot are as wide as one panel ----
# entry_nr, entry_title, entry_colour, entry_mark (0: none), entry_dash say what is drawn.
key_across = 4
fewer_across(longest) = longest <= 32 ? 4 : (longest <= 45 ? 3 : 2)
key_rows(entries) = (entries + key_across - 1) / key_across
entry_left(n) = gap_x + ((n - 1) % key_across) * (wide - gap_x - 10) / key_across
entry_down(n) = 66 + 17 * ((n - 1) / key_across)
add_entry = "set arrow 200 + entry_nr from screen 1.0 * entry_left(entry_nr) / wide, screen 1 - 1.0 * entry_down(entry_nr) / high " . \
    "to screen (entry_left(entry_nr) + 30.0) / wide, screen 1 - 1.0 * entry_down(entry_nr) / high nohead front linewidth 1.6 dashtype entry_dash linecolor rgb entry_colour; " . \
    "set label 200 + entry_nr entry_title at screen (entry_left(entry_nr) + 36.0) / wide, screen 1 - 1.0 * entry_down(entry_nr) / high left noenhanced font ',10'; " . \
    "if (entry_mark > 0) { set label 300 + entry_nr '' at screen (entry_left(entry_nr) + 15.0) / wide, screen 1 - 1.0 * entry_down(entry_nr) / high point pointtype entry_mark pointsize 1 linecolor rgb entry_colour }"
# Once, over the first panel.
drop_entries = "do for [e_ = 201:200 + entry_nr] { unset arrow e_; unset label e_; unset label e_ + 100 }"
