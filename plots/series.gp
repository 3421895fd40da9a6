# SPDX-License-Identifier: BSD-3-Clause
# plots/series.gp - series of a running application, drawn by `pmlua query --plot FILE`: a panel for each unit or meaning.
#
# series.dat has a block of x and y for each series, panel by panel; run.gp has their names in series_name, and for each panel
# panel_first and panel_last (of its series), panel_x and panel_y (the labels), panel_log, and its range panel_low, panel_high.
load "theme.gp"

set key outside top center horizontal noenhanced
set multiplot layout panel_n, 1 title run_name noenhanced
do for [p = 1:panel_n] {
  if (p > 1) { @caption_drawn }
  set xlabel panel_x[p]
  set ylabel panel_y[p] noenhanced
  if (panel_log[p]) { set logscale y; set format y "10^{%L}" } else { unset logscale y; set format y "% h" }
  set yrange [panel_low[p]:panel_high[p]]
  plot for [i = panel_first[p]:panel_last[p]] "series.dat" index i - 1 using 1:2 with lines \
    linetype i - panel_first[p] + 1 title series_name[i]
}
unset multiplot
