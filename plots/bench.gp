# SPDX-License-Identifier: BSD-3-Clause
# plots/bench.gp - commands compared: every run as a point, the median with its 95 % interval; a panel for the time and for each
# event. A row for each command, with the verdict; over a parameter of three numbers or more, a line for each command.
#
# Reads data.dat, rounds.dat and, where something was compared, comparison.dat.

most_panels = 4
row_height = 46
load "run.gp"
set datafile missing "NaN"

# --- the parameter of numbers that has the most values ---

array value[run_cells]
array axis_value[run_cells]
locate(v, i) = i > n ? 0 : value[i] == v ? i : locate(v, i + 1)
collect(v) = locate(v, 1) > 0 ? 0 : (n = n + 1, value[n] = v, 0)
levels = 0
axis_column = 0
do for [f = 1:run_factors] {
  if (word(run_factor_kinds, f) eq "number") {
    n = 0
    stats "data.dat" using (collect(column(1 + f))) nooutput
    if (n > levels) {
      levels = n
      axis_column = 1 + f
      do for [i = 1:n] { axis_value[i] = value[i] }
    }
  }
}
over_parameter = levels > 2

plot_width = 1100
plot_height = over_parameter ? 470 : 150 + row_height * (run_cells < 3 ? 3 : run_cells)
load "theme.gp"

# --- panels: time, then events; user, system and maxrss come with every run and are not drawn ---

panels = 1
panel_name = "time"
panel_column = sprintf("%d", c_median)
panel_low = sprintf("%d", c_median_lo)
panel_round = "6"
panel_unit = "ns"
do for [i = 1:words(run_metrics)] {
  name = word(run_metrics, i)
  if (strstrt(" user system maxrss ", " " . name . " ") == 0 && panels < most_panels) {
    panels = panels + 1
    panel_name = panel_name . " " . name
    panel_column = panel_column . " " . word(run_metric_columns, i)
    panel_low = panel_low . sprintf(" %d", int(word(run_metric_columns, i)) + 1)
    panel_round = panel_round . " " . word(run_metric_rounds, i)
    panel_unit = panel_unit . " " . word(run_metric_units, i)
  }
}

# The ranges of the axes. A disturbed run must not squeeze all others: it is counted instead.
array low[panels]
array high[panels]
do for [p = 1:panels] {
  stats "rounds.dat" using (column(int(word(panel_round, p)))) name "all" nooutput
  low[p] = all_min
  high[p] = all_max
}
stats "data.dat" using (column(c_whisker_hi)) name "whisker" nooutput
high[1] = whisker_max
stats "rounds.dat" using ($6 > whisker_max ? 1 : 0) name "far" nooutput
beyond = int(far_sum)

array unit[panels]
array axis[panels]
do for [p = 1:panels] {
  unit[p] = 1.0
  name = word(panel_unit, p) eq "-" ? "" : word(panel_unit, p)
  of_unit = name eq "" ? "" : " of " . name
  if (word(panel_unit, p) eq "ns") {
    if (high[p] >= 1e3) { unit[p] = 1e-3; name = "µs" }
    if (high[p] >= 1e6) { unit[p] = 1e-6; name = "ms" }
    if (high[p] >= 1e9) { unit[p] = 1e-9; name = "s" }
  } else {
    if (high[p] >= 1e5) { unit[p] = 1e-3; name = "thousands" . of_unit }
    if (high[p] >= 1e7) { unit[p] = 1e-6; name = "millions" . of_unit }
    if (high[p] >= 1e10) { unit[p] = 1e-9; name = "billions" . of_unit }
  }
  axis[p] = (p == 1 ? "elapsed time" : word(panel_name, p)) . (name eq "" ? "" : " [" . name . "]")
  if (p == 1 && beyond > 0) { axis[1] = axis[1] . sprintf("; beyond the edge: %d", beyond) }
}

# --- names of cells ---

cut(s, n) = strlen(s) <= n ? s : s[1:n - 18] . "..." . s[strlen(s) - 14:strlen(s)]
factor_name(f) = f < run_factors ? word(run_factor_names, f)[1:strlen(word(run_factor_names, f)) - 1] : word(run_factor_names, f)
array differs[run_factors]
do for [f = 1:run_factors] {
  first = ""
  differs[f] = 0
  stats "data.dat" using (first eq "" ? (first = strcol(1 + f), 0) : strcol(1 + f) eq first ? 0 : (differs[f] = 1, 0)) nooutput
}
if (over_parameter) { differs[axis_column - 1] = 0 }
text_of(f) = f == 1 ? cut(plain(strcol(2)), 36) : factor_name(f) . "=" . plain(strcol(1 + f))
joined(f, s) = f > run_factors ? s : joined(f + 1, differs[f] ? (s eq "" ? text_of(f) : s . ", " . text_of(f)) : s)
lone = ""
stats "data.dat" using (lone = plain(strcol(2)), 0) nooutput
heading = cut(lone, 70)

