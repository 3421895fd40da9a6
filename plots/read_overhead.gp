# SPDX-License-Identifier: BSD-3-Clause
# plots/read_overhead.gp - cost of a counter read: by number of events, by context, its distribution, its outliers.
#
# Reads data.dat, rounds.dat, histogram.dat and outliers.dat, which are written after each round, so that an interrupted run
# can also be drawn.

plot_width = 1180
plot_height = 900
load "theme.gp"

paths = "page read group"
array spaced[3] = ["self-monitoring page (user space)", "one read(2) per event", "one read(2) per group"]

# The value of a column in the row of data.dat with these factors; stats walks the file, `found` remembers.
found = NaN
found_text = ""
is_cell(context, path, events) = strcol(c_context) eq context && strcol(c_operation) eq "read" \
  && strcol(c_path) eq path && (events == 0 || column(c_events) == events)
without_underscores(s) = strstrt(s, "_") == 0 ? s : \
  without_underscores(s[1:strstrt(s, "_") - 1] . " " . s[strstrt(s, "_") + 1:*])

# The places in the order of data.dat, without the sources that are measured alone, and the events read there.
contexts = ""
context_events = 0
most_events = 1
last_place = ""
add_place(name) = (name eq last_place || strstrt(name, "::") > 0 || strstrt(name, "msr/") > 0) ? 0 \
  : (contexts = contexts . " " . name, last_place = name, 0)
stats "data.dat" using (add_place(strcol(c_context)), \
  strcol(c_context) eq "sobel/pixel" ? context_events = column(c_events) : 0, \
  column(c_samples) > 0 && column(c_events) > most_events ? most_events = column(c_events) : 0, 0) nooutput
if (context_events == 0) context_events = 2
places = words(contexts)

# Cells, medians and states of the read in each place by each path: index place * 3 + path.
array cell_of[3 * places]
array median_of[3 * places]
array state_of[3 * places]
do for [place = 1:places] {
  do for [path = 1:3] {
    at = 3 * (place - 1) + path
    found = 0
    found_text = ""
    found_cell = 0
    stats "data.dat" using (is_cell(word(contexts, place), word(paths, path), context_events) \
      ? (found = column(c_samples) > 0 ? column(c_median) : 0, found_text = plain(strcol(c_status)), found_cell = column(c_cell), 0) \
      : 0) nooutput
    cell_of[at] = found_cell
    median_of[at] = found
    state_of[at] = found_text
  }
}
here(path) = median_of[path] > 0
key_of(path) = narrow ? spaced[path] . (here(path) ? "" : ": missing") : spaced[path] . (here(path) || state_of[path] eq "" ? "" : " - " . without_underscores(state_of[path]))
floor_ns = 0
stats "data.dat" using (strcol(c_operation) eq "empty" && column(c_samples) > 0 ? (floor_ns = column(c_median), 0) : 0) nooutput

set multiplot layout 2, 2 margins 0.085, 0.978, 0.105, 0.845 spacing 0.095, 0.19
set label 1 headed(1, "What a counter read costs") at screen 0.02, screen 0.972 left font ",16" noenhanced
set title font ",11.5" offset 0, -0.3
panel_count = 4; key_total = 9; panel_number = 1; key_lines = 4

# One key for all panels.
set key at screen 0.985, screen 0.985 top right vertical Right noreverse samplen 2 spacing 1.1 noenhanced font ",10"

# (a) boxes by number of events
set title "(a) Bare loop: quartiles, whiskers from minimum to 99 %"
set xlabel "events in the set"
set ylabel "cost of one read [ns]"
set xrange [0.4:most_events + 0.6]
set xtics 1
top = 0
stats "data.dat" using (strcol(c_context) eq "loop" && strcol(c_operation) eq "read" && column(c_samples) > 0 \
  && column(c_p99) > top ? (top = column(c_p99), 0) : 0) nooutput
set logscale y
set yrange [(floor_ns > 0 ? floor_ns / 2 : 1):2 * top]
set format y "%.0s%c"
set grid ytics mytics
set boxwidth 0.24 absolute
set style fill solid 0.85 border
x_of(path) = column(c_events) + 0.27 * (path - 2)
when(path, value) = is_cell("loop", word(paths, path), 0) && column(c_samples) > 0 ? value : NaN
if (narrow) { @column_head; @column; set key Left reverse samplen 1.6 }
plot for [path = 1:3] "data.dat" using (x_of(path)):(when(path, column(c_q1))):(column(c_min)):(column(c_p99)):(column(c_q3)) \
       with candlesticks whiskerbars 0.6 linetype path notitle, \
     for [path = 1:3] keyentry with boxes linetype path title key_of(path), \
     floor_ns with lines linetype 8 linewidth 1 dashtype 2 title sprintf(narrow ? "empty (two clock reads): %.3g ns" : "empty operation (two clock reads): %.3g ns", floor_ns)
