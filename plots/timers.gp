# SPDX-License-Identifier: BSD-3-Clause
# plots/timers.gp - the clocks: cost and resolution of a reading, readings in the first microseconds, and the distribution
# of the steps between two readings.
#
# Reads data.dat, stairs.dat and jitter.dat.

plot_width = 1180
plot_height = 860
load "theme.gp"

# Clocks that say the same are one curve: the general timers, the precise ones, processor time, and Lua's.
curves = "ticks MONOTONIC MONOTONIC_COARSE gettimeofday THREAD_CPUTIME_ID lua:ticks"
step_curves = "ticks-ordered MONOTONIC gettimeofday THREAD_CPUTIME_ID lua:ticks"
style(name) = name[1:5] eq "ticks" ? 1 : words(curves[1:strstrt(curves . " ", name . " ")] . "x")

set multiplot
set label 1 headed(1, "The clocks of this machine") at screen 0.012, 0.972 left font ",16" noenhanced

# (a) cost and resolution, a row for each clock
set lmargin at screen 0.175
set rmargin at screen 0.465
set tmargin at screen 0.885
set bmargin at screen 0.135
set title "(a) Cost of a reading, and the smallest step" font ",11.5"
set logscale x
set micro # in utf8: µs, not us
set format x "%.0s %cs"
set xlabel "time"
set yrange [run_cells + 0.6 : 0.4]
set ytics () font ",9.5" noenhanced
array clock_name[run_cells]
put(i, name) = (clock_name[i] = plain(name), 0)
stats "data.dat" using (put(int(column(c_cell)), strcol(c_clock))) nooutput
do for [i = 1:run_cells] { set ytics add (tic(clock_name[i]) i) }
set xrange [0.2e-9:*]
set xtics 1e-9, 1000 font ",10"
set grid xtics ytics
ns(v) = 1e-9 * v
set key at screen 0.33, screen 0.055 center center horizontal Left reverse samplen 1.6 noenhanced font ",9.5"
panel_count = 3; key_total = 14
panel_number = 1; key_lines = 3
if (narrow) { @column_head; @column; set lmargin at screen 130.0 / plot_width }
plot "data.dat" using (ns(column(c_claimed))):(column(c_cell)) with points linetype 8 pointtype 6 pointsize 1 title "step it claims", \
     "" using (ns(column(c_resolution))):(column(c_cell)) with points linetype 2 pointtype 5 pointsize 0.8 title "smallest step seen", \
     "" using (ns(column(c_q1))):(column(c_cell)):(ns(column(c_q1))):(ns(column(c_p99))) with xerrorbars linetype 1 pointtype 0 linewidth 1.2 notitle, \
     "" using (ns(column(c_median))):(column(c_cell)) with points linetype 1 pointtype 7 pointsize 0.8 title "cost (line: to 99 %)"
unset label 1
@caption_drawn

# (b) stairs
set lmargin at screen 0.565
set rmargin at screen 0.835
set tmargin at screen 0.885
set bmargin at screen 0.575
set title "(b) Readings in the first 4 µs"
unset logscale
set format "%g"
set xlabel "time since the first reading, by the cpu [µs]"
set ylabel "time elapsed, by the clock [µs]"
set xrange [0:4]
set yrange [-0.3:5]
set ytics autofreq font ",10" enhanced
set xtics autofreq font ",10"
set key at graph 1.02, graph 1 left top vertical Left reverse samplen 1.6 spacing 1.05 noenhanced font ",9"
panel_number = 2; key_lines = 6
if (narrow) { @column; set tics font ",12" }
plot for [name in curves] "stairs.dat" using ($3 / 1000):(strcol(2) eq name ? $4 / 1000 : NaN) \
  with steps linetype style(name) dashtype style(name) linewidth 1.4 title name

# (c) steps
set tmargin at screen 0.445
set bmargin at screen 0.085
set title "(c) Steps between readings: share that is longer"
set logscale xy
set format x "%.0s %cs"
set format y "%g %%"
set xlabel "length of the step"
set ylabel "share of the steps" offset 1, 0
set xtics 1e-9, narrow ? 1000 : 10
set xrange [1e-9:*]
set yrange [1e-4:150]
column_left = 92.0; panel_number = 3; key_lines = 5
if (narrow) { @column }
plot for [name in step_curves] "jitter.dat" using (strcol(2) eq name && $4 > 0 ? ns($4) : NaN):($3 > 0 ? 100 * $3 : 1e-4) \
  with linespoints linetype style(name) linewidth 1.4 pointsize 0.4 title name
unset multiplot
