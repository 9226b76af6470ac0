# crossover.gp - up to which density a sparse kernel pays: its time along the density, the dense
# arm's beside it (dashed), and where the two meet with its 95 % interval (grey band), for each
# setting of the other axes a panel. See style.gp for how to call it.
# data  crossings (default crossover.csv in dir, which every run and `bench plot` write; how they
#       are found stands in bench/core/crossover.h)
# most  panels drawn  (default 9)

chart = "crossover"
if (!exists("most")) most = 9
high = 460
folder = strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("crossover.gp")] : ""
load folder . "style.gp"

if (!exists("data")) data = dir . "/crossover.csv"
header = header_of(data)
d_device = place("device"); d_setting = place("setting"); d_arm = place("arm"); d_dense = place("dense")
d_density = place("density"); d_time = place("span_median_ns"); d_dense_time = place("dense_median_ns")
d_at = place("crossing"); d_lo = place("crossing_lo"); d_hi = place("crossing_hi"); d_state = place("state")
d_interval = place("interval")

here(unused) = dev eq "" || text_of(d_device) eq dev
pair_name(unused) = strcol(d_arm) . "," . strcol(d_dense)
panels = ""; pairs = ""; least = NaN; greatest = NaN; x_max = 0
see(unused) = here(0) ? ( \
    panels = add(panels, blank_free(text_of(d_setting))), pairs = add(pairs, pair_name(0)), \
    x_max = real_of(d_density) > x_max ? real_of(d_density) : x_max, \
    least = real_of(d_time) >= least ? least : real_of(d_time), \
    greatest = real_of(d_dense_time) <= greatest ? greatest : real_of(d_dense_time), 0) : 0
stats data using (see(0)) nooutput
if (words(panels) == 0) {
    print chart . ": no crossing in " . data
    exit gnuplot
}
unit = least * greatest >= 1e12 ? 1e6 : 1e3
unit_name = unit == 1e6 ? "ms" : "µs"

# ---- a row of the block: panel, pair, density, time, dense time, crossing, its ends, state (1 crosses,
# 2 below, 3 above, 4 unsure, 5 mixed), whether there is an interval; -1: none ----
or_none(c) = real_of(c) > 0 ? real_of(c) : -1
state_of(unused) = index_of("crosses below above unsure mixed", text_of(d_state))
set table $rows
plot data using (here(0) ? index_of(panels, blank_free(text_of(d_setting))) : NaN):(index_of(pairs, pair_name(0))): \
        (real_of(d_density)):(real_of(d_time) / unit):(real_of(d_dense_time) / unit):(or_none(d_at)):(or_none(d_lo)):(or_none(d_hi)): \
        (state_of(0)):(real_of(d_interval)) with table
unset table
eval read_block

all_panels = words(panels)
panels_nr = all_panels < most ? all_panels : most
pairs_nr = words(pairs)
array at_[panels_nr * pairs_nr]; array lo_[panels_nr * pairs_nr]; array hi_[panels_nr * pairs_nr]
array state_[panels_nr * pairs_nr]; array sure_[panels_nr * pairs_nr]; array first_[panels_nr * pairs_nr]
do for [k = 1:panels_nr * pairs_nr] { state_[k] = 0; first_[k] = NaN }
keep(unused) = ($1 >= 1 && $1 <= panels_nr) ? ( k_ = int(($1 - 1) * pairs_nr + $2), \
    at_[k_] = column(6), lo_[k_] = column(7), hi_[k_] = column(8), state_[k_] = $9, sure_[k_] = $10, \
    first_[k_] = $3 >= first_[k_] ? first_[k_] : $3, 0) : 0
stats $rows using (keep(0)) nooutput
set datafile missing NaN

sparse_of(q) = part_of(word(pairs, q), ",", 1)
dense_of(q) = part_of(word(pairs, q), ",", 0)
denses = ""; sparses = ""
do for [q = 1:pairs_nr] { denses = add(denses, dense_of(q)); sparses = add(sparses, sparse_of(q)) }
arm_colour(a) = colour_of(index_of(arms, a))
bound(v, open) = v > 0 ? sprintf("%.2f", v) : open
unsure_words(k) = (lo_[k] > 0 ? sprintf("pays up to %.2f", lo_[k]) : "") . \
    (hi_[k] > 0 ? sprintf("%s beyond %.2f", lo_[k] > 0 ? ", not" : "does not pay", hi_[k]) : "") . \
    (lo_[k] > 0 ? (hi_[k] > 0 ? ", unsure between" : ", unsure beyond") : (hi_[k] > 0 ? ", unsure below" : "unsure: intervals of the ratio hold 1"))
