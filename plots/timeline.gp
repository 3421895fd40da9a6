# SPDX-License-Identifier: BSD-3-Clause
# plots/timeline.gp - when each thread was in which section, inner ones above outer ones; drawn by
# `pmlua report --timeline FILE`.
#
# timeline.dat: from, to [s], lane, depth, colour. run.gp says lanes, lane_name, depths, colours, colour_name, ended,
# timeline_note.
load "run.gp"
lane_height = depths > 2 ? 18 * depths : 40
plot_height = 190 + lane_height * lanes
plot_width = 1080
load "theme.gp"

unit = ended < 1e-6 ? 1e9 : ended < 1e-3 ? 1e6 : ended < 1 ? 1e3 : 1
unit_name = unit == 1e9 ? "ns" : unit == 1e6 ? "µs" : unit == 1e3 ? "ms" : "s"

set title run_name offset 0, 0.5
if (timeline_note ne "") set label 1 timeline_note at graph 0, screen 1 - 52.0 / plot_height left noenhanced font ",9" textcolor rgb col_grey
set xlabel "time since the first section [" . unit_name . "]"
set xrange [0 : unit * ended]
set yrange [lanes + 0.5 : 0.5]
set ytics scale 0 () noenhanced
do for [i = 1:lanes] { set ytics add (tic(lane_name[i]) i) }
set grid noytics front
set bmargin at screen 122.0 / plot_height
set tmargin at screen 1 - 62.0 / plot_height
set key at screen 0.5, screen 46.0 / plot_height center center horizontal maxrows 2 noenhanced width 1
low(lane, depth) = lane + 0.42 - 0.84 * depth / depths
high(lane, depth) = lane + 0.42 - 0.84 * (depth + 1) / depths

plot "timeline.dat" using (unit * $1):3:(unit * $1):(unit * $2):(low($3, $4)):(high($3, $4)):(int($5)) with boxxyerror \
       linecolor variable linewidth 0.3 fillstyle solid 0.8 noborder notitle, \
     for [i = 1:colours] NaN with boxes linetype i fillstyle solid 0.8 noborder title colour_name[i]
