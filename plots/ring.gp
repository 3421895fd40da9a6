# SPDX-License-Identifier: BSD-3-Clause
# plots/ring.gp - MPI messages: time and bandwidth by size, and as matrices of all pairs of ranks.
#
# Reads data.dat, pairs.dat and job.dat.

plot_width = 1180
plot_height = 860
load "theme.gp"
column_left = 92.0 # for units beside numbers

# pairs.dat: bytes, from, to, time, bandwidth; job.dat: mpi, ranks, cpus, per_cpu
keep(m, r, c, p) = (job_mpi = m, ranks = r, cpus = c, per_cpu = p, 0)
stats "job.dat" using (keep(strcol(1), int($2), int($3), $4)) nooutput
is(between) = strcol(c_between) eq between && column(c_samples) > 0
cell(between, c) = is(between) ? column(c) : NaN
stats "data.dat" using (column(c_bytes)):(column(c_samples) > 0 ? column(c_q1) : NaN) name "from" nooutput
stats "data.dat" using (column(c_bytes)):(column(c_samples) > 0 ? column(c_q3) : NaN) name "to" nooutput
least = from_min_x; most = from_max_x
bandwidth_of(us) = column(c_samples) > 0 ? column(c_bytes) / us : NaN
stats "data.dat" using (bandwidth_of(column(c_q3))):(bandwidth_of(column(c_q1))) name "bandwidth" nooutput
array bottom[2] = [from_min_y, bandwidth_min_x]
array top[2] = [to_max_y, bandwidth_max_y]
measured = 0
stats "pairs.dat" using 1 name "size" nooutput
if (exists("size_records") && size_records > 0) { measured = 1 }
array shown[2] = [least, most]
array lowest[2] = [0, 0]
array highest[2] = [1, 1]
do for [panel = 1:2] {
  if (measured) {
    stats "pairs.dat" using ($1 == shown[panel] ? column(3 + panel) : NaN) name "value" nooutput
    lowest[panel] = value_min
    highest[panel] = value_max
  }
}
size_text(b) = b < 1024 ? sprintf("%d B", b) : b < 1048576 ? sprintf("%d KiB", b / 1024) : sprintf("%d MiB", b / 1048576)
shared = per_cpu > 1 ? sprintf("; %d ranks share %d cpu%s", ranks, cpus, cpus == 1 ? "" : "s") : ""

set multiplot
set label 1 headed(1, sprintf("Messages between %d ranks, %s%s", ranks, plain(job_mpi), shared)) at screen 0.012, 0.965 left \
  font ",16" noenhanced
set logscale xy
set xtics ()
do for [k = 0:30] { if (k % (narrow ? 6 : 3) == 0) { set xtics add (size_text(2.0 ** k) 2.0 ** k) } }
set xrange [least / 1.6 : most * 1.6]
set xlabel "size of a message" offset 0, 0.4
set tmargin at screen 0.845
set bmargin at screen 0.58
set key at screen 0.53, screen 0.905 center center horizontal Left reverse samplen 1.6 font ",10"

set micro # in utf8: µs, not us
array unit_of[2] = ["time of a message", "bandwidth"]
do for [panel = 1:2] {
  set lmargin at screen panel == 1 ? 0.075 : 0.585
  set rmargin at screen panel == 1 ? 0.475 : 0.985
  set title panel == 1 ? "(a) Time" : "(b) Bandwidth" font ",11.5"
  set ylabel unit_of[panel]
  si = panel == 1 ? 1e-6 : 1e6 # of µs and MB/s
  set format y panel == 1 ? "%.0s %cs" : "%.0s %cB/s"
  set yrange [si * bottom[panel] / 2 : si * top[panel] * 2]
  y(b, us) = si * (panel == 1 ? us : b / us)
  panel_number = panel; panel_count = 4; key_total = 3; key_lines = panel == 1 ? 3 : 0
  if (narrow) { @column_head; @column }
  plot "data.dat" using (column(c_bytes)):(y(column(c_bytes), cell("pairs", c_fastest))):(y(column(c_bytes), cell("pairs", c_slowest))) \
         with filledcurves linecolor rgb col_sky fillstyle transparent solid 0.35 noborder \
         title panel == 1 ? "pairs: fastest to slowest" : "", \
       "" using (column(c_bytes)):(y(column(c_bytes), cell("pairs", c_median))):(y(column(c_bytes), cell("pairs", c_q1))): \
         (y(column(c_bytes), cell("pairs", c_q3))) with yerrorlines linetype 1 title panel == 1 ? "pairs: to and fro, one at a time" : "", \
       "" using (column(c_bytes)):(y(column(c_bytes), cell("around", c_median))):(y(column(c_bytes), cell("around", c_q1))): \
         (y(column(c_bytes), cell("around", c_q3))) with yerrorlines linetype 2 title panel == 1 ? "around: all ranks at once" : ""
  unset label 1
  @caption_drawn
}

# The matrices: time of the smallest messages, bandwidth of the largest.
unset logscale xy
unset grid
set tmargin at screen 0.47
set bmargin at screen 0.08
set xrange [-0.5 : ranks - 0.5]
set yrange [ranks - 0.5 : -0.5]
step = ranks <= 16 ? 1 : 4
set xtics 0, step
set ytics 0, step
set xlabel "rank"
set ylabel "rank"
set format y "%g"
set size ratio -1
set style fill solid 1 noborder
unset key
set palette defined (0 "#f7fbff", 1 "#6baed6", 2 "#08306b")
# By what the values of a matrix are divided.
part(panel) = measured && highest[panel] >= 1e4 ? 1000.0 : 1
array title_of[2] = [sprintf("(c) Time of %s [%s]", size_text(least), part(1) > 1 ? "ms" : "µs"), \
  sprintf("(d) Bandwidth of %s [%s/s]", size_text(most), part(2) > 1 ? "GB" : "MB")]
do for [panel = 1:2] {
  set lmargin at screen panel == 1 ? 0.10 : 0.61
  set rmargin at screen panel == 1 ? 0.42 : 0.93
  set title title_of[panel] font ",11.5"
  if (measured) {
    set cbrange [(lowest[panel] < highest[panel] ? lowest[panel] : lowest[panel] / 2) / part(panel) : highest[panel] / part(panel)]
    v(x) = $1 == shown[panel] ? x : NaN
    panel_number = 2 + panel; key_lines = 0
    if (narrow) { @column; set rmargin at screen 0.8; unset key }
    plot "pairs.dat" using (v($2)):3:($2 - 0.5):($2 + 0.5):($3 - 0.5):($3 + 0.5):(column(3 + panel) / part(panel)) with boxxyerror fillcolor palette, \
      "" using (ranks <= 8 ? v($2) : NaN):3:(sprintf(column(3 + panel) / part(panel) < 1000 ? "%.3g" : "%.0f", column(3 + panel) / part(panel))): \
        (column(3 + panel) >= (lowest[panel] + highest[panel]) / 2 ? 0xffffff : 0x000000) with labels font text_font(9) textcolor rgb variable
  } else {
    set label 3 "not measured: see data.dat" at graph 0.5, graph 0.5 center textcolor rgb col_grey
    plot NaN notitle
    unset label 3
  }
}
unset multiplot
