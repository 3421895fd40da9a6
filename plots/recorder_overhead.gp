# SPDX-License-Identifier: BSD-3-Clause
# plots/recorder_overhead.gp - what a push to a recorder costs: its distribution, and the duration of each push in turn.
#
# Reads data.dat, distribution.dat, series.dat and spikes.dat.

plot_width = 1180
plot_height = 900
load "theme.gp"

# The plotted cells: 1 the floor, 2 pmlua, 3 its sketch, 4 libsde; with the fewest and with the most threads.
array shown[4] = ["none all", "pmlua all", "pmlua sketch", "libsde all"]
array colour[4] = [col_grey, col_blue, col_green, col_vermillion]
array mark[4] = [2, 7, 9, 5]
array title_of[4] = ["two reads of the clock, no push", "pmlua, all kept", "pmlua, a sketch", "libsde"]
cells = 0
fewest = 1000
most = 0
stats "data.dat" using (cells = column(c_cell), fewest = column(c_threads) < fewest ? column(c_threads) : fewest, \
  most = column(c_threads) > most ? column(c_threads) : most, 0) nooutput

array kind[cells]
array threads[cells]
array different[cells]
array median[cells]
array samples_of[cells]
kind_of(s) = s eq shown[1] ? 1 : s eq shown[2] ? 2 : s eq shown[3] ? 3 : 4
stats "data.dat" using (kind[int(column(c_cell))] = kind_of(strcol(c_library) . " " . strcol(c_keep)), \
  threads[int(column(c_cell))] = column(c_threads), different[int(column(c_cell))] = strcol(c_recorder) eq "different", \
  samples_of[int(column(c_cell))] = column(c_samples), \
  median[int(column(c_cell))] = column(c_samples) > 0 ? column(c_median) : 0, 0) nooutput
measured(i) = samples_of[i] > 0
missing = 0
do for [i = 1:cells] { if (kind[i] == 4 && !measured(i)) { missing = 1 } }
plural(n) = n == 1 ? "One thread" : n == 2 ? "Two threads" : sprintf("%d threads", n)
key_of(k) = title_of[k] . (k == 4 && missing ? " - not measured here" : "")

# Tails are one sample in all rounds: the axes of both panels are the same.
top = 1
lowest = 1e9
longest = 1
floor_count = 16384
stats "distribution.dat" using ($4 > 0 ? (lowest = $2 > 0 && $2 < lowest ? $2 : lowest, longest = $3 > longest ? $3 : longest, \
  $4 * 16384.0 / samples_of[int($1)] < floor_count ? (floor_count = $4 * 16384.0 / samples_of[int($1)], 0) : 0) : 0) nooutput

set multiplot layout 2, 2 margins 0.08, 0.985, 0.088, 0.822 spacing 0.092, 0.14
set label 1 headed(1, "What a push to a recorder costs") at screen 0.02, screen 0.972 left font ",16" noenhanced
set title font ",11.5" offset 0, -0.3
set logscale xy
set micro # in utf8: µs, not us
set format x "%.0s %cs"

