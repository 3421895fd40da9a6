# SPDX-License-Identifier: BSD-3-Clause
# plots/counted.gp - counts of the same kernels over those at source, a row for each kernel, and why they differ.
#
# Reads ratios.dat, notes.dat and absent.dat.

plot_width = 1180
plot_height = 660
load "theme.gp"

has(file) = strstrt(run_files, " " . file . " ") > 0
low = 1 / 32.0 # what is less stands at the edge
high = 24
number(who) = who eq "final" ? 1 : who eq "simulation" ? 2 : 3
title_of(who) = word("compiler,%20at%20final simulation hardware", number(who))
rgb_of(who) = word("#005A94 #F2B544 #2BB58A", number(who))
point_of(who) = word("7 4 9", number(who)) + 0
shift(who) = 0.22 * (number(who) - 2)
at(ratio) = ratio < low ? low : ratio > high ? high : ratio

rows = 0
array row_name[1000]
array note_text[1000]
array note_place[1000]
notes = 0
put(name) = (rows = rows + 1, row_name[rows] = name, 0)
cut(s, i) = s[i:i] eq "," ? i : cut(s, i - 1)
wrapped(s) = strlen(s) <= 39 ? s : s[1:cut(s, 39)] . "\n" . wrapped(s[cut(s, 39) + 2:*])
until(s, end) = strstrt(s, end) ? s[1:strstrt(s, end) - 1] : s
brief(s) = until(until(s, ";"), " (")
say(place, text) = (notes = notes + 1, note_place[notes] = place, note_text[notes] = text eq "-" ? "" : wrapped(plain(text)), 0)
stats "notes.dat" using (put(strcol(2))) nooutput
stats "notes.dat" using (say($1, strcol(3))) nooutput
counted = ""
stats "ratios.dat" using (strstrt(counted, strcol(3)) ? 0 : (counted = counted . " " . strcol(3), 0)) nooutput
counted_flops = ""
stats "ratios.dat" using (strstrt(counted_flops, strcol(3)) || !($4 > 0) ? 0 : (counted_flops = counted_flops . " " . strcol(3), 0)) nooutput
lacking = ""
if (has("absent.dat")) { stats "absent.dat" using (lacking = lacking . (lacking eq "" ? "" : "; ") . plain(strcol(1)) . ": " . brief(plain(strcol(2))), 0) nooutput }

set multiplot
set label 1 headed(1, "What kernels do, by counter") at screen 0.012, 0.962 left font ",16" noenhanced
set label 2 headed(2, "counts per call as multiples of the source's counts; at the left edge: less, or none" . (narrow ? "; notes.dat: why they differ" : "")) \
  at screen 0.012, 0.922 left font ",10" textcolor rgb col_grey noenhanced
if (lacking ne "") {
  set label 3 headed(3, "not counted by " . lacking) at screen 0.012, 0.048 left font text_font(9) textcolor rgb col_vermillion noenhanced
}
if (!narrow) { set label 4 "why they differ" at screen 0.785, 0.875 left font ",11" noenhanced }
set tmargin at screen 0.855
set bmargin at screen 0.16
set logscale x
set xrange [low:high]
set yrange [rows + 0.6 : 0.4]
size_9 = text_font(9)
set xtics ("1/16" 1 / 16.0, "1/4" 0.25, "1" 1, "4" 4, "16" 16) font size_9
set ytics () font ",10" noenhanced
do for [i = 1:rows] { set ytics add (tic(row_name[i]) i) }
set grid xtics noytics
set arrow 1 from first 1, graph 0 to first 1, graph 1 nohead linecolor rgb col_grey linewidth 1.2
unset key

left(panel) = 0.075 + 0.176 * panel
column_of(panel) = word("4 7 8 9", panel + 1) + 0
panel_title(panel) = word("(a)%20Flops,%20bytes%20loaded (b)%20Loads (c)%20Stores (d)%20Operations", panel + 1)
axis(panel) = word("point:%20flops;%20cross:%20bytes instructions%20that%20load instructions%20that%20store operations,%20or%20instructions", panel + 1)
panel_count = 4; key_total = words(counted); column_left = 60.0
if (narrow) { @column_head }
do for [panel = 0:3] {
  set lmargin at screen left(panel)
  set rmargin at screen left(panel) + 0.16
  set title plain(panel_title(panel)) font ",11" offset 0, -0.4
  set xlabel plain(axis(panel)) font ",9" offset 0, 0.3
  if (panel == 3) {
    do for [i = 1:(narrow ? 0 : notes)] { set label 100 + i note_text[i] at screen 0.785, first note_place[i] left noenhanced font ',9' }
    set key at screen 0.988, screen 0.905 right bottom horizontal Left reverse samplen 1.2 noenhanced font ",10"
  }
  panel_number = panel + 1; key_lines = panel == 3 ? key_total : 0
  if (narrow) { @column; if (panel < 3) { unset key } }
  plot for [who in panel == 0 ? counted_flops : counted] "ratios.dat" using (strcol(3) eq who ? at(column(column_of(panel))) : NaN): \
         ($1 + shift(who)) with points pointtype point_of(who) pointsize 0.95 linewidth 1.5 linecolor rgb rgb_of(who) notitle, \
       for [k = 1 : panel == 0 && strstrt(counted, "final")] "" using (strcol(3) eq "final" ? at($5) : NaN): \
         ($1 + shift("final") + 0.2) with points pointtype 2 pointsize 0.7 linewidth 1.3 linecolor rgb col_blue notitle, \
       for [who in counted] keyentry with points pointtype point_of(who) pointsize 1 linewidth 1.5 \
         linecolor rgb rgb_of(who) title plain(title_of(who))
  if (panel == 0) { unset label 1; unset label 2; unset label 3; unset label 4; @caption_drawn; if (!narrow) { set ytics (); do for [i = 1:rows] { set ytics add ('' i) } } }
}
unset multiplot
