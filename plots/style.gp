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
#
# Rows whose status is not "ok" are passed over, so that what stands in their status_text cannot
# harm: gnuplot reads neither doubled quotes nor line ends inside a cell.

if (!exists("dir")) dir = "."
if (!exists("dev")) dev = ""
if (!exists("out")) out = ""
if (!exists("term")) term = (strlen(out) > 4 && out[strlen(out) - 3:] eq ".svg") ? "svg" : "png"
if (out eq "") out = dir . "/" . chart . "." . term
if (!exists("wide")) wide = 1000
cases_csv = dir . "/cases.csv"
# With one more column: of an empty last cell gnuplot repeats what an earlier line had there.
samples_csv = "< sed 's/$/,-/' '" . dir . "/samples.csv'"

# ---- columns by name ----
# `header` is the first line of a file between commas; place("name") the column's number, 0 for none.
header = ","
place(name) = strstrt(header, "," . name . ",") ? \
    int(sum [i_ = 1:strstrt(header, "," . name . ",")] (header[i_:i_] eq "," ? 1 : 0)) : 0
read_header(line) = (header = "," . line . ",", 0)
text_of(c) = c > 0 ? strcol(c) : ""
real_of(c) = c > 0 ? (valid(c) ? column(c) : NaN) : NaN

# ---- lists of words: names hold no blanks ----
has(list, s) = strstrt(" " . list . " ", " " . s . " ") > 0
add(list, s) = has(list, s) ? list : list . (list eq "" ? "" : " ") . s
index_of(list, s) = int(sum [i_ = 1:words(list)] (word(list, i_) eq s ? i_ : 0))
# The middle goes where a label is longer than there is room for.
shorten(s, most) = strlen(s) > most ? s[1:most / 2 - 1] . ".." . s[strlen(s) - most / 2 + 2:] : s
blank_free(s) = strlen(s) ? s : "-"

# ---- colours: Okabe and Ito's, told apart with every kind of colour vision ----
array colour[8]
colour[1] = 0x0072B2; colour[2] = 0xD55E00; colour[3] = 0x009E73; colour[4] = 0xCC79A7
colour[5] = 0xE69F00; colour[6] = 0x56B4E9; colour[7] = 0x000000; colour[8] = 0x999999
array mark[8] = [7, 5, 9, 13, 11, 15, 3, 1]
nth_colour(i) = colour[(i - 1) % 8 + 1]
nth_mark(i) = mark[(i - 1) % 8 + 1]
grey = 0x888888
band = 0xDDDDDD

# ---- terminal ----
font = "Helvetica,Arial,sans-serif"
if (term eq "svg") {
    set terminal svg size wide, high font font . ",13" background "white" linewidth 1.2
} else {
    set terminal pngcairo size wide, high font "Sans,11" background "white" linewidth 1.2
}
set output out
set encoding utf8
set border 3 linecolor rgb "#444444"
set tics nomirror out
set grid y linecolor rgb "#E4E4E4" linewidth 0.8 dashtype solid
set key top right
# Whiskers are arrows with flat heads: error bars would rub out what lies under their middle.
set style arrow 1 heads size screen 0.003, 90 fixed linewidth 1.2 linecolor rgb "#222222"

set datafile separator "\n"
stats cases_csv every ::0::0 using (read_header(strcol(1))) nooutput
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

# ---- the two lines over a chart ----
head_1 = ""; head_2 = ""
place_head = "set label 101 head_1 at screen 0.012, screen 0.968 left noenhanced font ',14'; " . \
    "set label 102 head_2 at screen 0.012, screen 0.928 left noenhanced font ',10' textcolor rgb '#444444'"
