# SPDX-License-Identifier: BSD-3-Clause
# plots/watchpoint.gp - left: calls of a function by each thread of a parallel loop of 22 chunks; right: the values that two
# threads write to one variable, in a loop with static and dynamic scheduling.
#
# Reads accesses.dat, calls.dat and content.dat.

plot_width = 1180
plot_height = 620
load "theme.gp"

# accesses.dat: loop, symbol, thread, accesses, least, most, first, last; calls.dat: symbol, thread, time, calls;
# content.dat: loop, thread, time, value.
symbol = "matmul_sub"
counted = 0
kept = 0
array calls_of[4]
note(t, n) = (counted = counted + 1, calls_of[t + 1] = n, 0)
stats "accesses.dat" using (strcol(1) ne "chunks" ? (kept = kept + 1, 0) : strcol(2) eq symbol && $3 < 4 ? note(int($3), int($4)) : 0) \
  nooutput
if (kept > 0) { stats "content.dat" using 4 name "d_var" nooutput }
unset key

set multiplot
set label 1 headed(1, "A program watched from outside, thread by thread") at screen 0.012, 0.965 left font ",16" noenhanced

# (a) calls over time, the count of each thread at its end
set lmargin at screen 0.065
set rmargin at screen 0.44
set tmargin at screen 0.86
set bmargin at screen 0.18
set title "(a) Calls of " . symbol . ": 22 chunks of 506 on 4 threads" font ",11.5"
set xlabel "time [ms]"
most_calls = 0
do for [t = 1:4] { most_calls = counted > 0 && calls_of[t] > most_calls ? calls_of[t] : most_calls }
set format y (most_calls < 1e4 ? "% h" : "%.0s%c")
set ylabel "calls so far"
set yrange [0:*]
set offsets graph 0, graph 0.02, graph 0.06, 0
set key at screen 0.02, screen 0.06 left center horizontal Left reverse samplen 1.6 noenhanced font ",10"
panel_count = 3; key_total = 8; key_lines = 4
if (narrow) { @column_head; @column }
if (counted > 0) {
  plot for [t = 0:3] "calls.dat" using (strcol(1) eq symbol && $2 == t ? $3 : NaN):4 with lines linetype t + 1 \
         dashtype t + 1 linewidth 1.6 title sprintf("thread %d: %d", t, calls_of[t + 1]), \
       for [t = 0:3] "accesses.dat" using (strcol(1) eq "chunks" && strcol(2) eq symbol && $3 == t ? $8 : NaN):4 \
         with points linetype t + 1 pointtype 7 pointsize 0.7 notitle
} else {
  set label 3 "not watched: see the states in data.dat" at graph 0.5, graph 0.5 center textcolor rgb col_grey font text_font(9)
  plot [0:1] [0:1] NaN notitle
  unset label 3
}
unset label 1
@caption_drawn
unset key
set offsets 0, 0, 0, 0

# (b), (c) contents
set lmargin at screen 0.53
set rmargin at screen 0.9
do for [row = 1:2] {
  loop = word("static dynamic", row)
  set tmargin at screen row == 1 ? 0.86 : 0.43
  set bmargin at screen row == 1 ? 0.585 : 0.12
  set title sprintf("(%s) What two threads write to d_var: %s schedule", word("b c", row), loop) font ",11.5"
  set xlabel row == 2 ? "time [ms]" : ""
  set format y (kept > 0 && d_var_max >= 1e4 ? "%.0s%c" : "% h")
  set ylabel "d_var" noenhanced
  set yrange [0:*]
  set key at graph 1.01, graph 1 left top vertical Left reverse samplen 1.2 noenhanced font ",10"
  panel_number = 1 + row; key_lines = 2
  if (narrow) { @column }
  if (kept > 0) {
    plot for [t = 0:1] "content.dat" using (strcol(1) eq loop && $2 == t ? $3 : NaN):4 with points linetype t + 1 \
      pointtype 7 pointsize 0.25 notitle, \
      for [t = 0:1] keyentry with points linetype t + 1 pointtype 7 pointsize 0.8 title sprintf("thread %d", t)
  } else {
    set label 3 "not watched: see the states in data.dat" at graph 0.5, graph 0.5 center textcolor rgb col_grey font text_font(9)
    plot [0:1] [0:1] NaN notitle
    unset label 3
  }
}
unset multiplot
