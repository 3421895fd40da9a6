# SPDX-License-Identifier: BSD-3-Clause
# plots/bars.gp - a bar for each section or library function: its time, with its self time dark; drawn by `pmlua report` and
# `pmlua record` with --plot FILE.
#
# bars.dat, fields separated by tabs: number, time, self time, least and most time of a process [s], 1, or 2 for a section of
# communication, label, text after the bar. run.gp defines bars, longest_label, longest, the noun of the bars in `what` ("sections"), several,
# bars_note.
load "run.gp"
plot_height = 186 + 34 * bars
plot_width = 1080
load "theme.gp"

unit = longest < 1e-6 ? 1e9 : longest < 1e-3 ? 1e6 : longest < 1 ? 1e3 : 1
unit_name = unit == 1e9 ? "ns" : unit == 1e6 ? "µs" : unit == 1e3 ? "ms" : "s"

set datafile separator "\t"
others = 0
stats "bars.dat" using (others = others + (int($6) == 2), 0) nooutput
set datafile commentschars ""
set title run_name . (bars_note eq "" ? "" : " (" . bars_note . ")")
set xlabel "time [" . unit_name . "]"
# The text after the longest bar needs some 290 pixels of the width.
left = 28 + 9.3 * longest_label
set xrange [0 : unit * longest * (plot_width - left - 20) / (plot_width - left - 310)]
set yrange [bars + 0.6 : 0.4]
set ytics scale 0 noenhanced
set grid noytics
set lmargin at screen left / plot_width
set rmargin at screen 1 - 20.0 / plot_width
set bmargin at screen 128.0 / plot_height
set tmargin at screen 1 - 48.0 / plot_height
set key at screen 0.5, screen 44.0 / plot_height center center horizontal noenhanced width 1
half = 0.33

plot "bars.dat" using (0):1:(0):(unit * $3):($1 - half):($1 + half):(int($6)):ytic(stringcolumn(7)) \
       with boxxyerror linecolor variable fillstyle solid 0.75 notitle, \
     "" using (0):1:(unit * $3):(unit * $2):($1 - half):($1 + half):(int($6)) with boxxyerror linecolor variable \
       fillstyle solid 0.2 notitle, \
     "" using (several ? unit * $2 : NaN):1:(unit * $4):(unit * $5) with xerrorbars linecolor rgb col_black linewidth 1.2 \
       pointtype -2 notitle, \
     "" using (unit * ($5 > $2 ? $5 : $2)):1:(stringcolumn(8)) with labels left offset 0.8, 0 noenhanced font ",10" notitle, \
     NaN with boxes linetype 1 fillstyle solid 0.75 title what eq "sections" ? "calculation, exclusive" : "exclusive", \
     NaN with boxes linetype 1 fillstyle solid 0.2 title "in " . what . " inside", \
     (others > 0 ? NaN : 1/0) with boxes linetype 2 fillstyle solid 0.75 \
       title others == 0 ? "" : what eq "sections" ? "communication" : "MPI", \
     (several ? NaN : 1/0) with lines linecolor rgb col_black linewidth 1.2 title several ? "least to most of a process" : ""
