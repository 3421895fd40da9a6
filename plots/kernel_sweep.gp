# SPDX-License-Identifier: BSD-3-Clause
# plots/kernel_sweep.gp - rates of the kernels: a column for each build, for each precision a row of short loops and a row
# of long loops, in which dashed lines show where three vectors fill a cache; below, the counts of 1000 turns by each counter,
# beside the operations in the source.
#
# Reads data.dat and, for the lines, caches.dat; for the counts workload.dat.

# data.dat is walked once: which builds, precisions and kernels there are, the highest rate of each precision.
load "run.gp"
builds = ""
precisions = ""
kernels = ""
once(list, name) = strstrt(list . " ", " " . name . " ") ? list : list . " " . name
low_rate = 1e30
# Builds that this processor cannot run have no column.
stats "data.dat" using (column(c_samples) > 0 ? (builds = once(builds, strcol(c_build)), 0) : 0, precisions = once(precisions, strcol(c_precision)), \
  kernels = once(kernels, strcol(c_kernel)), 0) nooutput
if (builds eq "") { builds = " scalar" }
columns = words(builds)
rows = 2 * words(precisions)
# workload.dat: kernel, precision, build, user, system by the PMU, ..., 9 flops at source, 10 at final, ..., 13 bytes by
# hand, 14 at source, 15 at final.
has_counts = strstrt(run_files, " workload.dat ") > 0
if (has_counts) { stats "workload.dat" using (column(9) > 0 || column(5) > 0 ? (has_counts = 2, 0) : 0) nooutput }
has_counts = has_counts == 2
has_hardware = 0
if (has_counts) { stats "workload.dat" using (column(5) > 0 ? (has_hardware = 1, 0) : 0) nooutput }
count_height = has_counts ? 270 : 0
plot_width = 1180
plot_height = 110 + 285 * rows + count_height
load "theme.gp"

line_names = "L1 L2 L3 L4"
array limit[4] = [0, 0, 0, 0]
# A run that was killed has no caches.dat.
if (strstrt(run_files, " caches.dat ")) {
  stats "caches.dat" using (strstrt(line_names, strcol(1)) && column(2) > 0 \
    ? (limit[(strstrt(line_names, strcol(1)) + 2) / 3] = column(2) / column(3), 0) : 0) nooutput
}

is_cell(kernel, precision, build) = strcol(c_kernel) eq kernel && strcol(c_precision) eq precision && strcol(c_build) eq build
# If calling overlaps with the work, the rate after the subtraction is invalid.
sure(x) = strcol(c_subtraction) eq "ok"
rate(x) = sure(x) ? column(c_gflops) : NaN
gross(x) = column(c_flops) / column(c_median)
build_name(b) = b eq "scalar" ? "one element at a time" : b . "-bit vectors"

set label 1 headed(1, "Rates of basic arithmetic, per core") at screen 0.012, 1 - 22.0 / plot_height left font ",16" noenhanced
set label 2 headed(2, "a copy on every core at once; short loops: rates include the call; long loops: the call is subtracted; dashed: three arrays fill a cache") \
  at screen 0.012, 1 - 46.0 / plot_height left font ",9" noenhanced textcolor rgb col_grey
panel_count = rows + (has_counts ? 2 : 0); key_total = 2 + (has_counts ? 4 : 0); panel_number = 0; column_left = 66.0
if (narrow) { @column_head }
first_column = narrow ? columns : 1 # one column of a page has room for the widest vectors only
top_edge = 1 - 96.0 / plot_height
step = (top_edge - (24.0 + count_height) / plot_height) / rows
width = (0.985 - 0.06) / columns
# The axes end where the loops do, because --quick has fewer.
longest = 64
most_short = 8
stats "data.dat" using (column(c_samples) > 0 ? (column(c_n) > longest ? (longest = column(c_n)) : 0, \
  column(c_n) <= 50 && column(c_n) > most_short ? (most_short = column(c_n)) : 0, 0) : 0) nooutput
