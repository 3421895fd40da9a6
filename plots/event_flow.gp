# SPDX-License-Identifier: BSD-3-Clause
# plots/event_flow.gp - left: calls of a program, and what its event flow graph needs for them; right: time of the program
# in its calls, and of the program that was made of the graph.
#
# Reads data.dat; the graph itself is event_flow.svg, drawn by Graphviz.

plot_width = 1100
plot_height = 520
load "theme.gp"
column_left = 92.0 # for units beside numbers

is(program) = strcol(c_program) eq program && column(c_samples) > 0

set multiplot
set label 1 headed(1, "Loops of a program as labels of its event flow graph") at screen 0.012, 0.955 left font ",16" noenhanced
set logscale xy
# Ranges of the plotted values, because gnuplot would round them to decades.
steps_min = 1; steps_max = 1; calls_max = 1; paths_min = 1; least_min = 1; most_max = 1 # where nothing was measured
stats "data.dat" using (column(c_samples) > 0 ? column(c_steps) : NaN) name "steps" nooutput
stats "data.dat" using (is("original") ? 2 * column(c_calls) : NaN) name "calls" nooutput
stats "data.dat" using (is("original") ? column(c_paths) : NaN) name "paths" nooutput
stats "data.dat" using (column(c_samples) > 0 ? column(c_q1) : NaN) name "least" nooutput
stats "data.dat" using (column(c_samples) > 0 ? column(c_q3) : NaN) name "most" nooutput
set xrange [steps_min / 1.5 : steps_max * 1.5]
array steps_of[run_cells]
keep(i, steps) = (steps_of[i] = steps, 0)
stats "data.dat" using (keep(int(column(0)) + 1, column(c_steps))) nooutput
set xtics ()
do for [i = 1:run_cells] { set xtics add (sprintf("%d", steps_of[i]) steps_of[i]) }
set xlabel "steps of the solver"
set tmargin at screen 0.85
set bmargin at screen 0.26

set lmargin at screen 0.075
set rmargin at screen 0.46
set title "(a) Events, and the graph that describes them" font ",11.5"
set ylabel "number"
set format y "%.0s%c"
set yrange [paths_min / 2 : calls_max * 2]
set key at screen 0.2675, screen 0.14 center top horizontal maxrows 2 Left reverse samplen 1.6 noenhanced font ",10"
panel_number = 1; panel_count = 2; key_total = 6; key_lines = 4
if (narrow) { @column_head; @column }
plot "data.dat" using (is("original") ? column(c_steps) : NaN):(2 * column(c_calls)) with linespoints linetype 2 title "events of a trace", \
     "" using (is("original") ? column(c_steps) : NaN):(column(c_labels)) with linespoints linetype 1 title "labels of all edges", \
     "" using (is("original") ? column(c_steps) : NaN):(column(c_edges)) with linespoints linetype 3 title "edges", \
     "" using (is("original") ? column(c_steps) : NaN):(column(c_paths)) with linespoints linetype 4 title "nodes"
unset label 1
@caption_drawn

set lmargin at screen 0.575
set rmargin at screen 0.97
set title "(b) Time of a thread in its calls" font ",11.5"
set micro # in utf8: µs, not us
set format y "%.0s %cs"
set yrange [least_min / 2 : most_max * 2]
set ylabel "time"
set key at screen 0.7725, screen 0.14
panel_number = 2; key_lines = 2
if (narrow) { @column }
plot for [i = 1:2] "data.dat" using (is(word("original skeleton", i)) ? column(c_steps) : NaN):(column(c_median)):(column(c_q1)):(column(c_q3)) \
       with yerrorlines linetype i == 1 ? 2 : 1 title word("program skeleton", i)
unset multiplot
