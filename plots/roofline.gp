# SPDX-License-Identifier: BSD-3-Clause
# plots/roofline.gp - the envelope of measured peaks and bandwidths, a panel for each precision, and the kernels below it.
#
# Reads peaks.dat, roofs.dat and points.dat.

plot_width = 1180
plot_height = 640
load "theme.gp"

# peaks.dat: precision, build, gflops ...; roofs.dat: level, gbytes ...; points.dat: name, precision, build, level,
# intensity, gflops, roof, share, verdict, who counted.
levels = ""
array speed[8]
stats "roofs.dat" using (levels = levels . " " . strcol(1), speed[words(levels)] = column(2) > 0 ? column(2) : NaN, 0) nooutput
builds = ""
stats "peaks.dat" using (strstrt(builds . " ", " " . strcol(2) . " ") ? 0 : (builds = builds . " " . strcol(2), 0)) nooutput
kernels = "add mult fma divide sqrt mix"
array mark[6] = [5, 7, 9, 11, 13, 3]

# The fastest build of each kernel at each level; points.dat has the others.
# The first element of an array that is drawn may count as a header, so point i is drawn by element i + 1.
of(element) = element > 1 ? int(element) - 1 : 65
array point_x[65]
array point_y[65]
array point_precision[65]
array point_name[65]
array point_level[65]
array point_verdict[65]
points = 0
at(name, precision, level) = (k = 0, sum [i = 1:points] (point_name[i] eq name && point_precision[i] eq precision \
  && point_level[i] eq level && level ne "placed" ? (k = i, 0) : 0), k)
put(i, name, precision, level, x, y, v) = (point_name[i] = name, point_precision[i] = precision, point_level[i] = level, \
  point_x[i] = x, point_y[i] = y, point_verdict[i] = v, 0)
keep(name, precision, level, x, y, v) = (p = at(name, precision, level), \
  p > 0 ? (y > point_y[p] ? put(p, name, precision, level, x, y, v) : 0) \
        : points < 64 ? (points = points + 1, put(points, name, precision, level, x, y, v)) : 0)
stats "points.dat" using (keep(strcol(1), strcol(2), strcol(4), column(5), column(6), strcol(9))) nooutput

counted_by = "hand"
stats "points.dat" using (strcol(4) ne "placed" ? (counted_by = strcol(10), 0) : 0) nooutput
# The user's sections may be counted in another way: by hand, or at source.
placed_by = ""
both(a, b) = a eq "" || a eq b ? b : "counted as the table says"
stats "points.dat" using (strcol(4) eq "placed" ? (placed_by = both(placed_by, strcol(10)), 0) : 0) nooutput
placed = "star: a section of the user" . (placed_by eq "" ? "" : placed_by eq "hand" ? " (by hand)" : " (" . plain(placed_by) . ")")
counted_by = counted_by eq "hand" ? "by hand from the source" : "by the " . plain(counted_by)

lowest = 1e30
highest = 0
do for [i = 1:points] { if (point_y[i] < lowest) { lowest = point_y[i] } }
do for [i = 1:points] { if (point_y[i] > highest) { highest = point_y[i] } }
stats "peaks.dat" using (column(3) > highest ? (highest = column(3), 0) : 0) nooutput
from_x = 2.0 ** -6
to_x = 2.0 ** 5
do for [i = 1:points] { if (point_x[i] < from_x) { from_x = point_x[i] / 2 } }
do for [i = 1:points] { if (point_x[i] > to_x) { to_x = point_x[i] * 2 } }

least(a, b) = a < b ? a : b
set samples 400
set logscale xy
set logscale x 2
set xtics ("1/64" 1.0 / 64, "1/16" 1.0 / 16, "1/4" 0.25, "1" 1, "4" 4, "16" 16, "64" 64)
set tics font ",10"
set grid xtics ytics mytics
set xrange [from_x:to_x]
set yrange [lowest / 3 : highest * 3]
set multiplot
set label 1 headed(1, "Roofs of this machine, and the kernels under them") at screen 0.012, 0.966 left font ",16" noenhanced
set label 2 headed(2, "all cores at work; roofs: fastest batch, points: medians of the fastest build; colour: where the vectors lie; " . placed . ", red above every roof") \
  at screen 0.012, 0.928 left font ",9" noenhanced textcolor rgb col_grey
array panel_precision[2] = ["double", "single"]
set style textbox opaque noborder margins 0.6, 0.4 # labels lie over roofs
# Kernels above the roof of their level, by more than noise.
ringed = 0
peak_of(p) = p eq "double" ? double_peak : single_peak
double_peak = 0
single_peak = 0
stats "peaks.dat" using (strcol(1) eq "double" && column(3) > double_peak ? (double_peak = column(3), 0) : 0) nooutput
stats "peaks.dat" using (strcol(1) eq "single" && column(3) > single_peak ? (single_peak = column(3), 0) : 0) nooutput
speed_of(level) = sum [l = 1:words(levels)] (word(levels, l) eq level ? speed[l] : 0)
high(i) = i > points ? 0 : point_level[i] ne "placed" && speed_of(point_level[i]) > 0 \
  && point_y[i] > 1.05 * least(peak_of(point_precision[i]), point_x[i] * speed_of(point_level[i]))
