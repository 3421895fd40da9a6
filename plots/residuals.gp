# SPDX-License-Identifier: BSD-3-Clause
# plots/residuals.gp - the residual of every iteration of each solver: with ILU(0) on the left, plain on the right, a row
# of two for each matrix; crosses: where the first part of a series says that it will converge.
#
# Reads events.dat, residuals.dat and prediction.dat.

load "run.gp" # the tables are read before theme.gp knows the height
plot_width = 1180

# events.dat: curve, matrix, solver, preconditioner, outcome, confirmed, numiter_I, SpmvCount_I, InitialResidual_D,
# FinalResidual_D, SolverRuntime_D ...
curves = 0
stats "events.dat" using (curves = $1 > curves ? $1 : curves, 0) nooutput
array matrix_of[curves]
array solver_of[curves]
array side_of[curves]
array outcome_of[curves]
array time_of[curves]
array first_of[curves]
array target_of[curves]
keep(i, m, s, p, o, t, f) = (matrix_of[i] = m, solver_of[i] = s, side_of[i] = p, outcome_of[i] = o, time_of[i] = t, \
  first_of[i] = f, 0)
stats "events.dat" using (keep(int($1), strcol(2), strcol(3), strcol(4), strcol(5), $11, $9)) nooutput
stats "prediction.dat" using (target_of[int($1)] = $11, 0) nooutput
array length_of[curves + 1]
stats "prediction.dat" using (length_of[int($1)] = int($8), 0) nooutput
matrices = ""
do for [i = 1:curves] {
  if (strstrt(matrices . " ", " " . matrix_of[i] . " ") == 0) { matrices = matrices . " " . matrix_of[i] }
}
rows = words(matrices)
plot_height = 120 + 350 * rows
load "theme.gp"

# A solver has one colour and dash in all panels: P before its name is the preconditioner.
names = "BiCG BiCGStab CG CGS GMRES IDR QMR TFQMR IterRef LOBPCG"
plain_name(s, side) = side eq "none" ? s : s[2:*]
place(s) = strstrt(" " . names . " ", " " . s . " ") == 0 ? 1 : words((" " . names)[1:strstrt(" " . names . " ", " " . s . " ") + strlen(s)])
style_of(i) = place(plain_name(solver_of[i], side_of[i]))
dash_of(i) = style_of(i) > 8 ? 2 : 1
seconds(t) = t < 1e-3 ? sprintf("%.0f µs", t * 1e6) : t < 1 ? sprintf("%.3g ms", t * 1e3) : sprintf("%.3g s", t)
why_of(i) = outcome_of[i] eq "converged" ? "" : outcome_of[i] eq "iterations" ? sprintf(", not converged in %d", length_of[i]) \
  : ", " . outcome_of[i]
key_of(i) = sprintf("%s  %s%s", solver_of[i], seconds(time_of[i]), why_of(i))
shown(i, m, side) = matrix_of[i] eq m && side_of[i] eq side

set label 1 headed(1, "Residual per iteration, from the recorder of the solver library") at screen 0.012, 1 - 24.0 / plot_height left \
  font ",16" noenhanced
set label 2 headed(2, "dotted: target; +: convergence predicted from the first part; series are cut at five times the longest that converged; times exclude the set-up of ILU(0)" . (narrow && rows > 1 ? "; only the first of " . rows . " matrices" : "")) \
  at screen 0.012, 1 - 48.0 / plot_height left font ",9" noenhanced textcolor rgb col_grey
