# SPDX-License-Identifier: BSD-3-Clause
# plots/plugin_overhead.gp - what plugins cost: run times against calls with lines through them, and the slopes.
#
# Reads data.dat, fits.dat and costs.dat.

plot_width = 1180
plot_height = 940
load "theme.gp"

has(file) = strstrt(run_files, " " . file . " ") > 0

# The subjects of a figure, and how each looks.
metric_names = "none metrics_0 metrics_1 metrics_2 metrics_3 metrics_4"
taker_names = "none consumer substrate"
value_names = "to_lua to_trace"
rgb(i) = word("0x000000 0x56B4E9 0x005A94 0x2BB58A 0xF2B544 0xD55E00", i) + 0
point(i) = word("2 4 7 5 9 11", i) + 0

titles = ""
known = " "
note(name, title) = (known = known . name . " ", titles = titles . title . " ", 0)
stats "data.dat" using (column(c_step) == 1 && column(c_samples) > 0 ? note(strcol(c_subject), strcol(c_title)) : 0) nooutput
there(name) = strstrt(known, " " . name . " ") > 0
title_of(name) = plain(word(titles, words(known[1:strstrt(known, " " . name . " ")] . "x")))

set multiplot
set tics font ",10"
set label 1 headed(1, "Cost of empty plugins to a program that calls an empty function") at screen 0.012, 0.97 left font ",16" noenhanced
set label 2 headed(2, "points: median processor times, each in its own process; lines: least squares; bars: 95 % interval; an event is an enter or a leave") \
  at screen 0.012, 0.936 left font ",10" textcolor rgb col_grey noenhanced
set title font ",11.5" offset 0, -0.3

# Run times against calls, panels (a), (c) and (e)
is(name) = strcol(c_subject) eq name && column(c_samples) > 0
of(name) = strcol(1) eq name
figure = 'plot for [i = 1:words(names)] "data.dat" using (is(word(names, i)) ? 1e-6 * column(c_count) : NaN):(column(c_median)) ' \
  . 'with points linecolor rgb rgb(i) pointtype point(i) pointsize 1 notitle, ' \
  . 'for [i = 1:words(names)] "fits.dat" using (0):(of(word(names, i)) ? $7 : NaN):(1e-6 * $9):($10 - $7) ' \
  . 'with vectors nohead linecolor rgb rgb(i) linewidth 1.4 notitle, ' \
  . 'for [i = 1:words(names)] keyentry with linespoints linecolor rgb rgb(i) pointtype point(i) linewidth 1.4 ' \
  . 'title there(word(names, i)) ? title_of(word(names, i)) : word(names, i) . " - not measured"'
set xrange [0:*]
set yrange [0:*]
set xlabel "calls of the function [million]" offset 0, 0.4
set ylabel "run time [ms]" offset 1.2, 0
set key Left reverse samplen 1.8 spacing 1.05 noenhanced font ",9.5"

set lmargin at screen 0.06
set rmargin at screen 0.345
set tmargin at screen 0.865
set bmargin at screen 0.625
set title "(a) Strictly synchronous metrics in C"
names = metric_names
set key at screen 0.2, screen 0.53 center center vertical maxrows 3
panel_count = 5; key_total = 8; panel_number = 1; key_lines = 3
if (narrow) { @column_head; @column }
@figure
unset label 1
unset label 2
@caption_drawn

