# SPDX-License-Identifier: BSD-3-Clause
# plots/timeline.gp - when each thread was in which section, inner ones above outer ones; drawn by
# `pmlua report --timeline FILE` and `pmlua trace --plot timeline`.
#
# timeline.dat: from, to [s], lane, depth, colour. run.gp says lanes, lane_name, depths, colours, colour_name, began, ended,
# time_label, timeline_note.
load "run.gp"
lane_height = depths > 2 ? 18 * depths : 40
plot_width = 1080
# The key has as many columns as its longest name allows, and the picture room for all its rows.
longest_name = 0
do for [i = 1:colours] { if (strlen(colour_name[i]) > longest_name) { longest_name = strlen(colour_name[i]) } }
key_columns = int((plot_width - 20) / (62 + 9 * longest_name))
key_rows = key_columns > 1 ? (colours + key_columns - 1) / key_columns : colours
key_more = key_rows > 2 ? 20 * (key_rows - 2) : 0
plot_height = 190 + key_more + lane_height * lanes
load "theme.gp"

if (!exists("began")) began = 0
if (!exists("time_label")) time_label = "time since the first section"
unit = ended < 1e-6 ? 1e9 : ended < 1e-3 ? 1e6 : ended < 1 ? 1e3 : 1
unit_name = unit == 1e9 ? "ns" : unit == 1e6 ? "µs" : unit == 1e3 ? "ms" : "s"

set title run_name offset 0, 0.5
if (timeline_note ne "") set label 1 timeline_note at graph 0, screen 1 - 52.0 / plot_height left noenhanced font ",9" textcolor rgb col_grey
set xlabel time_label . " [" . unit_name . "]"
set xrange [unit * began : unit * ended]
set yrange [lanes + 0.5 : 0.5]
set ytics scale 0 () noenhanced
do for [i = 1:lanes] { set ytics add (tic(lane_name[i]) i) }
set grid noytics front
set bmargin at screen (122.0 + key_more) / plot_height
set tmargin at screen 1 - 62.0 / plot_height
set key at screen 0.5, screen (46.0 + 0.5 * key_more) / plot_height center center horizontal noenhanced width 1
if (key_rows <= 2) { set key maxrows 2 }
low(lane, depth) = lane + 0.42 - 0.84 * depth / depths
high(lane, depth) = lane + 0.42 - 0.84 * (depth + 1) / depths

plot "timeline.dat" using (unit * $1):3:(unit * $1):(unit * $2):(low($3, $4)):(high($3, $4)):(int($5)) with boxxyerror \
       linecolor variable linewidth 0.3 fillstyle solid 0.8 noborder notitle, \
     for [i = 1:colours] NaN with boxes linetype i fillstyle solid 0.8 noborder title colour_name[i]
