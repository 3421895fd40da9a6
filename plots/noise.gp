# SPDX-License-Identifier: BSD-3-Clause
# plots/noise.gp - every detour by time and length, the time lost on each cpu, and the detected periods.
#
# Reads detours.dat, kernel.dat and periods.dat.

plot_width = 1180
plot_height = 800
load "theme.gp"

causes = "another%20thread interrupt%20or%20host interrupt moved page%20fault slept" # as data files have them
cause_type(i) = word("2 1 1 5 3 4", i)
has(name) = strstrt(run_files, " " . name . " ") > 0

# Moments are of several visits, one after the other; a long break between two of them is not drawn.
rows = 0; most = 0; least = 1e30; until = 1
note(at, length) = (rows = rows + 1, length > most ? (most = length) : 0, length < least ? (least = length) : 0, \
  at > until ? (until = at) : 0, 0)
if (has("detours.dat")) { stats "detours.dat" using (note($2, $3)) nooutput }
if (rows == 0) { least = 1; most = 10 }
seen = ""
if (rows > 0) { stats "detours.dat" using (seen = strstrt(seen . " ", " " . strcol(4) . " ") ? seen : seen . " " . strcol(4), 0) nooutput }

set multiplot
set label 1 headed(1, "What takes the processor away") at screen 0.012, 0.968 left font ",16" noenhanced
set tmargin at screen 0.885
set bmargin at screen 0.555
set lmargin at screen 0.085
set rmargin at screen 0.985
set title "(a) Detours, by the cause that the kernel counted" font ",11.5"
set logscale y
set micro # in utf8: µs, not us
set format y "%.0s %cs"
set xlabel "time [s]" offset 0, 0.4
set ylabel "length" offset 0.8, 0
set xrange [0:until / 1000 * 1.01]
set yrange [1e-6 * least / 1.6 : 1e-6 * most * 1.6]
set key at screen 0.985, screen 0.968 right center horizontal samplen 1
if (rows > 0) {
  panel_count = 3; key_total = 7; key_lines = 4
  if (narrow) { @column_head; @column }
  plot for [i = 1:words(causes)] "detours.dat" using ($2 / 1000):(strcol(4) eq word(causes, i) ? 1e-6 * $3 : NaN) with points \
    pointtype 7 pointsize 0.35 linecolor rgb word(sprintf("%s %s %s %s %s %s", col_vermillion, col_blue, col_blue, col_purple, col_green, col_orange), i) \
    title (strstrt(seen . " ", " " . word(causes, i) . " ") ? plain(word(causes, i)) : "")
} else {
  set label 3 "no detour" at graph 0.5, graph 0.5 center textcolor rgb col_grey
  plot NaN notitle
  unset label 3
}
unset label 1
@caption_drawn

# (b) kernel.dat: cpu, time, lost, waited, steal, detours, interrupts ...
set tmargin at screen 0.44
set bmargin at screen 0.15
set lmargin at screen 0.085
set rmargin at screen 0.46
set title "(b) Share of the time, by source" font ",11.5"
unset logscale
set format y "% h"
set xlabel "cpu" offset 0, 0.4
set ylabel "of the time [%]" offset 0, 0
set style data histograms
set style histogram clustered gap 1.5
set boxwidth 0.9 relative
set style fill solid 0.75 noborder
set xrange [-0.6:*]
set yrange [0:*]
set key at screen 0.085, screen 0.045 left center horizontal width -1
set xtics ()
if (has("kernel.dat")) {
  panel_number = 2; key_lines = 3
  if (narrow) { @column }
  plot "kernel.dat" using 3:xticlabels(1) linetype 1 title "detours", "" using 4 linetype 2 title "run queue, by the scheduler", \
    "" using 5 linetype 4 title "steal time, by the kernel"
} else {
  plot NaN notitle
}

# (c) periods.dat: cpu, length, period, times, regular
set lmargin at screen 0.55
set rmargin at screen 0.97
set title "(c) Periods of regular detours" font ",11.5"
set style data points
set logscale xy
set xtics autofreq
set format "%.0s %cs"
set xlabel "length" offset 0, 0.4
set ylabel "period"
first_cpu = -1; families = 0; short = 1e30; long = 0; shortest = 1e30; longest = 0
family(l, p, cpu) = (families = families + 1, first_cpu < 0 ? (first_cpu = cpu) : 0, l < short ? (short = l) : 0, l > long ? (long = l) : 0, p < shortest ? (shortest = p) : 0, \
  p > longest ? (longest = p) : 0, 0)
if (has("periods.dat")) { stats "periods.dat" using ($3 > 0 ? family($2, $3, $1) : NaN) nooutput }
if (families > 0) {
  # Whole powers of ten, so that each axis has two at least.
  set xrange [1e-6 * 10 ** floor(log10(short / 3)) : 1e-6 * 10 ** ceil(log10(long * 3))] # a label is in the middle
  set yrange [1e-6 * 10 ** floor(log10(shortest / 3)) : 1e-6 * 10 ** ceil(log10(longest * 3))]
  unset key
  pixel(v, low, high, size) = size * (log10(v) - floor(log10(low / 3))) / (ceil(log10(high * 3)) - floor(log10(low / 3)))
  said(l, p) = sprintf(l < 100 ? "%.2g µs every %.4g ms" : "%.0f µs every %.4g ms", l, p / 1000)
  # The middle of a label, so that it does not leave the picture.
  long_axis = narrow ? plot_width - 90 : 0.42 * plot_width
  between(low, v, high) = v < low ? low : v > high ? high : v
  middle(l, p) = between(0.5 * text_wide(said(l, p), 10) - 50, pixel(l, short, long, long_axis), long_axis + 15 - 0.5 * text_wide(said(l, p), 10))
  label_x(l, p) = 1e-6 * 10 ** (floor(log10(short / 3)) + middle(l, p) / long_axis * (ceil(log10(long * 3)) - floor(log10(short / 3))))
  period_label(l, p) = free_label(middle(l, p) - text_wide(said(l, p), 9) / 2, \
    pixel(p, shortest, longest, narrow ? panel_top - panel_bottom : 0.29 * plot_height), said(l, p), 9, 1)
  panel_number = 3; key_lines = 0
  if (narrow) { @column; unset key }
  plot "periods.dat" using (1e-6 * $2):(1e-6 * $3):(0.4 + 0.35 * log10($4)) with points pointtype 7 pointsize variable linetype 1, \
    "" using ($3 > 0 ? label_x($2, $3) : NaN):($1 == first_cpu ? 1e-6 * $3 : NaN):($1 == first_cpu && $3 > 0 ? period_label($2, $3) : "") \
      with labels offset 0, 1.1 font text_font(9)
} else {
  set xrange [1e-6:1e-5]
  set yrange [1e-6:1e-5]
  set label 3 "none" at graph 0.5, graph 0.5 center textcolor rgb col_grey
  plot NaN notitle
}
unset multiplot