if (over_parameter) {
  array line_name[run_cells]
  array line_of[run_cells]
  array cell_value[run_cells]
  lines = 0
  known(s, i) = i > lines ? 0 : line_name[i] eq s ? i : known(s, i + 1)
  join(cell, s) = (at = known(s, 1), at > 0 ? (line_of[cell] = at, 0) : \
    (lines = lines + 1, line_name[lines] = s, line_of[cell] = lines, 0))
  stats "data.dat" using (join(int($1), joined(1, ""))) nooutput
  stats "data.dat" using (cell_value[int($1)] = column(axis_column), 0) nooutput
  stats "data.dat" using (column(axis_column)) name "place" nooutput
  if (lines > 1) { heading = "Commands over " . factor_name(axis_column - 1) }
} else {
  array row_name[run_cells]
  array row_verdict[run_cells]
  label_width = 0
  verdict_width = 0
  reference = ""
  do for [i = 1:run_cells] { row_verdict[i] = "" }
  named(s) = s eq "" ? cut(plain(strcol(2)), 36) : s
  word_of(verdict) = strstrt(verdict, "cannot") == 1 ? "cannot tell" : plain(verdict)
  stats "data.dat" using (row_name[int($1)] = named(joined(1, "")), 0) nooutput
  if (strstrt(run_files, " comparison.dat ")) {
    stats "comparison.dat" using (strcol(2) eq "time" ? \
      (reference = plain(strcol(4)), row_verdict[int($1)] = word_of(strcol(10)), 0) : 0) nooutput
  }
  do for [i = 1:run_cells] {
    if (strlen(row_name[i]) > label_width) { label_width = strlen(row_name[i]) }
    if (strlen(row_verdict[i]) > verdict_width) { verdict_width = strlen(row_verdict[i]) }
  }
  if (differs[1]) { heading = "Commands" }
  if (reference ne "") { heading = "Compared with " . cut(reference, 70) }
}

# --- where panels are ---

gap = over_parameter ? 0.066 : 0.03 # over a parameter each panel has the labels of an axis at its left
first = over_parameter ? 0.078 : 0.03 + 0.0066 * label_width
verdict_room = over_parameter || verdict_width == 0 ? 0 : 0.02 + 0.0066 * verdict_width
room = 0.985 - verdict_room - first - gap * (panels - 1)
time_width = over_parameter || panels == 1 ? room / panels : room * (panels == 2 ? 0.6 : panels == 3 ? 0.44 : 0.37)
event_width = panels == 1 ? 0 : (room - time_width) / (panels - 1)
left(p) = p == 1 ? first : first + time_width + verdict_room + gap * (p - 1) + event_width * (p - 2)
right(p) = left(p) + (p == 1 ? time_width : event_width)
key_rows = over_parameter && lines > 1 ? (lines + 2) / 3 : 0

set multiplot
set label 1 heading at screen 0.012, screen 1 - 28.0 / plot_height left font ",14" noenhanced
set tics font ",10"
set tmargin at screen 1 - (62.0 + 20 * key_rows) / plot_height
set bmargin at screen 78.0 / plot_height

if (over_parameter) {
  set key at screen 0.012, screen 1 - 44.0 / plot_height left top horizontal Left reverse samplen 2 maxrows key_rows noenhanced font ",10"
  if (lines < 2) { unset key }
  set xrange [place_min - 0.06 * (place_max - place_min) : place_max + 0.06 * (place_max - place_min)]
  if (place_min > 0 && place_max >= 8 * place_min) {
    set logscale x 2
    set xrange [place_min / 1.2 : place_max * 1.2]
  }
  if (levels <= 9) {
    set xtics ()
    do for [i = 1:levels] { set xtics add (sprintf("%g", axis_value[i]) axis_value[i]) }
  }
  set xlabel factor_name(axis_column - 1) noenhanced offset 0, 0.2
} else {
  set yrange [run_cells + 0.5 : 0.5]
  set ytics () font ",10" noenhanced scale 0
  do for [i = 1:run_cells] { set ytics add (tic(row_name[i]) i) }
  set grid xtics noytics
  set border 1
  set key at screen 0.985, screen 1 - 22.0 / plot_height right horizontal Left reverse samplen 1.6 noenhanced font ",10"
  do for [i = 1:run_cells] {
    set label 100 + i row_verdict[i] at screen right(1) + 0.008, first i left noenhanced font ",10" textcolor rgb \
      (strstrt(row_verdict[i], "slower") ? col_vermillion : strstrt(row_verdict[i], "faster") ? col_green : col_grey)
  }
}