# (a), (b) distribution
set xlabel narrow ? "duration of a push and two clock reads" : "duration of a push and two clock reads; bucket: 1/8 octave"
if (narrow) { set xtics 1e-8, 100 }
set ylabel "pushes of 16,384 in a bucket" offset 1, 0
set xrange [0.8e-9 * lowest : 1.3e-9 * longest]
set yrange [0.6 * floor_count : 40000]
set format y "%.0s%c"
set ytics add ("0.1" 0.1, "0.01" 0.01) # not 100m
set grid nomytics nomxtics
set key at screen 0.985, screen 0.945 top right vertical maxrows 4 Left reverse samplen 2.4 spacing 1.1 noenhanced font ",10"
dash_of(i) = different[i] ? 2 : 1
middle(low, high) = 1e-9 * sqrt((low > 0 ? low : 0.5) * high)
do for [panel = 1:2] {
  n = panel == 1 ? fewest : most
  here = ""
  do for [i = 1:cells] { if (threads[i] == n && measured(i)) { here = here . " " . i } }
  set title panel == 1 ? "(a) " . plural(n) . ": distribution" : "(b) " . plural(n) . " at the same time: distribution"
  panel_count = 4; key_total = 8; panel_number = panel; key_lines = panel == 1 ? 8 : 0
  if (narrow) { if (panel == 1) { @column_head }; @column; if (panel == 1) { set key maxrows 8 } }
  if (panel == 1) {
    plot for [i in here] "distribution.dat" using ($1 == i && $4 > 0 ? middle($2, $3) : NaN):($4 * 16384.0 / samples_of[int(i)]) \
           with linespoints linecolor rgb colour[kind[int(i)]] dashtype dash_of(int(i)) linewidth 1.4 \
           pointtype mark[kind[int(i)]] pointsize 0.45 notitle, \
         for [k = 1:4] keyentry with linespoints linecolor rgb colour[k] linewidth 1.4 pointtype mark[k] pointsize 0.7 title key_of(k), \
         keyentry with lines linecolor rgb col_black dashtype 1 linewidth 1.4 title "threads push to the same recorder", \
         keyentry with lines linecolor rgb col_black dashtype 2 linewidth 1.4 title "each thread to a separate recorder", \
         keyentry with points linecolor rgb col_black pointtype 9 pointsize 1.1 title narrow ? "spike: new memory or page" : "spike: the recorder takes memory, or touches a new page", \
         keyentry with points linecolor rgb col_black pointtype 2 pointsize 0.9 title "spike: another cause"
  } else {
    unset key
    plot for [i in here] "distribution.dat" using ($1 == i && $4 > 0 ? middle($2, $3) : NaN):($4 * 16384.0 / samples_of[int(i)]) \
           with linespoints linecolor rgb colour[kind[int(i)]] dashtype dash_of(int(i)) linewidth 1.4 \
           pointtype mark[kind[int(i)]] pointsize 0.45 notitle
  }
  unset label 1
  @caption_drawn
}

# (c), (d) in turn: the last round of the cells where all is kept in one recorder. Short ones are thinned out.
last_round = 0
stats "spikes.dat" using ($2 > last_round ? (last_round = $2, 0) : 0) nooutput
set xlabel narrow ? "number of the push (last round)" : "number of the push (last round; short ones: every 8th)"
set xtics autofreq
set ylabel "duration of the push" offset 1.0, 0
unset logscale x
set ytics autofreq
set format x "%.0s%c"
set format y "%.0s %cs"
set xrange [-100:*]
set autoscale xfixmax
set yrange [0.8e-9 * lowest : 1.3e-9 * longest]
own(s) = s eq "grew" || s eq "page" || s eq "repeats"
do for [panel = 1:2] {
  n = panel == 1 ? fewest : most
  here = ""
  do for [i = 1:cells] {
    if (threads[i] == n && measured(i) && !different[i] && (kind[i] == 2 || kind[i] == 4)) { here = sprintf("%d ", i) . here }
  }
  set title (panel == 1 ? "(c) " : "(d) ") . plural(n) . (panel == 1 ? "" : ", one recorder") . ": push by push"
  panel_number = 2 + panel
  if (narrow) { @column; unset key }
  plot for [i in here] "series.dat" using ($1 == i && ($4 > 2 * median[int(i)] || int($3) % 8 == 0) ? $3 : NaN):($4 * 1e-9) \
         with points linecolor rgb colour[kind[int(i)]] pointtype 7 pointsize 0.18, \
       for [i in here] "spikes.dat" using ($1 == i && $2 == last_round && own(strcol(7)) ? $4 : NaN):($5 * 1e-9) \
         with points linecolor rgb colour[kind[int(i)]] pointtype 9 pointsize 1.1, \
       for [i in here] "spikes.dat" using ($1 == i && $2 == last_round && !own(strcol(7)) ? $4 : NaN):($5 * 1e-9) \
         with points linecolor rgb colour[kind[int(i)]] pointtype 2 pointsize 0.9
}
unset multiplot
