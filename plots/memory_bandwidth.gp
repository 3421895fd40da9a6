# SPDX-License-Identifier: BSD-3-Clause
# plots/memory_bandwidth.gp - bandwidth by the share of writes, a line for each number of threads.
#
# Reads data.dat.

plot_width = 960
plot_height = 560
load "theme.gp"

threads = ""
once(list, name) = strstrt(list . " ", " " . name . " ") ? list : list . " " . name
measured = 0
stats "data.dat" using (threads = once(threads, strcol(c_threads)), measured = measured + column(c_samples), 0) nooutput

set label 1 headed(1, "Bandwidth of memory, by what is read and written") at screen 0.012, 0.955 left font ",16" noenhanced
set label 2 headed(2, "bytes of loads and stores; solid: shortest pass of all threads, dashed: median with its quartiles") \
  at screen 0.012, 0.905 left font text_font(9) noenhanced textcolor rgb col_grey
set tmargin at screen 0.85
set bmargin at screen 0.155
set lmargin at screen 0.09
set rmargin at screen 0.83
set xrange [-5:105]
set yrange [0:*]
set offsets 0, 0, graph 0.05, 0
set xtics 0, 25, 100
set xlabel "share of the bytes that is written [%]"
set ylabel "bandwidth [GB/s]"
set key at screen 0.985, screen 0.85 right top title "threads" left
key_lines = words(threads) + 1; key_total = key_lines
if (narrow) { @column_head; @column }
# The bandwidth of a time: a cell's bytes are computed from its median.
of(t, c) = strcol(c_threads) eq t && column(c_samples) > 0 ? column(c_gbytes) * column(c_median) / column(c) : NaN
if (measured > 0) {
  plot for [i = 1:words(threads)] "data.dat" using (column(c_writes)):(of(word(threads, i), c_min)) with linespoints linetype i \
    title word(threads, i), \
    for [i = 1:words(threads)] "data.dat" using (column(c_writes) + 1.2 * (i - 1)):(of(word(threads, i), c_median)): \
    (of(word(threads, i), c_q3)):(of(word(threads, i), c_q1)) with yerrorlines linetype i dashtype 2 linewidth 1 pointsize 0.7 notitle
} else {
  set label 3 "not measured: see data.dat" at graph 0.5, graph 0.5 center textcolor rgb col_grey
  plot NaN notitle
}