golden(n) = 0.618034 * n - floor(0.618034 * n)
shift(round) = 0.5 * (golden(round) - 0.5)

# 1, 2 or 5 times a power of ten, so that there are at most n tics.
power(x) = 10.0 ** floor(log10(x))
step(range, n) = range / n <= power(range / n) ? power(range / n) : range / n <= 2 * power(range / n) ? 2 * power(range / n) : \
  range / n <= 5 * power(range / n) ? 5 * power(range / n) : 10 * power(range / n)

do for [p = 1:panels] {
  c = int(word(panel_column, p))
  lo = int(word(panel_low, p))
  r = int(word(panel_round, p))
  set lmargin at screen left(p)
  set rmargin at screen right(p)
  span = high[p] > low[p] ? high[p] - low[p] : (high[p] != 0 ? 0.1 * abs(high[p]) : 1)
  from = low[p] >= 0 && (over_parameter || low[p] < 0.6 * high[p]) ? 0 : unit[p] * (low[p] - 0.08 * span)
  to = unit[p] * (high[p] + 0.08 * span)
  logarithmic = low[p] > 0 && high[p] > 30 * low[p]
  if (logarithmic) {
    from = unit[p] * low[p] / 1.3
    to = unit[p] * high[p] * 1.3
  }
  if (over_parameter) {
    unset logscale y
    if (logarithmic) { set logscale y }
    set yrange [from:to]
    set ylabel axis[p] noenhanced offset 0.8, 0
    plot for [g = 1:lines] "rounds.dat" using (line_of[int($1)] == g ? cell_value[int($1)] : NaN):(unit[p] * column(r)) \
           with points pointtype 7 pointsize 0.3 linecolor g notitle, \
         for [g = 1:lines] "data.dat" using (line_of[int($1)] == g ? column(axis_column) : NaN):(unit[p] * column(c)): \
           (unit[p] * column(lo)):(unit[p] * column(lo + 1)) \
           with yerrorbars linetype g pointsize 0.9 notitle, \
         for [g = 1:lines] "" using (line_of[int($1)] == g ? column(axis_column) : NaN):(unit[p] * column(c)) \
           with linespoints linetype g pointsize 0.9 title (p == 1 ? line_name[g] : ""), \
         "" using (column(axis_column)):(unit[p] * column(lo + 1)):(p == 1 ? short(remark(0)) : "") \
           with labels center offset 0, 0.8 noenhanced font ",8" textcolor rgb col_grey notitle
  } else {
    unset logscale x
    set xtics autofreq
    set xrange [from:to]
    if (logarithmic) { set logscale x } else { set xtics step(to - from, p == 1 ? 8 : 3) }
    set xlabel axis[p] noenhanced offset 0, 0.2
    plot "rounds.dat" using (unit[p] * column(r)):($1 + shift($2)) with points pointtype 7 pointsize 0.45 \
           linecolor rgb "#80005A94" title (p == 1 ? "a run" : ""), \
         "data.dat" using (unit[p] * column(c)):1:(unit[p] * column(lo)):(unit[p] * column(lo + 1)) \
           with xerrorbars linetype 2 linewidth 2.2 pointtype 5 pointsize 0.8 title (p == 1 ? "median, 95 % interval" : ""), \
         "" using (unit[p] * column(c)):1 with points linetype 2 pointtype 5 pointsize 0.8 notitle, \
         "" using (unit[p] * column(c)):($1 + 0.36):(p == 1 ? short(remark(0)) : "") with labels center noenhanced font ",8" \
           textcolor rgb col_grey notitle # points alone: where there is no interval
  }
  if (p == 1) {
    unset label
    unset key
    if (!over_parameter) {
      set ytics ()
      do for [i = 1:run_cells] { set ytics add ("" i) }
    }
  }
}
unset multiplot
