# SPDX-License-Identifier: BSD-3-Clause
# plots/plugins.gp - what plugins measured in their own time in a recorded process: a panel for each series, one below the
# other.
#
# series.dat has a block of seconds and values for each; run.gp says series_n and series_name.
shown = 0
plot_height = 600
load "run.gp"
most = 12
shown = series_n < most ? series_n : most
plot_width = 960
plot_height = 90 + 150 * shown
load "theme.gp"

top = 1 - 50.0 / plot_height
bottom = 60.0 / plot_height
set label 1 run_name . (series_n > most ? sprintf(": %d of %d series", most, series_n) : "") at screen 0.02, \
  screen 1 - 20.0 / plot_height left font ",14" noenhanced
set lmargin at screen 0.1
set rmargin at screen 0.97
set tics font ",9"
unset key
stats "series.dat" using 1 nooutput
set xrange [0 : STATS_max > 0 ? STATS_max : 1]
set offsets 0, 0, graph 0.06, graph 0.06
step = (top - bottom) / shown
nice(r) = r <= 0 ? 1 : (p = 10 ** floor(log10(r)), q = r / p, p * (q < 1.5 ? 1 : q < 3.5 ? 2 : q < 7.5 ? 5 : 10))
set format x ""
set multiplot
do for [i = 1:shown] {
  set tmargin at screen top - (i - 1) * step - 24.0 / plot_height
  set bmargin at screen top - i * step + 8.0 / plot_height
  stats "series.dat" index i - 1 using 2 name "S" nooutput
  set ytics nice((S_max - S_min) / 3.0)
  set title series_name[i] font ",10" offset 0, -0.7 noenhanced
  if (i == shown) { set format x "%g"; set xlabel "time since the first value [s]" offset 0, 0.4 }
  plot "series.dat" index i - 1 using 1:2 with linespoints linetype (i - 1) % 6 + 1 pointsize 0.4 notitle
  unset label 1
  @caption_drawn
}
unset multiplot