# (b) what n metrics add to an event
set lmargin at screen 0.4
set rmargin at screen 0.645
set title "(b) Cost that n of them add to an event"
set xlabel "metrics" offset 0, 0.4
set ylabel "cost [ns]" offset 1.2, 0
set xrange [-0.3:4.3]
set xtics 1
alpha = NaN
beta = NaN
low_a = NaN
high_a = NaN
low_b = NaN
high_b = NaN
straight = 0
bent = -1
factor = NaN
exponent = NaN
# A row in which anything that is looked at is missing is left out, so the intervals are looked at apart.
if (has("costs.dat")) {
  stats "costs.dat" using (strcol(1) eq "metrics" ? (alpha = $2 / 2, beta = $5 / 2, straight = $9, 0) : 0) nooutput
  stats "costs.dat" using (strcol(1) eq "metrics" ? (low_a = $3 / 2, high_a = $4 / 2, low_b = $6 / 2, high_b = $7 / 2, 0) : 0) nooutput
  stats "costs.dat" using (strcol(1) eq "metrics" ? (factor = $10 / 2, exponent = $11, bent = $12, 0) : 0) nooutput
}
curved = bent > straight # the points bend
model(n) = curved ? factor * n ** exponent : alpha + beta * n
if (alpha == alpha) {
  set label 3 (curved ? sprintf("%.2f ns n^%.2f, R² %.3f", factor, exponent, bent) \
    : sprintf("α + β n = %.2f ns + %.2f ns n, R² %.3f", alpha, beta, straight)) at graph 0.04, 0.95 left font text_font(narrow ? 9 : 10) noenhanced front
  if (curved) {
    set label 4 sprintf("(α + β n: %.2f ns + %.2f ns n, R² %.3f)", alpha, beta, straight) at graph 0.04, 0.87 left font text_font(9) \
      textcolor rgb col_grey noenhanced front
  }
  if (!curved && low_a == low_a) {
    set label 4 sprintf("α %.2f to %.2f, β %.2f to %.2f", low_a, high_a, low_b, high_b) at graph 0.04, 0.87 left font text_font(9) \
      textcolor rgb col_grey noenhanced front
  }
}
unset key
top = 1
stats "fits.dat" using (strcol(2) eq "metrics" && strcol(1) ne "none" ? (high = $13 == $13 ? $13 / 2 : $11 / 2, \
  top = high > top ? high : top, 0) : 0) nooutput
set yrange [0 : 1.35 * top]
panel_number = 2; key_lines = 0
if (narrow) { @column; unset key }
plot for [i = 1:(alpha == alpha)] [x = 1 - 3.0 / 98:4] '+' using 1:(model($1)) with lines linecolor rgb col_grey linewidth 1.4, \
  "fits.dat" using (strcol(2) eq "metrics" && strcol(1) ne "none" ? $3 : NaN):($11 / 2):($12 == $12 ? $12 / 2 : $11 / 2): \
    ($13 == $13 ? $13 / 2 : $11 / 2) with yerrorbars linecolor rgb col_blue pointtype 7 pointsize 1 linewidth 1.4
unset label 3
unset label 4
set xtics autofreq
set yrange [0:*]

# (c) who takes the events
set lmargin at screen 0.72
set rmargin at screen 0.985
set title "(c) Substrates in C"
set xlabel "calls of the function [million]" offset 0, 0.4
set ylabel "run time [ms]" offset 1.2, 0
set xrange [0:*]
set key at screen 0.85, screen 0.53 center center vertical maxrows 3 Left reverse samplen 1.8 spacing 1.05 noenhanced font ",9.5"
names = taker_names
panel_number = 3; key_lines = 3
if (narrow) { @column }
@figure

