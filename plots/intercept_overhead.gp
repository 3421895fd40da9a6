# SPDX-License-Identifier: BSD-3-Clause
# plots/intercept_overhead.gp - what a call between libraries takes when somebody looks, a row for each way to look.
#
# Reads data.dat.

plot_width = 1040
plot_height = 740
load "theme.gp"

# A row for each way, in the order of the table; in it a mark for each number of threads.
ways = ""
threads = ""
array title_of[run_cells]
lost = ""
floor_ns = NaN
seen(list, word) = strstrt(" " . list . " ", " " . word . " ")
row(way) = words(ways[1:strstrt(ways . " ", way . " ")] . "x")
add(way, n, group, median, title, status) = ( \
  ways = seen(ways, way) ? ways : ways . (ways eq "" ? "" : " ") . way, \
  threads = seen(threads, n) ? threads : threads . (threads eq "" ? "" : " ") . n, \
  title_of[row(way)] = plain(title), \
  lost = status eq "ok" ? lost : lost . (seen(lost, way) ? "" : " " . way), \
  floor_ns = way eq "clocks" && floor_ns != floor_ns ? median : floor_ns, 0)
stats "data.dat" using (add(strcol(c_way), sprintf("%d", column(c_threads)), strcol(c_group), column(c_median), \
  strcol(c_title) eq "-" ? strcol(c_way) : strcol(c_title), strcol(c_status))) nooutput
rows = words(ways)
kinds = words(threads)
colour_of(group) = group eq "floor" ? 0x7f7f7f : group eq "pmlua" ? 0x005A94 : 0xD55E00
offset(n) = kinds == 1 ? 0 : 0.34 * ((words(threads[1:strstrt(threads . " ", n . " ")] . "x") - 1.0) / (kinds - 1) - 0.5)
place(way, n) = row(way) + offset(sprintf("%d", n))
point_of(i) = word("7 4 9 10 11 12 13 14", (i - 1) % 8 + 1)
plural(n) = n eq "1" ? "one thread" : n . " threads at the same time, each"

set label 1 headed(1, "What it costs to see a call between libraries") at screen 0.02, 0.958 left font ",16" noenhanced
set label 2 headed(2, "an almost empty function in a separate library; mark: median, line: quartiles, number: ratio to the grey line") \
  at screen 0.02, 0.922 left font text_font(10) textcolor rgb col_grey noenhanced
set lmargin at screen 0.25
set rmargin at screen 0.965
set tmargin at screen 0.855
set bmargin at screen 0.1
set logscale x
set format x "%.0s %cs"
set micro # in utf8: µs, not us
set style textbox opaque noborder margins 0.2, 0.2
set xlabel "time of one call"
slowest = 100
stats "data.dat" using (column(c_samples) > 0 && column(c_q3) > slowest ? (slowest = column(c_q3), 0) : 0) nooutput
fastest = 1
stats "data.dat" using (column(c_samples) > 0 && column(c_q1) > 0 && column(c_q1) < fastest ? (fastest = column(c_q1), 0) : 0) nooutput
set xrange [(fastest < 1 ? 0.7e-9 * fastest : 1e-9) : (narrow ? 40e-9 : 4e-9) * slowest]
set yrange [rows + 0.6 : 0.4]
set ytics () font ",10" noenhanced
shown(s) = narrow && strlen(s) > 27 ? s[1:26] . "…" : s
do for [i = 1:rows] { set ytics add (tic(shown(title_of[i])) i) }
set key at screen 0.965, screen 0.902 right top horizontal Left reverse samplen 1.2 noenhanced font ",10"
key_lines = kinds + 2; key_total = key_lines
if (narrow) { @column_head; @column; set lmargin at screen 170.0 / plot_width; set xtics 1e-9, 1000; set ytics font ",9.4" }
set arrow 1 from first 1e-9 * floor_ns, graph 0 to first 1e-9 * floor_ns, graph 1 nohead linecolor rgb col_grey linewidth 1.2
set arrow 2 from first 1.35e-9 * floor_ns, graph 0 to first 1.35e-9 * floor_ns, graph 1 nohead linecolor rgb col_grey \
  linewidth 0.8 dashtype 3
do for [i = 1:words(lost)] {
  set label 100 + i "not measured here" at first 1.6e-9, first row(word(lost, i)) left font text_font(9) textcolor rgb col_grey
}
ratio_text(v) = v < 1e4 ? sprintf(v < 100 ? "%.2f" : "%.0f", v) : gprintf("%.0s%c", v)
of(n) = column(c_threads) == n && column(c_samples) > 0
plot for [i = 1:kinds] "data.dat" using (of(word(threads, i) + 0) ? 1e-9 * column(c_median) : NaN): \
       (place(strcol(c_way), column(c_threads))):(1e-9 * column(c_q1)):(1e-9 * column(c_q3)):(colour_of(strcol(c_group))) \
       with xerrorbars linecolor rgb variable pointtype (point_of(i) + 0) pointsize 1.1 linewidth 1.4 notitle, \
     for [i = 1:kinds] "" using (of(word(threads, i) + 0) && strcol(c_way) ne "clocks" ? 1e-9 * column(c_q3) : NaN): \
       (place(strcol(c_way), column(c_threads))):(ratio_text(column(c_ratio))) \
       with labels boxed left offset 1.2, 0 font text_font(8.5) textcolor rgb col_black notitle, \
     for [i = 1:kinds] keyentry with points linecolor rgb col_black pointtype (point_of(i) + 0) title plural(word(threads, i)), \
     keyentry with lines linecolor rgb col_grey linewidth 1.2 title "two clock reads and the call", \
     keyentry with lines linecolor rgb col_grey linewidth 0.8 dashtype 3 title "1.35 times that"
