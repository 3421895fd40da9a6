# SPDX-License-Identifier: BSD-3-Clause
# plots/library_time.gp - libraries in which a command spends its time, by view; durations of their functions; overhead of
# each view.
#
# Reads data.dat, shares.dat, function.dat and distribution.dat.

plot_width = 1180
plot_height = 640
load "theme.gp"

views = "plain instrumentation sampling interception"
rgb_of(view) = view eq "plain" ? 0x7f7f7f : view eq "instrumentation" ? 0x2BB58A : view eq "sampling" ? 0xF2B544 : 0x005A94
has(file) = strstrt(run_files, " " . file . " ") > 0

# Columns of shares.dat are the measured views, without plain, in this order; NaN for other views.
seen = ""
stats "data.dat" using (column(c_samples) > 0 && strcol(c_view) ne "plain" ? (seen = seen . " " . strcol(c_view), 0) : 0) nooutput
nseen = words(seen)

set multiplot
set tics font ",10"
panel_count = 3; key_total = nseen
set label 1 headed(1, "Where a command spends its time, by view") at screen 0.012, 0.962 left font ",16" noenhanced

# (a) share by library
shown = narrow ? 80 : 130
set label 2 headed(2, strlen(run_command) > shown ? run_command[1:shown - 2] . "…" : run_command) at screen 0.012, 0.925 left font ",10" \
  textcolor rgb col_grey noenhanced
set lmargin at screen 0.135
set rmargin at screen 0.45
set tmargin at screen 0.855
set bmargin at screen 0.45
set title "(a) Time in libraries, without what they call" font ",11.5" offset 0, -0.4
set xlabel "% of the run" font ",10" offset 0, 0.4
set xrange [0:*]
set grid noytics xtics
set ytics () font ",10" noenhanced
array row_name[1000]
rows = 0
put(name) = (rows = rows + 1, row_name[rows] = narrow && strlen(plain(name)) > 20 ? plain(name)[1:19] . "…" : plain(name), 0)
if (has("shares.dat")) { stats "shares.dat" using (put(strcol(1))) nooutput }
do for [i = 1:rows] { set ytics add (tic(row_name[i]) i) }
set yrange [rows + 0.6 : 0.4]
set key at screen 0.2925, screen 0.37 center top horizontal Left reverse samplen 0.8 width -2.5 noenhanced font ",10"
height = 0.8 / (nseen > 0 ? nseen : 1)
panel_number = 1; key_lines = nseen; column_left = 125.0
if (narrow) { @column_head; @column; set ytics font ",9.4" }
low(i) = $0 + 1 - 0.4 + (i - 1) * height
if (rows > 0 && nseen > 0) {
  plot for [i = 1:nseen] "shares.dat" using (column(i + 1) / 2):(low(i) + 0.45 * height):(0):(column(i + 1)): \
         (low(i)):(low(i) + 0.9 * height) with boxxyerror linecolor rgb rgb_of(word(seen, i)) fillstyle solid 0.75 noborder \
         title word(seen, i), \
       for [i = 1:nseen] "" using (column(i + 1)):(low(i) + 0.45 * height):(column(i + 1) < 10 ? sprintf("%.2g", column(i + 1)) : "") \
         with labels left offset 0.5, 0 font text_font(8) notitle
}
unset label 1
unset label 2
@caption_drawn

# (c) what a view costs
set tmargin at screen 0.255
set bmargin at screen 0.115
set title "(c) Time of the command by view"
set xlabel "time [s] (filled: elapsed; open: processor time; number: slowdown)" font ",9.5"
unset key
rows = 0
stats "data.dat" using (put(strcol(c_view))) nooutput
set ytics ()
do for [i = 1:rows] { set ytics add (tic(row_name[i]) i) }
set yrange [rows + 0.6 : 0.4]
longest = 0
stats "data.dat" using (column(c_samples) > 0 && column(c_q3) > longest ? (longest = column(c_q3), 0) : 0) nooutput
stats "data.dat" using (column(c_samples) > 0 && column(c_processor) > longest ? (longest = column(c_processor), 0) : 0) nooutput
set xrange [0 : 1.25 * longest]
panel_number = 2; key_lines = 0
if (narrow) { @column; unset key; set xlabel "time [s] (open: of processors)" font ",9.4" }
plot "data.dat" using (column(c_median)):($0 + 1):(column(c_q1)):(column(c_q3)):(rgb_of(strcol(c_view))) with xerrorbars \
       linecolor rgb variable pointtype 7 pointsize 1.1 linewidth 1.4, \
     "" using (column(c_processor)):($0 + 1):(rgb_of(strcol(c_view))) with points linecolor rgb variable pointtype 4 \
       pointsize 1.1 linewidth 1.4, \
     "" using (column(c_q3) > column(c_processor) ? column(c_q3) : column(c_processor)):($0 + 1):(strcol(c_view) eq "plain" ? "" : column(c_samples) > 0 ? sprintf("%.2f", \
       column(c_slowdown)) : "not measured") with labels left offset 1.2, 0 font ",9.5"

# (b) durations of the functions that take most of the time
most = 8
longest_name = narrow ? 20 : 34
set lmargin at screen 0.675
set rmargin at screen 0.975
set tmargin at screen 0.855
set bmargin at screen 0.115
set title "(b) How long calls of the busiest functions take"
set logscale x
set format x "%.0s %cs"
set micro # in utf8: µs, not us
set xlabel "time of a call (height: log of the count; red: median)" font ",9.5"
set xrange [1e-9:*]
set xtics 1e-9, 100 font ",10"
set mxtics default
rows = 0
say(rank, name, library, rate) = rank > most ? 0 : (rows = rows + 1, row_name[rank] = \
  sprintf(narrow ? "%s" : "%s\n%s, %s calls/s", strlen(name) > longest_name ? name[1:longest_name - 2] . "…" : name, library, \
  rate < 10 ? sprintf("%.2g", rate) : gprintf(rate < 10000 ? "%.0f" : "%.0s %c", rate)), 0)
if (has("function.dat")) { stats "function.dat" using (strcol(1) eq "interception" ? say($2, strcol(5), strcol(3), $7) : 0) nooutput }
set ytics () font ",9" noenhanced
do for [i = 1:rows] { set ytics add (tic(row_name[i]) i) }
set yrange [rows + 0.25 : 0.05]
set grid xtics ytics
at(ns) = 1e-9 * (ns < 1 ? 1 : ns) # on a logarithmic axis: shorter than a step of the clock is 0
mine(view, rank) = view eq "interception" && rank <= most
panel_number = 3
if (narrow) { @column; unset key; set ytics font ",9.4"; set xtics 1e-9, 1000; set xlabel "time of a call (red: median)" font ",9.4" }
if (rows > 0) {
  plot "distribution.dat" using ($1 <= most ? 0.5e-9 * ($4 + $5) : NaN):($1 - 0.4 * $7):(at($4)): \
         (at($5 < 1.3 ? 1.3 : $5)):($1 - 0.8 * $7):($1) \
         with boxxyerror linecolor rgb col_blue fillstyle solid 0.55 noborder, \
       "function.dat" using (mine(strcol(1), $2) ? at($11) : NaN):2:(at($13) - at($11)):(0) with vectors nohead \
         linecolor rgb col_blue linewidth 1.2, \
       "" using (mine(strcol(1), $2) ? at($12) : NaN):2 with points pointtype 7 pointsize 0.9 linecolor rgb col_vermillion
}
unset multiplot