# (d) all of them, by event
set lmargin at screen 0.185
set rmargin at screen 0.6
set tmargin at screen 0.44
set bmargin at screen 0.125
set title "(d) Cost that a plugin adds to an event, in C and in Lua"
set logscale x
set xtics ("1 ns" 1, "10 ns" 10, "100 ns" 100, "1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6)
set xlabel "cost of an event; open mark: the part that delays the program" offset 0, 0.4
set ylabel ""
set xrange [0.7:*]
rows = 0
array title_in[1000]
shorter(s) = narrow && strlen(s) > 20 ? s[1:19] . "…" : s
put(name, title) = (rows = rows + 1, title_in[rows] = shorter(plain(title)), 0)
shown(name, group) = group ne "values" && name ne "none" && name ne "metrics_0"
stats "fits.dat" using (shown(strcol(1), strcol(2)) ? put(strcol(1), strcol(15)) : 0) nooutput
set ytics () font ",10" noenhanced
do for [i = 1:rows] { set ytics add (tic(title_in[i]) i) }
set yrange [rows + 0.6 : 0.4]
set grid xtics ytics
unset key
row = 0
next(i) = (row = row + 1, row)
base = 0
stats "fits.dat" using (strcol(1) eq "none" ? (base = $14, 0) : 0) nooutput
kind_rgb(group, name) = group eq "lua" || name[1:4] eq "lua_" ? 0xD55E00 : 0x005A94
panel_number = 4; key_lines = 0; column_left = 125.0
if (narrow) { @column; unset key; set ytics font ",9.4"; set xtics font ",9.4"; set xlabel "cost of an event (open: delay)" }
if (rows > 0) {
  plot "fits.dat" using (shown(strcol(1), strcol(2)) ? $11 / 2 : NaN):(shown(strcol(1), strcol(2)) ? next(0) : NaN): \
      ($12 == $12 ? $12 / 2 : $11 / 2):($13 == $13 ? $13 / 2 : $11 / 2):(kind_rgb(strcol(2), strcol(1))) \
      with xerrorbars linecolor rgb variable pointtype 7 pointsize 1.1 linewidth 1.4, \
    row = 0, "fits.dat" using (shown(strcol(1), strcol(2)) ? ($13 == $13 ? $13 : $11) / 2 : NaN): \
      (shown(strcol(1), strcol(2)) ? next(0) : NaN):(sprintf($11 / 2 < 9.995 ? "%.1f" : "%.0f", $11 / 2)) with labels left offset 0.8, 0 font text_font(9), \
    row = 0, "fits.dat" using (shown(strcol(1), strcol(2)) && $14 < 0.99 * $4 ? ($14 - base) / 2 : NaN): \
      (shown(strcol(1), strcol(2)) ? next(0) : NaN) with points linecolor rgb col_vermillion pointtype 6 pointsize 1.1, \
    row = 0, "fits.dat" using (shown(strcol(1), strcol(2)) ? 0.8 : NaN):(shown(strcol(1), strcol(2)) ? next(0) : NaN): \
      ($11 / 2 > 0.7 ? "" : "not more, within the noise") with labels left font text_font(9) textcolor rgb col_grey
}
unset logscale
set xtics autofreq font ",10"
set ytics autofreq font ",10"
set yrange [0:*]

# (e) values that come at the end
set lmargin at screen 0.72
set rmargin at screen 0.985
set title "(e) Collecting asynchronous values"
set xlabel "values [million]" offset 0, 0.4
set ylabel "time to collect them [ms]" offset 1.2, 0
set xrange [0:*]
set key at screen 0.85, screen 0.043 center center vertical maxrows 2 Left reverse samplen 1.8 spacing 1.05 noenhanced font ",9.5"
rgb(i) = word("0xD55E00 0x005A94", i) + 0
names = value_names
# A curve where it explains more than a line does.
array e_line[2] = [0, 0]
array e_curve[2] = [-1, -1]
array e_factor[2] = [0, 0]
array e_power[2] = [1, 1]
array e_slope[2] = [0, 0]
array e_zero[2] = [0, 0]
array e_last[2] = [0, 0]
do for [i = 1:2] {
  stats "fits.dat" using (of(word(names, i)) ? (e_slope[i] = $4, e_zero[i] = $7, e_line[i] = $8, e_last[i] = $9, 0) : 0) nooutput
  stats "fits.dat" using (of(word(names, i)) ? (e_factor[i] = $16, e_power[i] = $17, e_curve[i] = $18, 0) : 0) nooutput
}
at_values(i, v) = v > e_last[i] ? NaN : e_curve[i] > e_line[i] ? e_factor[i] * v ** e_power[i] : e_zero[i] + 1e-6 * e_slope[i] * v
e_title(i) = !there(word(names, i)) ? word(names, i) . " - not measured" : title_of(word(names, i)) \
  . (e_curve[i] > e_line[i] ? sprintf(", ~ n^%.2f, R² %.3f", e_power[i], e_curve[i]) : sprintf(", line, R² %.3f", e_line[i]))
panel_number = 5; key_lines = 2; column_left = 68.0
if (narrow) { @column }
most_values = e_last[1] > e_last[2] ? e_last[1] : e_last[2]
plot for [i = 1:2] "data.dat" using (is(word(names, i)) ? 1e-6 * column(c_count) : NaN):(column(c_median)) \
       with points linecolor rgb rgb(i) pointtype point(i) pointsize 1 notitle, \
     for [i = 1:2] [v = -1e-6 * most_values / 98:1e-6 * most_values] '+' using 1:(at_values(i, 1e6 * $1)) with lines linecolor rgb rgb(i) linewidth 1.4 notitle, \
     for [i = 1:2] keyentry with linespoints linecolor rgb rgb(i) pointtype point(i) linewidth 1.4 title e_title(i)
unset multiplot
