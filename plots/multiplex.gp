# SPDX-License-Identifier: BSD-3-Clause
# plots/multiplex.gp - error of scaled counts by the number of events, a line for each length of the phases.
#
# Reads data.dat.

plot_width = 1000
plot_height = 580
load "theme.gp"

phases = ""; numbers = ""
once(list, name) = strstrt(list . " ", " " . name . " ") ? list : list . " " . name
measured = 0; fewest = 1e9; most = 1
note(e) = (e < fewest ? (fewest = e) : 0, e > most ? (most = e) : 0, 0)
stats "data.dat" using (phases = once(phases, strcol(c_phase)), numbers = once(numbers, strcol(c_events)), measured = measured + column(c_samples), note(column(c_events)), 0) nooutput
simulated = strstrt(run_command, "--model") > 0
if (fewest > most) { fewest = 1 }

set label 1 headed(1, simulated ? "Error of scaled counts: a simulation" : "Error of scaled counts") at screen 0.012, 0.955 left font ",16" noenhanced
set label 2 headed(2, "bars: quartiles of the error; a line for each length of the phases in which a program counts much and little") \
  at screen 0.012, 0.905 left font text_font(9) noenhanced textcolor rgb col_grey
set tmargin at screen 0.85
set bmargin at screen 0.15
set lmargin at screen 0.085
set rmargin at screen 0.83
set logscale x 2
set xrange [fewest / 1.25 : most * 1.25]
set xtics ()
do for [number in numbers] { set xtics add (number number + 0) }
set xlabel "events at the same time"
set ylabel "error of a scaled count [%]"
set key at screen 0.985, screen 0.85 right top title "phase" left
key_lines = words(phases) + 1; key_total = key_lines
if (narrow) { @column_head; @column }
set arrow from graph 0, first 0 to graph 1, first 0 nohead linecolor rgb col_grey dashtype 3
length_text(us) = us < 1000 ? sprintf("%g µs", us) : sprintf("%g ms", us / 1000.0)
is(phase) = strcol(c_phase) eq phase && column(c_samples) > 0
if (measured > 0) {
  plot for [i = 1:words(phases)] "data.dat" using (column(c_events) * 1.04 ** (i - 3)):(is(word(phases, i)) ? column(c_median) : NaN): \
    (column(c_q1)):(column(c_q3)) with yerrorlines linetype i title length_text(word(phases, i) + 0)
} else {
  set label 3 "not measured: see data.dat" at graph 0.5, graph 0.5 center textcolor rgb col_grey
  plot NaN notitle
}