unset label 1
@caption_drawn
unset key
unset logscale y
set format y "% h"
set grid nomytics

# (b) speed-up by place
set title sprintf("(b) Speed-up over one read(2) per event, %d events", context_events)
unset xlabel
set ylabel "ratio of the medians"
set xrange [0.4:places + 0.6]
set xtics ()
do for [place = 1:places] { set xtics add (tic(word(contexts, place)) place) }
small = text_font(9)
set xtics rotate by (narrow ? 90 : 35) right noenhanced font small offset 0, 0
ratio(place, path) = median_of[3 * (place - 1) + path] > 0 && median_of[3 * (place - 1) + 2] > 0 \
  ? median_of[3 * (place - 1) + 2] / median_of[3 * (place - 1) + path] : NaN
ratio_text(v) = sprintf(v < 9.995 ? "%.2f" : "%.1f", v)
highest = 1
do for [place = 1:places] {
  do for [path in "1 3"] { if (ratio(place, int(path)) > highest) { highest = ratio(place, int(path)) } }
}
set yrange [0:1.12 * highest]
set grid noxtics
set boxwidth (here(1) ? 0.36 : 0.6) absolute
bar(path) = !here(1) ? 0 : path == 1 ? -0.19 : 0.19
set samples places
bar_at(k, path) = k < places ? ratio(int(k) + 1, path) : NaN # by rows of any table with as many
set style textbox opaque noborder margins 0.4, 0.2
panel_number = 2; key_lines = 5 # room for the names of places
if (narrow) { @column; unset key }
plot for [path = 1:3:2] "data.dat" using ($0 < places ? $0 + 1 + bar(path) : NaN):(bar_at($0, path)) with boxes linetype path, \
     1 with lines linetype 2 linewidth 1.4 dashtype 2, \
     for [path = 1:3:2] "data.dat" using ($0 < places ? $0 + 1 + bar(path) : NaN):(bar_at($0, path)):(narrow ? "" : ratio_text(bar_at($0, path))) \
       with labels boxed offset 0, 0.65 font text_font(8)

# (c) distribution
set title sprintf("(c) Distribution up to 99 %%, bare loop, %d events", context_events)
set xlabel "cost of one read [ns]"
set ylabel "share of the samples [%]"
set xtics autofreq norotate autojustify font small
lowest = 1e30
highest = 1
do for [path = 1:3] {
  if (here(path) && median_of[path] < lowest) { lowest = median_of[path] }
  if (here(path) && median_of[path] > highest) { highest = median_of[path] }
}
# A page read beside read(2): a linear axis would leave it a needle.
if (here(1)) {
  set logscale x
  set xrange [0.7 * lowest : 1.4 * highest]
} else {
  set offsets graph 0.03, graph 0.03, 0, 0
  set xrange [*:*]
}
set yrange [0:*]
set grid xtics ytics
set boxwidth
set style fill solid 0.6 noborder
panel_number = 3; key_lines = 0
if (narrow) { @column; unset key }
plot for [path = 1:3] "histogram.dat" using (($2 + $3) / 2):($1 == cell_of[path] ? 100 * $5 : NaN):($3 - $2) \
       with boxes linetype path

# (d) outliers
set title sprintf(narrow ? "(d) Largest outliers (dashed: medians), %d events" : "(d) Largest outliers (dashed: medians), bare loop, %d events", context_events)
set xlabel narrow ? "iteration of all rounds [1000]" : "iteration, all rounds one after the other [1000]"
set ylabel "cost of one read"
set xtics font ",11"
set micro # in utf8: µs, not us
set format y "%.0s %cs"
unset logscale x
set logscale y
set yrange [lowest * 0.5e-9:*]
array round_n[3]
longest = 1
rounds = 1
do for [path = 1:3] {
  found = 0
  stats "rounds.dat" using ($1 == cell_of[path] && $4 > found ? (found = $4, 0) : 0, \
    $2 > rounds ? (rounds = $2, 0) : 0) nooutput
  round_n[path] = found
  if (found > longest) { longest = found }
}
set offsets 0, 0, 0, 0
set xrange [0:longest * rounds / 1000.0]
panel_number = 4
if (narrow) { @column; unset key; set xtics font small }
plot for [path = 1:3] "outliers.dat" using ((($2 - 1) * round_n[path] + $3) / 1000):($1 == cell_of[path] ? $4 * 1e-9 : NaN) \
       with points linetype path pointsize 0.6, \
     for [path = 1:3] (here(path) ? median_of[path] * 1e-9 : NaN) with lines linetype path linewidth 1 dashtype 2
unset multiplot