set multiplot
set ylabel offset 1, 0 font ",10"
set tics font ",9.5"
do for [row = 1:rows] {
  precision = word(precisions, (row + 1) / 2)
  short = row % 2 == 1
  set tmargin at screen top_edge - (row - 1) * step
  set bmargin at screen top_edge - row * step + 82.0 / plot_height
  highest = 0
  lowest = 1e30
  set xrange [*:*]
  set yrange [*:*]
  stats "data.dat" using (strcol(c_precision) eq precision && column(c_samples) > 0 && (short ? column(c_n) <= 50 : column(c_n) >= 64) \
    ? (short && gross(0) > highest ? (highest = gross(0)) : 0, !short && sure(0) && rate(0) > highest ? (highest = rate(0)) : 0, \
       !short && sure(0) && rate(0) < lowest ? (lowest = rate(0)) : 0, 0) : 0) nooutput
  if (highest == 0) { highest = 1 }
  if (lowest > highest) { lowest = highest / 10 }
  do for [column = first_column:columns] {
    build = word(builds, column)
    set lmargin at screen 0.065 + (column - 1) * width
    set rmargin at screen 0.065 + column * width - 0.05
    set title sprintf("%s precision, %s", precision, build_name(build)) font ",10.5" offset 0, -0.5
    set xlabel (short ? "iterations of the loop" : row == rows && !narrow ? "iterations of the loop (powers of two)" : "iterations of the loop") offset 0, 0.6 font ",10"
    set ylabel (column == first_column ? "GFLOPS per core" : "")
    if (row == 1 && column == first_column) {
      set key at screen 0.985, screen 1 - 14.0 / plot_height right top horizontal Left reverse samplen 1.6 maxrows 2 noenhanced font ",10"
    } else {
      unset key
    }
    panel_number = panel_number + 1; key_lines = row == 1 ? 2 : 0
    if (narrow) { @column; set xlabel offset 0, 0; set ylabel offset 2, 0; if (row > 1) { unset key } }
    unset arrow
    unset label 20
    unset label 21
    unset label 22
    unset label 23
    if (short) {
      unset logscale
      set format x "%g"
      set xrange [0:most_short + 1]
      set xtics 0, 8, 48
      set yrange [0:1.05 * highest]
      plot for [k = 1:words(kernels)] "data.dat" \
        using (column(c_n)):(is_cell(word(kernels, k), precision, build) && column(c_n) <= 50 ? gross(0) : NaN) \
        with linespoints linetype k linewidth 1.2 pointsize 0.35 title word(kernels, k)
    } else {
      set logscale xy
      set format x (narrow ? "%.0s%c" : "2^{%L}") # exponents are small
      set logscale x 2
      set xrange [40:longest * 1.5]
      set xtics 64, 8
      set yrange [lowest / 1.5 : highest * 2]
      do for [l = 1:4] {
        at = limit[l] / 3 / (precision eq "double" ? 8 : 4)
        if (limit[l] > 0 && at < longest * 1.5) { # beyond the axis it would be drawn into the next panel
          set arrow from at, graph 0 to at, graph 1 nohead linetype 8 linewidth 0.8 dashtype 2
          set label 19 + l word(line_names, l) at at, graph 0.95 right offset -0.3, 0 font text_font(8) textcolor rgb col_grey
        }
      }
      plot for [k = 1:words(kernels)] "data.dat" \
        using (column(c_n)):(is_cell(word(kernels, k), precision, build) && column(c_n) >= 64 && (int(column(c_n)) & (int(column(c_n)) - 1)) == 0 ? rate(0) : NaN) \
        with linespoints linetype k linewidth 1.2 pointsize 0.35 title word(kernels, k)
    }
    unset label 1
    unset label 2
    @caption_drawn
  }
}
if (has_counts) {
  # The first precision in the widest build: others are in workload.dat.
  counted_build = word(builds, columns)
  counted_precision = word(precisions, 1)
  unset logscale
  unset arrow
  do for [l = 20:23] { unset label l }
  set tmargin at screen (count_height - 42.0) / plot_height
  set bmargin at screen 62.0 / plot_height
  set style fill solid 0.75 noborder
  set boxwidth 0.22 absolute
  set xrange [-0.6:words(kernels) - 0.4]
  set xtics ()
  do for [k = 1:words(kernels)] { set xtics add (tic(word(kernels, k)) k - 1) }
  set format x "%s"
  unset xlabel
  unset mxtics
  number(name) = (found = NaN, sum [k = 1:words(kernels)] (word(kernels, k) eq name ? (found = k - 1, 0) : 0), found)
  here(x) = strcol(2) eq counted_precision && strcol(3) eq counted_build ? x : NaN
  array what[2] = ["operations [flops] of 1000 iterations", "bytes read and written in 1000 iterations"]
  do for [panel = 1:2] {
    set lmargin at screen panel == 1 ? 0.055 : 0.545
    set rmargin at screen panel == 1 ? 0.495 : 0.985
    set title narrow ? what[panel] : sprintf("%s, %s precision, %s", what[panel], counted_precision, build_name(counted_build)) font ",10.5" offset 0, -0.5
    unset ylabel
    set yrange [0:*]
    set format y "%.0s%c"
    set ytics autofreq
    if (panel == 1) {
      set key at screen 0.985, screen (count_height + 14.0) / plot_height right center horizontal Left reverse samplen 1.6 maxrows 1 \
        noenhanced font ",10"
    } else { unset key }
    panel_number = rows + panel; key_lines = panel == 1 ? 4 : 0
    if (narrow) { @column; if (panel == 1) { set key vertical maxrows 4 } else { unset key } }
    by_hand = panel == 1 ? 4 : 13
    at_source = panel == 1 ? 9 : 14
    at_final = panel == 1 ? 10 : 15
    plot "workload.dat" using (number(strcol(1)) - 0.33):(here(column(by_hand))) with boxes linecolor rgb "#c8c8c8" title "by hand, from the source", \
      "" using (number(strcol(1)) - 0.11):(here(column(at_source))) with boxes linecolor rgb col_blue title "compiler, at source", \
      "" using (number(strcol(1)) + 0.11):(here(column(at_final))) with boxes linecolor rgb col_green title "compiler, at final", \
      "" using (number(strcol(1)) + 0.33):(panel == 1 ? here(column(5)) : NaN) with boxes linecolor rgb col_vermillion \
        title (has_hardware ? "hardware" : "")
  }
}
unset multiplot