do for [i = 1:points] { ringed = ringed + high(i) }
if (ringed > 0) {
  set label 3 headed(3, "ring: above the roof of its level, because a faster one holds part of its vectors, or the machine ran slower while the roof was measured") \
    at screen 0.012, 0.9 left font ",9" noenhanced textcolor rgb col_grey
}
panel_count = 2; key_total = words(levels) + words(kernels)
if (narrow) { @column_head }
do for [panel = 1:2] {
  precision = panel_precision[panel]
  set lmargin at screen panel == 1 ? 0.075 : 0.47
  set rmargin at screen panel == 1 ? 0.43 : 0.825
  set tmargin at screen 0.82
  set bmargin at screen 0.13
  set title precision . " precision" font ",12"
  set xlabel "intensity [flops per byte, counted " . counted_by . "]"
  set ylabel panel == 1 ? "GFLOPS per core" : ""
  if (panel == 2) { set key at screen 0.835, screen 0.82 left top vertical Left reverse samplen 1.8 spacing 1.15 noenhanced font ",10" } \
  else { unset key }
  panel_number = panel; key_lines = panel == 2 ? key_total : 0
  if (narrow) { @column; set ylabel "GFLOPS per core"; set xlabel "flops per byte" . (strlen(counted_by) < 28 ? ", counted " . counted_by : ""); if (panel == 1) { unset key } }
  tall = narrow ? panel_top - panel_bottom : 0.69 * plot_height
  peak = 0
  set xrange [*:*]
  set yrange [*:*]
  stats "peaks.dat" using (strcol(1) eq precision && column(3) > peak ? (peak = column(3), 0) : 0) nooutput
  set xrange [from_x:to_x]
  set yrange [lowest / 3 : highest * 3]
  # Peaks that are nearly the same share a label.
  boxes = 0
  said = ""
  do for [b = 1:words(builds)] {
    build = word(builds, b)
    height = 0
    set xrange [*:*]
    set yrange [*:*]
    stats "peaks.dat" using (strcol(1) eq precision && strcol(2) eq build && column(3) > 0 ? (height = column(3), 0) : 0) nooutput
    set xrange [from_x:to_x]
    set yrange [lowest / 3 : highest * 3]
    if (height > 0) {
      dash = height == peak ? 1 : 2 # in brackets it would be a pattern
      set arrow 10 + b from least(height / speed[1], to_x), height to to_x, height nohead linetype 8 linewidth (height == peak ? 1.8 : 0.8) \
        dashtype dash
      near = height > peak / 1.15 && height < peak
      peak_text = near ? "" : sprintf("%s: %.3g", build eq "scalar" ? "scalar" : build . " bits", height)
      set label 30 + b free_label(0, tall * log(3.0 * height / lowest) / log(9.0 * highest / lowest), peak_text, 11, 1) at to_x / 1.1, height right offset 0, 0.6 \
        font text_font(9) noenhanced front boxed
    }
  }
  placed(i) = i > points ? 0 : point_level[i] eq "placed" && point_precision[i] eq precision
  above(i) = i > points ? 0 : strstrt(point_verdict[i], "above") > 0
  do for [i = 1:points] {
    if (placed(i)) { set label 60 + i point_name[i] at point_x[i], point_y[i] left offset 0.8, 0.5 font text_font(9) noenhanced } \
    else { unset label 60 + i }
  }
  mine(i, kernel, level) = i > points ? 0 : point_name[i] eq kernel && point_level[i] eq level && point_precision[i] eq precision
  mine_x(i, k, l) = mine(i, word(kernels, k), word(levels, l)) ? point_x[i] : NaN
  placed_x(i) = placed(i) ? point_x[i] : NaN
  ring_x(i) = high(i) && point_precision[i] eq precision ? point_x[i] : NaN
  plot for [l = 1:words(levels)] least(peak, x * speed[l]) with lines linetype l linewidth 2 \
         title sprintf("%s: %.3g GB/s", word(levels, l), speed[l]), \
       for [l = 1:words(levels)] for [k = 1:words(kernels)] point_x using (mine_x(of($1), k, l)):(point_y[of($1)]) \
         with points linetype l pointtype mark[k] pointsize 0.9 notitle, \
       point_x using (placed_x(of($1))):(point_y[of($1)]):(above(of($1)) ? 0xD55E00 : 0) \
         with points linecolor rgb variable pointtype 3 pointsize 1.6 linewidth 2 notitle, \
       point_x using (ring_x(of($1))):(point_y[of($1)]) with points linecolor rgb col_grey pointtype 6 pointsize 1.9 \
         linewidth 1.2 notitle, \
       for [k = 1:words(kernels)] keyentry with points linecolor rgb col_grey pointtype mark[k] pointsize 0.9 title word(kernels, k)
  unset label 1
  unset label 2
  unset label 3
  @caption_drawn
}
unset multiplot
