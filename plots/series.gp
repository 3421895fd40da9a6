# SPDX-License-Identifier: BSD-3-Clause
# plots/series.gp - series of a running application, drawn by `pmlua query --plot FILE`.
#
# series.dat has a block of x and y for each; run.gp says series_n, series_name, series_x (what x is) and series_log.
load "theme.gp"

set title run_name
set xlabel series_x
set ylabel "value"
if (series_log) { set logscale y; set format y "10^{%L}" }
if (!series_log) { set offsets 0, 0, graph 0.03, graph 0.03 }
set key outside top center horizontal noenhanced

plot for [i = 1:series_n] "series.dat" index i - 1 using 1:2 with lines linetype i title series_name[i]
