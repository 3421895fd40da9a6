# SPDX-License-Identifier: BSD-3-Clause
# plots/generic.gp - the figure of an experiment that brings none. Where a factor is a number of three levels or more: medians
# over it, to scale, with a line for each combination of the others. Otherwise a box per cell. Medians have 95 % intervals.
load "theme.gp"

stats "data.dat" using (column(c_whisker_lo)) name "low" nooutput
stats "data.dat" using (column(c_whisker_hi)) name "high" nooutput

# Times in the unit in which the largest is below a thousand.
unit = 1.0
unit_name = run_unit
if (run_unit eq "ns" && high_max >= 1e3) { unit = 1e-3; unit_name = "µs" }
if (run_unit eq "ns" && high_max >= 1e6) { unit = 1e-6; unit_name = "ms" }
if (run_unit eq "ns" && high_max >= 1e9) { unit = 1e-9; unit_name = "s" }
is_time = strstrt(" ns us µs ms s ", " " . run_unit . " ") > 0
spread = low_min > 0 && high_max > 30 * low_min
set title fit(run_name . (strlen(run_description) > 0 ? ": " . run_description : ""), 0.95)
# A narrow figure has its legend below, one entry a line.
foot(rows) = caption_height + 15.0 * rows
set ylabel (is_time ? "time per sample" : "sample") . (strlen(unit_name) > 0 ? " [" . unit_name . "]" : "") noenhanced

# The factor of the axis: the first of numbers with three levels or more.
axis = 0
count(word) = strstrt(found, " " . word . " ") ? 0 : (found = found . word . " ", levels_of = levels_of + 1, 0)
do for [i = 1:run_factors] {
  if (axis == 0 && word(run_factor_kinds, i) eq "number") {
    found = " "
    levels_of = 0
    stats "data.dat" using (count(strcol(1 + i))) nooutput
    if (levels_of >= 3) { axis = i; axis_levels = levels_of <= 10 ? found : "" }
  }
}
# The other factors, as the name of a line; factors with one level distinguish nothing.
array shown[run_factors + 1]
do for [i = 1:run_factors] {
  found = " "
  levels_of = 0
  stats "data.dat" using (count(strcol(1 + i))) nooutput
  shown[i] = i != axis && levels_of > 1
}
name_at(i) = word(run_factor_names, i)[1:strlen(word(run_factor_names, i)) - (i < run_factors)] # without its comma
line_label(n) = n == 0 ? "" : line_label(n - 1) . (shown[n] ? (strlen(line_label(n - 1)) ? ", " : "") . name_at(n) . " " . plain(strcol(1 + n)) : "")
line_name(dummy) = strlen(line_label(run_factors)) ? line_label(run_factors) : "median"
lines = 0
array line_of[7]
known_line(s) = (sum [i = 1:lines] (line_of[i] eq s ? 1 : 0))
note_line(s) = known_line(s) || lines > 6 ? 0 : (lines = lines + 1, line_of[lines] = s, 0)
if (axis > 0) { stats "data.dat" using (note_line(line_name(0))) nooutput }