top_edge = 1 - 100.0 / plot_height
bottom_edge = 76.0 / plot_height
panel = (top_edge - bottom_edge + 78.0 / plot_height) / rows
set multiplot
set logscale y
set format y "10^{%L}"
set grid nomytics
set ylabel offset 1, 0
array in_panel[2] = [0, 0]
do for [i = 1:curves] { if (matrix_of[i] eq word(matrices, 1)) { side = side_of[i] eq "ilu0" ? 1 : 2; in_panel[side] = in_panel[side] + 1 } }
panel_count = 2; key_total = in_panel[1] + in_panel[2]; column_left = 60.0
if (narrow) { rows = 1; @column_head }
do for [row = 1:rows] {
  m = word(matrices, row)
  set xrange [*:*]
  set yrange [*:*] # stats looks at the ranges
  # One range for both, so that left and right compare; a residual that explodes must not flatten the others.
  low = 1e300
  high = -1e300
  limit(i) = i < 1 || i > curves ? 0 : matrix_of[i] eq m
  stats "residuals.dat" using (limit(int($1)) && $3 > 0 ? (low = $3 < low ? $3 : low, high = $3 > high ? $3 : high, 0) : 0) nooutput
  first = 1
  target = NaN
  do for [i = 1:curves] {
    if (matrix_of[i] eq m) {
      first = first_of[i]
      if (target_of[i] > 0) { target = target_of[i] }
    }
  }
  if (high > 1e8 * first) { high = 1e8 * first }
  if (low < 1e-16 * first) { low = 1e-16 * first }
  set tmargin at screen top_edge - (row - 1) * panel
  set bmargin at screen top_edge - row * panel + 78.0 / plot_height
  do for [column = 1:2] {
    side = word("ilu0 none", column)
    set lmargin at screen column == 1 ? 0.065 : 0.535
    set rmargin at screen column == 1 ? 0.285 : 0.755
    set key at screen (column == 1 ? 0.292 : 0.762), screen top_edge - (row - 1) * panel left top vertical Left reverse \
      samplen 0.6 spacing 1.0 noenhanced font ",9"
    set title m . (column == 1 ? ", preconditioned with ILU(0)" : ", plain") font ",11" noenhanced
    set xlabel row == rows ? "iteration" : ""
    set ylabel column == 1 ? "residual" : ""
    set xrange [*:*]
    set yrange [*:*]
    panel_number = column; key_lines = in_panel[column]
    if (narrow) { @column; set ylabel "residual" offset 0, 0; set xlabel "iteration" }
    here = ""
    longest = 1
    do for [i = 1:curves] { if (shown(i, m, side)) { here = here . " " . i } }
    if (words(here) == 0) {
      set xrange [0:1]
      set yrange [low / 3 : high * 3]
      set label 3 "not solved this way: see the states in data.dat" at graph 0.5, graph 0.5 center textcolor rgb col_grey
      plot NaN notitle
      unset label 3
    } else {
      stats "prediction.dat" using (shown(int($1), m, side) && $8 > longest ? (longest = $8, 0) : 0) nooutput
      # A solver that never converges must not squeeze the others into a line: it is cut at five times the longest.
      arrived = 0
      stats "prediction.dat" using (shown(int($1), m, side) && outcome_of[int($1)] eq "converged" && $8 > arrived \
        ? (arrived = $8, 0) : 0) nooutput
      if (arrived > 0 && longest > 5 * arrived) { longest = 5 * arrived }
      set xrange [0:1.03 * longest]
      set yrange [low / 3 : high * 3]
      plot for [i in here] "residuals.dat" using 2:($1 == i && $3 > 0 ? $3 : NaN) \
             with linespoints linetype style_of(int(i)) dashtype dash_of(int(i)) linewidth 1.4 \
             pointinterval (longest > 12 ? int(longest / 6) : 2) pointsize 0.7 notitle, \
           for [i in here] "prediction.dat" using ($1 == i && $7 <= 1.03 * longest ? $7 : NaN):(target) \
             with points linetype style_of(int(i)) pointtype 1 pointsize 1.3 linewidth 2 notitle, \
           target with lines linetype 8 linewidth 0.7 dashtype 3 notitle, \
           for [i in here] keyentry with linespoints linetype style_of(int(i)) dashtype dash_of(int(i)) linewidth 2 pointsize 0.7 \
             title key_of(int(i))
    }
    unset label 1
    unset label 2
    @caption_drawn
  }
}
unset multiplot