said(k, q) = (pairs_nr == 1 ? "" : (words(denses) == 1 ? sparse_of(q) . " " : sparse_of(q) . " / " . dense_of(q) . ": ")) . \
    (state_[k] == 2 ? "pays at every density measured" : (state_[k] == 3 ? "pays at no density measured" : (state_[k] == 4 ? unsure_words(k) : (state_[k] == 5 ? "no single crossing" : \
    sprintf("pays up to %.2f", at_[k]) . (sure_[k] == 1 ? " [" . bound(lo_[k], "open") . ", " . bound(hi_[k], "open") . "]" : ", no interval")))))

words_high = 15 * pairs_nr
tall = panels_nr < 4 ? 290 : 220
above = 100 + words_high + 17 * key_rows(words(denses) + words(sparses)); gap_y = 62 + words_high
high = panels_high(0)
eval set_terminal
set output out
head_1 = t_operator . ": median time in " . unit_name . " along the density, and up to where sparse pays" . (all_panels > most ? sprintf(" (first %d of %d)", most, all_panels) : "")
head_2 = regime . "; words, line and band: from paired ratios, with 95 % intervals"
unset key
set xrange [0:1.05 * x_max]
set yrange [0:*]
set xtics auto font ",10"
set ytics font ",10"
of(i, q, c) = ($1 == i && $2 == q) ? column(c) : NaN
first_pair(side, name) = pairs_nr + 1 - int(sum [q_ = 1:pairs_nr] (int(sum [r_ = 1:q_] ((side ? sparse_of(r_) : dense_of(r_)) eq name ? 1 : 0)) ? 1 : 0))
set multiplot
do for [i = 1:panels_nr] {
    eval place_panel
    if (i == 1) {
        eval place_head
        entry_nr = 0
        do for [a = 1:words(sparses)] {
            entry_nr = entry_nr + 1; entry_title = shorten(word(sparses, a), 32); entry_colour = arm_colour(word(sparses, a))
            entry_mark = nth_mark(a); entry_dash = 1
            eval add_entry
        }
        do for [a = 1:words(denses)] {
            entry_nr = entry_nr + 1; entry_title = shorten(word(denses, a) . " (dense)", 32); entry_colour = arm_colour(word(denses, a))
            entry_mark = 0; entry_dash = 2
            eval add_entry
        }
    } else { unset label 101; unset label 102; eval drop_entries }
    do for [q = 1:pairs_nr] {
        k = (i - 1) * pairs_nr + q
        unset label 10 + q; unset arrow 10 + q; unset object 10 + q
        if (state_[k] > 0) {
            set label 10 + q said(k, q) at graph 0.02, graph 1 offset 0, 0.35 + 0.98 * (pairs_nr - q) left noenhanced font ",10" textcolor rgb arm_colour(sparse_of(q))
            if (state_[k] == 1) {
                if (sure_[k] == 1) {
                    set object 10 + q rectangle from (lo_[k] > 0 ? lo_[k] : first_[k]), graph 0 to (hi_[k] > 0 ? hi_[k] : 1.05 * x_max), graph 1 \
                        behind fillcolor rgb band fillstyle solid noborder
                }
                set arrow 10 + q from at_[k], graph 0 to at_[k], graph 1 nohead back linewidth 1.3 dashtype 3 linecolor rgb arm_colour(sparse_of(q))
            }
        }
    }
    set label 1 replace_all(replace_all(word(panels, i) eq "-" ? "" : word(panels, i), ";", ", "), "seqlen_k", "seqlen") at graph 0.02, graph 1 offset 0, 0.45 + 0.98 * pairs_nr left noenhanced font ",11"
    set xlabel (panels_nr - i < columns_nr(0)) ? "density (realised share of blocks)" : "" font ",11"
    plot for [a = 1:words(denses)] $rows using (of(i, first_pair(0, word(denses, a)), 3)):5 smooth unique \
            with lines dashtype 2 linewidth 1.6 linecolor rgb arm_colour(word(denses, a)), \
        for [a = 1:words(sparses)] $rows using (of(i, first_pair(1, word(sparses, a)), 3)):4 smooth unique \
            with linespoints pointtype nth_mark(a) pointsize 1 linewidth 1.6 linecolor rgb arm_colour(word(sparses, a))
}
unset multiplot
