# SPDX-License-Identifier: BSD-3-Clause
# plots/choose_events.gp - how many runs count each event group, and all groups, on each PMU.
#
# Reads data.dat.

plot_width = 900
load "run.gp" # the rows are as high as their text
plot_height = 150 + (run_cells < 10 ? 190 : 19 * run_cells)
load "theme.gp"

groups = "FLOPS BANDWIDTH VECTOR CACHE CYCLE LOADSTORE USER all"
most = 8 # runs of the darkest colour
column_of(i) = value("c_" . word(groups, i))
digits(s) = s[1:2] eq "<=" ? digits(s[3:*]) : s[strlen(s):strlen(s)] eq "+" ? s[1:strlen(s) - 1] + 0 : s + 0
runs(s) = s eq "-" ? NaN : digits(s)
shown(s) = s eq "-" ? "" : s[1:2] eq "<=" ? (narrow ? "≤" : "≤ ") . s[3:*] : s

rows = 0
array row_name[1000]
put(pmu, threads) = (rows = rows + 1, row_name[rows] = pmu . (threads eq "any" ? "" : ", " . threads . (threads eq "1" ? " thread" : " threads")), 0)
stats "data.dat" using (put(strcol(c_PMU), strcol(c_threads))) nooutput

set label 1 headed(1, "Runs that count an event group") at screen 0.012, 1 - 24.0 / plot_height left font ",16" noenhanced
set label 2 headed(2, "≤: not proved to be the fewest; +: a metric of the group needs events of several runs") \
  at screen 0.012, 1 - 48.0 / plot_height left font ",10" textcolor rgb col_grey noenhanced
set lmargin at screen narrow ? 138.0 / plot_width : 0.235
set rmargin at screen 0.975
set tmargin at screen 1 - (narrow ? 88.0 + 16 * head_lines : 100.0) / plot_height
set bmargin at screen (narrow ? caption_height + 14 : 40.0) / plot_height
if (narrow) { @column_head }
set border 0
unset key
unset colorbox
unset grid
set palette defined (0 "#f2f7fb", 1 "#005A94")
set cbrange [1:most]
set xrange [0.5 : words(groups) + 0.5]
set yrange [rows + 0.5 : 0.5]
unset xtics
set x2range [0.5 : words(groups) + 0.5]
size_10 = text_font(narrow ? 9 : 10)
set x2tics scale 0 font size_10 noenhanced
if (narrow) { set x2tics rotate by 90 left }
do for [i = 1:words(groups)] { set x2tics add (word(groups, i) i) }
set ytics () scale 0 font size_10 noenhanced
do for [i = 1:rows] { set ytics add (tic(row_name[i]) i) }
dark(s) = runs(s) > 0.7 * most
plot for [i = 1:words(groups)] "data.dat" using (i):($0 + 1):(0.48):(0.46):(runs(strcol(column_of(i)))) with boxxyerror \
       fillcolor palette fillstyle solid 1 noborder, \
     for [i = 1:words(groups)] "" using (i):($0 + 1):(shown(strcol(column_of(i)))):(dark(strcol(column_of(i))) ? 0xffffff : 0x202020) \
       with labels font size_10 textcolor rgb variable noenhanced
