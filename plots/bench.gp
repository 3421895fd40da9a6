# SPDX-License-Identifier: BSD-3-Clause
# plots/bench.gp - commands compared: every run as a point, the median with its 95 % interval, the verdict; a panel per event.
#
# Reads data.dat, rounds.dat and, where something was compared, comparison.dat.

most_panels = 4
row_height = 46
plot_width = 1100
load "run.gp"
plot_height = 150 + row_height * (run_cells < 3 ? 3 : run_cells)
load "theme.gp"

# --- rows: a cell each, named by its command and parameters ---

cut(s, n) = strlen(s) <= n ? s : s[1:n - 18] . "..." . s[strlen(s) - 14:strlen(s)]
array row_name[run_cells]
array row_verdict[run_cells]
do for [i = 1:run_cells] { row_verdict[i] = "" }
value_of(i) = word(run_factor_names, i)[1:strlen(word(run_factor_names, i)) - (i < run_factors ? 1 : 0)] . "=" . strcol(1 + i)
values(i) = i > run_factors ? "" : (i > 2 ? ", " : "") . value_of(i) . values(i + 1)
lone = "" # the command, if there is only one
commands = 0
stats "data.dat" using (strcol(2) eq lone ? 0 : (commands = commands + 1, lone = strcol(2), 0)) nooutput
name_of(dummy) = run_factors < 2 ? cut(plain(strcol(2)), 44) : commands == 1 ? cut(values(2), 44) : \
  cut(plain(strcol(2)), 28) . ": " . cut(values(2), 36)
stats "data.dat" using (row_name[int($1)] = name_of(0), 0) nooutput
reference = ""
word_of(verdict) = strstrt(verdict, "cannot") == 1 ? "cannot tell" : plain(verdict)
if (strstrt(run_files, " comparison.dat ")) {
  stats "comparison.dat" using (strcol(2) eq "time" ? (reference = plain(strcol(4)), row_verdict[int($1)] = word_of(strcol(10)), 0) : 0) nooutput
}

# --- panels: time, then events; user, system and maxrss come with every run and are not drawn ---

panels = 1
panel_name = "time"
panel_column = sprintf("%d", c_median)
panel_round = "6"
panel_unit = "ns"
do for [i = 1:words(run_metrics)] {
  name = word(run_metrics, i)
  if (strstrt(" user system maxrss ", " " . name . " ") == 0 && panels < most_panels) {
    panels = panels + 1
    panel_name = panel_name . " " . name
    panel_column = panel_column . " " . word(run_metric_columns, i)
    panel_round = panel_round . " " . word(run_metric_rounds, i)
    panel_unit = panel_unit . " " . word(run_metric_units, i)
  }
}

# What the axes must hold. A run that something disturbed must not squeeze all others: it is counted instead.
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

# 1, 2 or 5 times a power of ten, so that there are at most n tics.
power(x) = 10.0 ** floor(log10(x))
step(range, n) = range / n <= power(range / n) ? power(range / n) : range / n <= 2 * power(range / n) ? 2 * power(range / n) : \
  range / n <= 5 * power(range / n) ? 5 * power(range / n) : 10 * power(range / n)

label_width = 0
do for [i = 1:run_cells] { if (strlen(row_name[i]) > label_width) { label_width = strlen(row_name[i]) } }
verdict_width = 0
do for [i = 1:run_cells] { if (strlen(row_verdict[i]) > verdict_width) { verdict_width = strlen(row_verdict[i]) } }
first = 0.03 + 0.0066 * label_width
last = 0.98
gap = 0.03
verdict_room = verdict_width > 0 ? 0.02 + 0.0066 * verdict_width : 0
time_width = (last - verdict_room - first - gap * (panels - 1)) * (panels == 1 ? 1 : panels == 2 ? 0.6 : panels == 3 ? 0.44 : 0.37)
event_width = panels == 1 ? 0 : (last - verdict_room - first - gap * (panels - 1) - time_width) / (panels - 1)
left(p) = p == 1 ? first : first + time_width + verdict_room + gap * (p - 1) + event_width * (p - 2)
right(p) = p == 1 ? first + time_width : left(p) + event_width