if (axis > 0 && lines <= 6) {
  stats "data.dat" using (column(1 + axis)) name "x" nooutput
  set xlabel name_at(axis) . (word(run_factor_units, axis) eq "-" || word(run_factor_units, axis) eq name_at(axis) ? "" : " [" . word(run_factor_units, axis) . "]") noenhanced
  set bmargin at screen (narrow ? (foot(lines) + 58) / plot_height : 0.15)
  if (strlen(axis_levels)) { set xtics () }
  do for [level in axis_levels] { set xtics add (level level + 0) }
  if (x_min > 0 && x_max >= 16 * x_min) {
    set logscale x
    set xrange [x_min / 1.2 : x_max * 1.2]
  } else {
    set xrange [x_min - 0.04 * (x_max - x_min) : x_max + 0.04 * (x_max - x_min)]
  }
  if (spread) { set logscale y; set yrange [unit * low_min / 1.5 : unit * high_max * 1.5] } else { if (low_min >= 0) { set yrange [0:*] } }
  set offsets 0, 0, graph 0.08, 0
  if (lines > 1) { set key outside right top vertical Left reverse } else { set key tmargin right horizontal Left reverse }
  if (narrow) {
    set rmargin at screen 1 - 22.0 / plot_width
    set key at screen 0.5, screen 0.5 * (foot(lines) + caption_height) / plot_height center center vertical
  }
  of(i) = line_name(0) eq line_of[i] && column(c_samples) > 0 ? column(1 + axis) : NaN
  plot for [i = 1:lines] "data.dat" using (of(i)):(unit * column(c_median)) smooth unique with lines linetype i notitle, \
       for [i = 1:lines] "" using (of(i)):(unit * column(c_median)):(unit * column(c_median_lo)):(unit * column(c_median_hi)) \
         with yerrorbars linetype i pointsize 0.9 title line_of[i] . (lines == 1 ? ", 95 % interval" : ""), \
       "" using (column(1 + axis)):(unit * column(c_median_hi)):(short(remark(0))) with labels center offset 0, 0.8 noenhanced font text_font(8) \
         textcolor rgb col_grey notitle
} else {
  cell_label(n) = n == 0 ? "" : (n == 1 ? "" : cell_label(n - 1) . " ") . plain(strcol(1 + n))
  label_of(dummy) = run_factors == 0 ? "all" : cell_label(run_factors)
  if (run_cells <= 4) { set xlabel run_factor_names noenhanced }
  # Beneath labels that are turned, where nothing else is; above the line of the machine.
  if (run_cells > 4) { set label 9003 run_factor_names at screen 0.02, screen (narrow ? (foot(2) + 8) / plot_height : 0.045) left noenhanced }
  set xrange [0.4:run_cells + 0.6]
  upright = narrow && run_cells > 8
  set xtics rotate by (upright ? -90 : run_cells > 4 ? -40 : 0) noenhanced
  set grid noxtics
  stats "data.dat" using (strlen(label_of(0))) name "label" nooutput
  longest = label_max > 50 ? 50 : label_max
  set bmargin at screen (run_cells > 4 ? (narrow ? (foot(2) + 30 + (upright ? 8.1 : 5.2) * longest) / plot_height : 0.1 + 0.008 * longest) \
    : narrow ? (foot(2) + 58) / plot_height : 0.15)
  low_end = 0.02 * high_max
  if (low_min >= 0) { set yrange [0:*] }
  set offsets 0, 0, graph 0.05, 0
  if (spread) {
    set offsets 0, 0, 0, 0
    set logscale y
    set yrange [unit * low_min / 1.5 : unit * high_max * 1.5]
    low_end = low_min
  }
  set boxwidth 0.5 absolute
  set key tmargin right horizontal
  if (narrow) {
    set rmargin at screen 1 - (run_cells > 4 && !upright ? 12 + 5.8 * longest : 16.0) / plot_width
    set key at screen 0.5, screen 0.5 * (foot(2) + caption_height) / plot_height center center vertical
  }
  plot "data.dat" using (column(0) + 1):(unit * column(c_q1)):(unit * column(c_whisker_lo)):(unit * column(c_whisker_hi)):(unit * column(c_q3)):xtic(label_of(0)) \
       with candlesticks whiskerbars 0.5 linetype 1 title "quartiles, whiskers within 1.5 IQR", \
    "" using (column(0) + 1):(unit * column(c_median)):(unit * column(c_median)):(unit * column(c_median)):(unit * column(c_median)) \
       with candlesticks linetype 8 linewidth 2 notitle, \
    "" using (column(0) + 1):(unit * column(c_median)):(unit * column(c_median_lo)):(unit * column(c_median_hi)) \
       with yerrorbars linetype 2 pointsize 0.7 title "median, 95 % interval", \
    "" using (column(0) + 1.35):(unit * low_end):(remark(0)) \
       with labels rotate by 90 left noenhanced font text_font(9) textcolor rgb col_grey notitle
}
