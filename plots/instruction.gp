# SPDX-License-Identifier: BSD-3-Clause
# plots/instruction.gp - latency and throughput of each sequence, in cycles, with 95 % intervals.
#
# Reads sequences.dat.

# sequences.dat: code, latency, low, high, throughput, low, high
load "run.gp"
has = strstrt(run_files, " sequences.dat ") > 0
n = 0; least = 1e30; most = 0
note(v) = (v > 0 && v < least ? (least = v) : 0, v > most ? (most = v) : 0, 0)
if (has) { stats "sequences.dat" using (n = n + 1, note($2), note($5), 0) nooutput }
if (most == 0) { least = 1; most = 10 }
plot_width = 1080
plot_height = 210 + 52 * (n > 0 ? n : 1)
load "theme.gp"

longest = 8
widen(name) = (strlen(name) > longest ? (longest = strlen(name)) : 0, 0)
array code_name[n > 0 ? n : 1]
wide = narrow ? 20 : 44
name_code(i, name) = (code_name[i + 1] = strlen(name) > wide ? substr(name, 1, wide - 2) . "..." : name, widen(code_name[i + 1]))
if (has) { stats "sequences.dat" using (name_code(int($0), plain(strcol(1)))) nooutput }

set label 1 headed(1, "What an instruction costs") at screen 0.012, 1 - 26.0 / plot_height left font ",16" noenhanced
set label 2 headed(2, "chain: each copy waits for the previous copy; overlapping: each copy uses separate registers") \
  at screen 0.012, 1 - 52.0 / plot_height left font text_font(9) noenhanced textcolor rgb col_grey
set lmargin longest < 44 ? 1.2 * longest + 4 : 57
set rmargin at screen 0.97
set tmargin at screen 1 - 112.0 / plot_height
set bmargin at screen 72.0 / plot_height
set logscale x 2
set xrange [least / 1.6 : most * 1.9]
set format x "%g"
set xlabel "cycles"
set yrange [(n > 0 ? n : 1) - 0.4 : -0.6]
set ytics ()
if (n > 0) { do for [i = 1:n] { set ytics add (tic(code_name[i]) i - 1) } }
set ytics noenhanced
set key at graph 1, screen 1 - 78.0 / plot_height right center horizontal samplen 1.4
key_lines = 2; key_total = 2
if (narrow) { @column_head; @column; set lmargin at screen (5.7 * longest + 18) / plot_width; set ytics font ",9.4"; set xtics 0.0625, 4 }
if (has) {
  plot "sequences.dat" using 2:($0 - 0.14):3:4 with xerrorbars linetype 1 pointsize 1.1 title "chain: latency", \
    "" using 5:($0 + 0.14):6:7 with xerrorbars linetype 2 pointsize 1.1 title "overlapping: reciprocal throughput", \
    "" using ($4 > $2 ? $4 : $2):($0 - 0.14):(sprintf("%.3g", $2)) with labels left offset 1.2, 0 font text_font(9) textcolor linetype 1 notitle, \
    "" using ($7 > $5 ? $7 : $5):($0 + 0.14):(sprintf("%.3g", $5)) with labels left offset 1.2, 0 font text_font(9) textcolor linetype 2 notitle
} else {
  set label 3 "not measured: see data.dat" at graph 0.5, graph 0.5 center textcolor rgb col_grey
  plot NaN notitle
}
