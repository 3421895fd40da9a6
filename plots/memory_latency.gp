# SPDX-License-Identifier: BSD-3-Clause
# plots/memory_latency.gp - latency of a load by the size of the working set: a panel for each stride, small and huge pages,
# the knees as dashed lines, the caches that the kernel describes as grey bands.
#
# Reads data.dat, knees.dat and caches.dat; for a simulation also misses.dat, whose misses are drawn instead of latencies.

# knees.dat: stride, pages, fits, exceeds, before, after; caches.dat: level, size, shared, source
load "run.gp"
strides = ""
once(list, name) = strstrt(list . " ", " " . name . " ") ? list : list . " " . name
smallest = 1e30; largest = 0
note(b) = (b < smallest ? (smallest = b) : 0, b > largest ? (largest = b) : 0, 0)
stats "data.dat" using (strides = once(strides, strcol(c_stride)), column(c_samples) > 0 ? note(column(c_bytes)) : 0) nooutput
panels = words(strides)
plot_width = 1180
plot_height = 120 + 405 * panels
load "theme.gp"
if (largest == 0) { smallest = 4096; largest = 8192 }

# The kernel's sizes: a line from bottom to top at each.
array tag_name[8]
array tag_size[8]
has_caches = strstrt(run_files, " caches.dat ") > 0
if (has_caches) {
  stats "caches.dat" using (column(2) >= smallest && column(2) <= largest ? \
    (tag_count = exists("tag_count") ? tag_count + 1 : 1, tag_name[tag_count] = strcol(1), tag_size[tag_count] = column(2), 0) : 0) nooutput
}

size_text(b) = b < 1024 ? sprintf("%.3g B", b) : b < 1048576 ? sprintf("%.3g KiB", b / 1024) \
  : b < 1073741824 ? sprintf("%.3g MiB", b / 1048576) : sprintf("%.3g GiB", b / 1073741824)
is(stride, pages) = strcol(c_stride) eq stride && strcol(c_pages) eq pages && column(c_samples) > 0
cell(stride, pages, c) = is(stride, pages) ? column(c) : NaN

# misses.dat: stride, cache, bytes, misses
simulated = strstrt(run_files, " misses.dat ") > 0
curves = simulated ? "D1 LL" : "small huge"
file = simulated ? "misses.dat" : "data.dat"
is_row(stride, name) = strcol(1) eq stride && strcol(2) eq name
x_of(stride, name) = simulated ? column(3) : column(c_bytes)
y_of(stride, name, c) = simulated ? (is_row(stride, name) ? column(4) : NaN) : cell(stride, name, c)
title_of(name) = simulated ? "simulated cache " . name : name . " pages: median and quartiles"

set multiplot
set label 1 (simulated ? "Misses of a load in simulated caches, by the size of the working set" : \
  "Latency of a load, by the size of the working set") at screen 0.012, 1 - 24.0 / plot_height left font ",16" noenhanced
set label 2 "each load has the address of the next; dashed: where the curve leaves a plateau; grey: sizes of caches, by " . \
  (simulated ? "the model" : "the kernel") at screen 0.012, 1 - 48.0 / plot_height left font ",9" noenhanced textcolor rgb col_grey
if (simulated) { set logscale x } else { set logscale xy }
set xrange [smallest / 1.3 : largest * 1.3]
if (simulated) { set yrange [-0.15:1.25] } else { set yrange [0.5:*] }
set xtics ()
do for [k = 0:44] { if (k % 2 == 0) { set xtics add (size_text(2.0 ** k) 2.0 ** k) } }
set xlabel "working set" offset 0, 0.3
set ylabel simulated ? "misses of a load" : "latency [ns]"
set format y "%g"
set lmargin at screen 0.065
set rmargin at screen 0.985
step = (1 - 108.0 / plot_height) / panels
has_knees = strstrt(run_files, " knees.dat ") > 0
knee_file = has_knees ? "knees.dat" : "data.dat"
do for [panel = 1:panels] {
  stride = word(strides, panel)
  set tmargin at screen 1 - 100.0 / plot_height - (panel - 1) * step
  set bmargin at screen 1 - 100.0 / plot_height - panel * step + 104.0 / plot_height
  set title sprintf("(%s) A slot every %s bytes", substr("abcdefgh", panel, panel), stride) font ",11.5"
  unset arrow
  if (has_caches) {
    do for [k = 1:(exists("tag_count") ? tag_count : 0)] {
      set arrow from tag_size[k], graph 0 to tag_size[k], graph 1 nohead linecolor rgb "#bbbbbb" linewidth 5 back
      set label 10 + k tag_name[k] at tag_size[k], graph 0.04 left offset 0.6, 0 font ",10" textcolor rgb col_grey
    }
  }
  set key at graph 0.02, graph 0.96 left top opaque vertical Left reverse samplen 1.6 font ",10"
  plot for [i = 1:2] file using (x_of(stride, word(curves, i))):(y_of(stride, word(curves, i), c_median)): \
         (y_of(stride, word(curves, i), c_q1)):(y_of(stride, word(curves, i), c_q3)) with yerrorlines linetype i \
         title title_of(word(curves, i)), \
       for [i = 1:2] knee_file using \
         (has_knees && is_row(stride, word(curves, i)) ? sqrt($3 * $4) : NaN):5:(0):($6 - $5) \
         with vectors nohead linetype i dashtype 2 linewidth 1.6 notitle, \
       for [i = 1:2] knee_file using \
         (has_knees && is_row(stride, word(curves, i)) ? sqrt($3 * $4) : NaN):5:(size_text(sqrt($3 * $4))) \
         with labels right offset -0.3, 0.2 + 0.9 * i font ",9" textcolor linetype i notitle
  unset label 1
  unset label 2
  unset label 9001
  unset label 9002
}
unset multiplot