golden(n) = 0.618034 * n - floor(0.618034 * n)
shift(round) = 0.5 * (golden(round) - 0.5)

set multiplot
set label 1 (reference ne "" ? "Compared with " . cut(reference, 70) : commands > 1 ? "Commands" : run_factors > 1 ? cut(plain(lone), 70) : "One command") \
  at screen 0.012, screen 1 - 28.0 / plot_height left font ",14" noenhanced
set tics font ",10"
set tmargin at screen 1 - 62.0 / plot_height
set bmargin at screen 78.0 / plot_height
set yrange [run_cells + 0.5 : 0.5]
set ytics () font ",10" noenhanced scale 0
do for [i = 1:run_cells] { set ytics add (tic(row_name[i]) i) }
set grid xtics noytics
set border 1
set key at screen 0.985, screen 1 - 22.0 / plot_height right horizontal Left reverse samplen 1.6 noenhanced font ",10"

do for [p = 1:panels] {
  c = int(word(panel_column, p))
  r = int(word(panel_round, p))
  set lmargin at screen left(p)
  set rmargin at screen right(p)
  unit = 1.0
  unit_name = word(panel_unit, p) eq "-" ? "" : word(panel_unit, p)
  is_time = unit_name eq "ns"
  of_unit = unit_name eq "" ? "" : " of " . unit_name
  if (is_time && high[p] >= 1e3) { unit = 1e-3; unit_name = "µs" }
  if (is_time && high[p] >= 1e6) { unit = 1e-6; unit_name = "ms" }
  if (is_time && high[p] >= 1e9) { unit = 1e-9; unit_name = "s" }
  if (!is_time && high[p] >= 1e5) { unit = 1e-3; unit_name = "thousands" . of_unit }
  if (!is_time && high[p] >= 1e7) { unit = 1e-6; unit_name = "millions" . of_unit }
  if (!is_time && high[p] >= 1e10) { unit = 1e-9; unit_name = "billions" . of_unit }
  span = high[p] > low[p] ? high[p] - low[p] : (high[p] != 0 ? 0.1 * abs(high[p]) : 1)
  unset logscale x
  set xtics autofreq
  if (low[p] > 0 && high[p] > 30 * low[p]) {
    set logscale x
    set xrange [unit * low[p] / 1.3 : unit * high[p] * 1.3]
  } else {
    from = low[p] < 0.6 * high[p] ? 0 : unit * (low[p] - 0.08 * span)
    to = unit * (high[p] + 0.08 * span)
    set xrange [from:to]
    set xtics step(to - from, p == 1 ? 8 : 3)
  }
  title_of_axis = (p == 1 ? "elapsed time" : word(panel_name, p)) . (unit_name eq "" ? "" : " [" . unit_name . "]")
  set xlabel (p == 1 && beyond > 0 ? sprintf("%s; beyond the right edge: %d", title_of_axis, beyond) : title_of_axis) noenhanced offset 0, 0.2
  if (p == 1) {
    do for [i = 1:run_cells] {
      set label 100 + i row_verdict[i] at graph 1.01, first i left noenhanced font ",10" textcolor rgb \
        (strstrt(row_verdict[i], "slower") ? col_vermillion : strstrt(row_verdict[i], "faster") ? col_green : col_grey)
    }
  }
  plot "rounds.dat" using (unit * column(r)):($1 + shift($2)) with points pointtype 7 pointsize 0.45 linecolor rgb "#800072B2" \
         title (p == 1 ? "a run" : ""), \
       "data.dat" using (unit * column(c)):1:(unit * column(p == 1 ? c_median_lo : c + 1)):(unit * column(p == 1 ? c_median_hi : c + 2)) \
         with xerrorbars linetype 2 linewidth 2.2 pointtype 5 pointsize 0.8 title (p == 1 ? "median, 95 % interval" : "")
  if (p == 1) {
    unset label 1
    unset label 9001
    unset label 9002
    unset key
    do for [i = 1:run_cells] { unset label 100 + i }
    set ytics ()
    do for [i = 1:run_cells] { set ytics add ("" i) }
  }
}
unset multiplot
