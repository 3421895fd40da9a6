# SPDX-License-Identifier: BSD-3-Clause
# plots/task_lengths.gp - above: how many tasks of each length a contraction has, the FLOPs of such a task on the bar;
# below: how long these tasks take.
#
# Reads lengths.dat and events.dat.

plot_width = 1080
plot_height = 760
load "theme.gp"

# lengths.dat: bar, number, contraction, length, tasks, share, flops_min, flops_median, flops_max, time_min, time_q1,
# time_median, time_q3, time_max. Contractions stand apart by a gap.
gap = 0.7
x_of(bar, number) = bar + gap * (number - 1)
bars = 0
groups = 0
most = 1
longest = 0
typical = 0
shortest = 1e300
stats "lengths.dat" using (bars = $1 > bars ? $1 : bars, groups = $2 > groups ? $2 : groups, most = $5 > most ? $5 : most, \
  longest = $14 > longest ? $14 : longest, typical = $12 > typical ? $12 : typical, \
  shortest = $10 < shortest ? $10 : shortest, 0) nooutput
array first_bar[groups]
array last_bar[groups]
array name_of[groups]
array dgemms_of[groups]
array flops_of[groups]
do for [i = 1:groups] { first_bar[i] = 1e9; last_bar[i] = 0 }
note(n, bar, name) = (first_bar[n] = bar < first_bar[n] ? bar : first_bar[n], last_bar[n] = bar > last_bar[n] ? bar : last_bar[n], \
  name_of[n] = name, 0)
stats "lengths.dat" using (note(int($2), $1, strcol(3))) nooutput
# events.dat: number, contraction, ContractionID_I, DgemmCount_I, FlopCount_I ...
stats "events.dat" using (dgemms_of[int($1)] = $4, flops_of[int($1)] = $5, 0) nooutput
middle(i) = (x_of(first_bar[i], i) + x_of(last_bar[i], i)) / 2.0

# Operations with a prefix, three digits; a range has the prefix of its end.
power(v) = v < 1e3 ? 0 : v < 1e6 ? 1 : v < 1e9 ? 2 : v < 1e12 ? 3 : 4
prefix(p) = p == 0 ? "" : "kMGT"[p:p]
digits(v, p) = sprintf("%.3g", v / 1000.0 ** p)
flop(v) = digits(v, power(v)) . " " . prefix(power(v)) . "FLOP"
range(low, high) = low == high ? "" : "\n" . digits(low, power(high)) . " to " . digits(high, power(high))
crowded = narrow || bars > 14
number_size = narrow ? 9.4 : crowded ? 7 : 9
on_bar(low, median, high) = crowded ? digits(median, power(median)) . prefix(power(median)) : flop(median) . range(low, high)

set label 1 headed(1, "Tasks by their length, from the recorders of the contraction library") at screen 0.012, 1 - 24.0 / plot_height left \
  font ",16" noenhanced
set label 2 headed(2, "on the bars: " . (crowded ? "FLOPs of a task (median)" : "FLOPs of a task, median and range") . "; boxes: quartiles of its time, whiskers to the shortest and the longest") \
  at screen 0.012, 1 - 48.0 / plot_height left font ",9" noenhanced textcolor rgb col_grey
set multiplot
set lmargin at screen 0.085
set rmargin at screen 0.985
# A few bars are no wider than many.
spare = x_of(bars, groups) < 6 ? (6 - x_of(bars, groups)) / 2.0 : 0
set xrange [0.35 - spare : x_of(bars, groups) + 0.65 + spare]
set grid noxtics
unset key
set xtics scale 0 () # the bars bring their own

set tmargin at screen 1 - 74.0 / plot_height
set bmargin at screen 0.46
set yrange [0 : most * (narrow ? 1.4 : 1.24)]
panel_count = 2; key_total = 1; panel_number = 1; key_lines = 0
if (narrow) { @column_head; @column; set xtics font ",9.4" }
set ylabel "tasks" offset 0.5, 0
set boxwidth 0.72 absolute
set style fill solid 0.55 border
plot "lengths.dat" using (x_of($1, $2)):5:2:xtic(stringcolumn(4)) with boxes linecolor variable, \
     "" using (x_of($1, $2)):5:(on_bar($7, $8, $9)) with labels center offset 0, (narrow ? 1.6 : crowded ? 0.6 : 1.45) \
       font sprintf(",%g", number_size) noenhanced rotate by (narrow ? 90 : 0)
unset label 1
@caption_drawn
unset label 2

set tmargin at screen 0.41
set bmargin at screen 118.0 / plot_height
do for [i = 1:groups] {
  set label 100 + i name_of[i] at first middle(i), screen (narrow ? caption_height + 40 : 78.0) / plot_height center font text_font(narrow ? 9 : 11) noenhanced
  if (!narrow) { set label 200 + i sprintf("%d DGEMMs, %s", dgemms_of[i], flop(flops_of[i])) at first middle(i), screen 60.0 / plot_height center \
    font sprintf(",%d", groups > 4 ? 8 : 9) noenhanced textcolor rgb col_grey }
}
set label 301 "length of a task: DGEMMs one after the other" at graph 0.5, screen (narrow ? caption_height + 20 : 34.0) / plot_height center font text_font(narrow ? 9 : 12)
unit = typical < 1e-3 ? 1e6 : 1e3
set micro # in utf8: µs, not us
set ylabel "time of a task" offset 0.5, 0
set logscale y
set ytics ()
do for [p = -6:9] {
  set ytics add (gprintf("%.0s %cs", 10.0**p / unit) 10.0**p)
  if (longest < 1e3 * shortest) { set ytics add (gprintf("%.0s %cs", 3 * 10.0**p / unit) 3 * 10.0**p) }
}
set yrange [unit * shortest / 1.5 : unit * longest * 1.5]
set grid ytics nomytics
set boxwidth 0.45 absolute
panel_number = 2; key_lines = 0
if (narrow) { @column; unset key; set xtics font ",9.4" }
set bars 0.6
plot "lengths.dat" using (x_of($1, $2)):(unit * $11):(unit * $10):(unit * $14):(unit * $13):2:xtic(stringcolumn(4)) \
       with candlesticks linecolor variable whiskerbars, \
     "" using (x_of($1, $2) - 0.225):(unit * $12):(0.45):(0):2 with vectors nohead linecolor variable linewidth 3
unset multiplot
