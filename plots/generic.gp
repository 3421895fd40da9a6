# SPDX-License-Identifier: BSD-3-Clause
# plots/generic.gp - the figure of an experiment that brings none: a box per cell, its median with the 95 % interval.
load "theme.gp"

# The values of the factors, as one label.
cell_label(n) = n == 0 ? "" : (n == 1 ? "" : cell_label(n - 1) . " ") . strcol(1 + n)
label_of(dummy) = run_factors == 0 ? "all" : cell_label(run_factors)

stats "data.dat" using (column(c_whisker_lo)) name "low" nooutput
stats "data.dat" using (column(c_whisker_hi)) name "high" nooutput

set title run_name . (strlen(run_description) > 0 ? ": " . run_description : "")
if (run_cells <= 4) { set xlabel run_factor_names noenhanced }
# Beneath labels that are turned, where nothing else is.
if (run_cells > 4) { set label 9003 run_factor_names at screen 0.02, screen 0.02 left noenhanced }
# Times in the unit in which the largest is below a thousand.
unit = 1.0
unit_name = run_unit
if (run_unit eq "ns" && high_max >= 1e3) { unit = 1e-3; unit_name = "µs" }
if (run_unit eq "ns" && high_max >= 1e6) { unit = 1e-6; unit_name = "ms" }
if (run_unit eq "ns" && high_max >= 1e9) { unit = 1e-9; unit_name = "s" }
is_time = strstrt(" ns us µs ms s ", " " . run_unit . " ") > 0
set ylabel (is_time ? "time per sample [" : "sample [") . unit_name . "]" noenhanced
set xrange [0.4:run_cells + 0.6]
set xtics rotate by (run_cells > 4 ? -40 : 0) noenhanced
set grid noxtics
stats "data.dat" using (strlen(label_of(0))) name "label" nooutput
set bmargin at screen (run_cells > 4 ? 0.1 + 0.008 * (label_max > 50 ? 50 : label_max) : 0.15)
low_end = 0.02 * high_max
if (low_min >= 0) set yrange [0:*]
set offsets 0, 0, graph 0.05, 0
if (low_min > 0 && high_max > 30 * low_min) {
  set offsets 0, 0, 0, 0
  set logscale y
  set yrange [unit * low_min / 1.5 : unit * high_max * (high_max / low_min) ** 0.12] # above, the key
  low_end = low_min
}
set boxwidth 0.5 absolute
set key inside top left horizontal

plot "data.dat" using (column(0) + 1):(unit * column(c_q1)):(unit * column(c_whisker_lo)):(unit * column(c_whisker_hi)):(unit * column(c_q3)):xtic(tic(label_of(0))) \
     with candlesticks whiskerbars 0.5 linetype 1 title "quartiles, whiskers within 1.5 IQR", \
  "" using (column(0) + 1):(unit * column(c_median)):(unit * column(c_median)):(unit * column(c_median)):(unit * column(c_median)) \
     with candlesticks linetype 8 linewidth 2 notitle, \
  "" using (column(0) + 1):(unit * column(c_median)):(unit * column(c_median_lo)):(unit * column(c_median_hi)) \
     with yerrorbars linetype 2 pointsize 0.7 title "median, 95 % interval", \
  "" using (column(0) + 1):(unit * low_end):(strcol(c_status) eq "ok" ? "" : plain(strcol(c_status))) \
     with labels rotate by 90 left noenhanced font ",9" textcolor rgb col_grey notitle
