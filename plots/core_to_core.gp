# SPDX-License-Identifier: BSD-3-Clause
# plots/core_to_core.gp - time of a cache line between each two cpus: as a matrix, and all pairs in order with intervals.
#
# Reads matrix.dat and order.dat.

plot_width = 1180
plot_height = 560
load "theme.gp"

# matrix.dat: from, to, latency, low, high, column, row
cpus = 0; least = 1e30; most = 0
pairs = 0
note(ns, column) = (pairs = pairs + 1, ns < least ? (least = ns) : 0, ns > most ? (most = ns) : 0, column + 1 > cpus ? (cpus = column + 1) : 0, 0)
if (strstrt(run_files, " matrix.dat ")) { stats "matrix.dat" using (note($3, $6)) nooutput }
measured = pairs > 0
if (!measured) { cpus = 1; least = 1; most = 2 }

set multiplot
set label 1 headed(1, "A cache line from one cpu to another") at screen 0.012, 0.955 left font ",16" noenhanced
set tmargin at screen 0.83
set bmargin at screen 0.15
set title "(a) Latency, one way [ns]" font ",11.5"
set lmargin at screen 0.06
set rmargin at screen 0.44
unset grid
unset key
set xtics () noenhanced
set ytics () noenhanced
step = cpus <= 16 ? 1 : cpus <= 64 ? 4 : 16
set xlabel "cpu"
set ylabel "cpu"
set size ratio -1
set style fill solid 1 noborder
set palette defined (0 "#f7fbff", 1 "#6baed6", 2 "#08306b")
array cpu_name[cpus]
name_cpu(i, name) = (cpu_name[i] = name, 0)
if (measured) { stats "matrix.dat" using (name_cpu(int($6) + 1, strcol(1))) nooutput }
set xrange [-0.5 : cpus - 0.5]
set yrange [cpus - 0.5 : -0.5]
if (measured) {
  do for [i = 1:cpus] {
    if ((i - 1) % step == 0) {
      set xtics add (cpu_name[i] i - 1)
      set ytics add (cpu_name[i] i - 1)
    }
  }
  set cbrange [least < most ? least : least / 2 : most]
  set format cb "%g"
  panel_count = 2
  panel_number = 1; key_lines = 0
  if (narrow) { @column_head; @column; set rmargin at screen 0.78; unset key }
  plot "matrix.dat" using 6:7:($6 - 0.5):($6 + 0.5):($7 - 0.5):($7 + 0.5):3 with boxxyerror fillcolor palette, \
    "" using (cpus <= 12 ? $6 : NaN):7:(sprintf($3 < 1000 ? "%.3g" : "%.0f", $3)):($3 >= (least + most) / 2 ? 0xffffff : 0x000000) \
      with labels font text_font(9) textcolor rgb variable
} else {
  set label 3 "not measured: see data.dat" at graph 0.5, graph 0.5 center textcolor rgb col_grey
  plot NaN notitle
  unset label 3
}
unset label 1
@caption_drawn

# (b) every pair, the quartiles as a box where there are few of them
set size noratio
set lmargin at screen 0.56
set rmargin at screen 0.985
set title "(b) Pairs by latency: median, 95 % interval, quartiles" font ",11.5"
set grid ytics
set xrange [0.4 : (pairs > 0 ? pairs / 2 : 1) + 0.6]
set yrange [0:*]
set xtics () norotate
set ytics autofreq
set xlabel "pair of cpus"
set ylabel "latency, one way [ns]"
if (measured) {
  # order.dat: rank, pair, latency, low, high, q1, q3
  array pair_name[pairs / 2]
  name_pair(rank, name) = (pair_name[rank] = name, 0)
  stats "order.dat" using (name_pair(int($1), strcol(2))) nooutput
  if (pairs <= 32) { do for [i = 1:pairs / 2] { set xtics add (pair_name[i] i) } }
  panel_number = 2; key_lines = 0
  if (narrow) { @column; unset key }
  plot "order.dat" using 1:3:6:7 with yerrorbars linetype 6 pointtype 0 linewidth 6, \
    "" using 1:3:4:5 with yerrorbars linetype 1
} else {
  plot NaN notitle
}
unset multiplot
