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
set label 1 headed(1, (simulated ? "Misses of a load in simulated caches, by the size of the working set" : \
  "Latency of a load, by the size of the working set")) at screen 0.012, 1 - 24.0 / plot_height left font ",16" noenhanced
set label 2 headed(2, "each load has the address of the next; dashed: where the curve leaves a plateau; grey: sizes of caches, by " . \
  (simulated ? "the model" : "the kernel")) at screen 0.012, 1 - 48.0 / plot_height left font text_font(9) noenhanced textcolor rgb col_grey
# Both axes in pixels, to place the knees' labels.
low_x = smallest / 1.3; high_x = largest * 1.3
low_y = simulated ? -0.15 : 0.5; high_y = simulated ? 1.25 : 10
higher(v) = v > high_y ? (high_y = 10 ** ceil(log10(v)), 0) : v > 0 && v < low_y ? (low_y = v / 1.3, 0) : 0
if (!simulated) { stats "data.dat" using (column(c_samples) > 0 ? (higher(column(c_q1)), higher(column(c_q3)), 0) : 0) nooutput }
if (simulated) { set logscale x } else { set logscale xy }
set xrange [low_x : high_x]
set yrange [low_y : high_y]
left = narrow ? column_left / plot_width : 0.065; right = narrow ? 1 - 22.0 / plot_width : 0.985
wide = (right - left) * plot_width
pixel_x(b) = left * plot_width + wide * log(b / low_x) / log(high_x / low_x)
at_x(pixel) = low_x * (high_x / low_x) ** ((pixel - left * plot_width) / wide)
pixel_y(v) = floor_y + tall * (simulated ? (v - low_y) / (high_y - low_y) : log(v / low_y) / log(high_y / low_y))
at_y(pixel) = simulated ? low_y + (high_y - low_y) * (pixel - floor_y) / tall : low_y * (high_y / low_y) ** ((pixel - floor_y) / tall)
set xtics ()
do for [k = 0:44] { if (k % (narrow ? 4 : 2) == 0) { set xtics add (size_text(2.0 ** k) 2.0 ** k) } }
set xlabel "working set" offset 0, 0.3
set ylabel simulated ? "misses of a load" : "latency" offset (narrow ? 0 : 1.5), 0
set micro # in utf8: µs, not us
if (!simulated) {
  set ytics ()
  do for [k = -1:9] { set ytics add (gprintf("%.0s %cs", 1e-9 * 10.0 ** k) 10.0 ** k) }
}
set lmargin at screen left
set rmargin at screen right
step = (1 - 108.0 / plot_height) / panels
has_knees = strstrt(run_files, " knees.dat ") > 0
knee_file = has_knees ? "knees.dat" : "data.dat"
# Left of the upper end of its dashed line, where its curve is lower.
knee_at(b, after) = (knee_text = size_text(b), knee_left = pixel_x(b) - 5 - text_wide(knee_text, 9), \
  knee_text = free_label(knee_left, pixel_y(after) - 4, knee_text, 9, 6), at_x(knee_left))
do for [panel = 1:panels] {
  stride = word(strides, panel)
  set tmargin at screen 1 - 100.0 / plot_height - (panel - 1) * step
  set bmargin at screen 1 - 100.0 / plot_height - panel * step + 104.0 / plot_height
  floor_y = plot_height - 100.0 - panel * step * plot_height + 104
  tall = step * plot_height - 104
  panel_number = panel; panel_count = panels; key_total = 2 * panels; key_lines = 2
  if (narrow) { @column; floor_y = panel_bottom; tall = panel_top - panel_bottom }
  if (narrow && panel == 1) { @column_head }
  boxes = 0
  set title sprintf("(%s) A slot every %s bytes", substr("abcdefgh", panel, panel), stride) font ",11.5"
  unset arrow
  if (has_caches) {
    do for [k = 1:(exists("tag_count") ? tag_count : 0)] {
      set arrow from tag_size[k], graph 0 to tag_size[k], graph 1 nohead linecolor rgb "#bbbbbb" linewidth 5 back
      set label 10 + k free_label(pixel_x(tag_size[k]) + 5, floor_y + 12, tag_name[k], 10, 1) at first at_x(pixel_x(tag_size[k]) + 5), \
        at_y(floor_y + 12) left font ",10" textcolor rgb col_grey
    }
  }
  if (!narrow) { set key at graph 1, graph 1.01 right bottom horizontal Left reverse samplen 1.6 font ",10" }
  plot for [i = 1:2] file using (x_of(stride, word(curves, i))):(y_of(stride, word(curves, i), c_median)): \
         (y_of(stride, word(curves, i), c_q1)):(y_of(stride, word(curves, i), c_q3)) with yerrorlines linetype i \
         title title_of(word(curves, i)), \
       for [i = 1:2] knee_file using \
         (has_knees && is_row(stride, word(curves, i)) ? sqrt($3 * $4) : NaN):5:(0):($6 - $5) \
         with vectors nohead linetype i dashtype 2 linewidth 1.6 notitle, \
       for [i = 1:2] knee_file using (has_knees && is_row(stride, word(curves, i)) ? knee_at(sqrt($3 * $4), $6) : NaN): \
         (has_knees ? at_y(free_label_y) : NaN):(knee_text) with labels left font text_font(9) textcolor linetype i notitle
  unset label 1
  unset label 2
  @caption_drawn
}
unset multiplot
