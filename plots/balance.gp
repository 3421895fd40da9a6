# SPDX-License-Identifier: BSD-3-Clause
# plots/balance.gp - ranks that are slowed to arrive just in time: their frequencies, energy and time, and what noise does to
# both; and real threads.
#
# Reads course.dat, effect.dat and shares.dat.

plot_width = 1180
plot_height = 800
load "theme.gp"

# course.dat: delta, noise, rank, iteration, frequency, computing; effect.dat: delta, noise, before, after, saved (least,
# most), lost (least, most), time before, after, changes; shares.dat: balanced, thread, repetitions, computing, waiting, frequency, decided
# (median, least, most).
shown_delta = 10
shown_noise = 2
ranks = 0
stats "course.dat" using ($1 == shown_delta && $2 == shown_noise ? (ranks = $3 > ranks ? $3 : ranks, 0) : 0) nooutput
array delta[3] = [3, 10, 20]
array colour[3] = [col_vermillion, col_blue, col_green]
array mark[3] = [7, 5, 9]
unset key

set multiplot
set label 1 headed(1, "Balancing: slow the ranks that would wait, so that all arrive just in time") at screen 0.012, 0.97 left font ",16" noenhanced

# (a) frequencies of the ranks, one round
set lmargin at screen 0.07
set rmargin at screen 0.60
set tmargin at screen 0.875
set bmargin at screen 0.56
set title sprintf(narrow ? "(a) Frequency of %d of %d ranks; noise %d %%, delta %d %%" \
  : "(a) Frequency of %d of %d simulated ranks; noise %d %%, delta %d %% of the reference; the load is then reversed", \
  ranks < 5 ? ranks : 5, ranks, shown_noise, shown_delta) font ",11"
set xlabel "iteration" offset 0, 0.4
set ylabel "frequency [GHz]"
set yrange [*:*]
set offsets 0, 0, graph 0.06, graph 0.06
set key at screen 0.605, screen 0.875 left top vertical Left reverse samplen 1.4 spacing 1.05 font ",10"
# Draw at most five ranks, from most to least work, in distinguishable colours and dashes.
shown_ranks = ranks < 5 ? ranks : 5
rank_of(k) = shown_ranks > 1 ? 1 + int((k - 1.0) * (ranks - 1) / (shown_ranks - 1) + 0.5) : 1
rank_rgb(k) = word("0x000000 0x005A94 0x2BB58A 0xD55E00 0xF2B544", k) + 0
rank_dash(k) = int(word("1 2 1 4 1", k))
rank_width(k) = k % 2 ? 2.2 : 1.4
panel_count = 5; key_total = 6 + shown_ranks
panel_number = 1; key_lines = shown_ranks
if (narrow) { @column_head; @column }
plot for [k = 1:shown_ranks] "course.dat" using ($1 == shown_delta && $2 == shown_noise && $3 == rank_of(k) ? $4 : NaN):5 with steps \
  linewidth rank_width(k) dashtype rank_dash(k) linecolor rgb rank_rgb(k) title k == 1 ? "rank 1: most work" : \
  k == shown_ranks ? sprintf("rank %d: least", rank_of(k)) : sprintf("rank %d", rank_of(k))
unset label 1
@caption_drawn
set offsets 0, 0, 0, 0

# (b) threads
set lmargin at screen 0.80
set rmargin at screen 0.985
set title "(b) Threads, frequency chosen" font ",11"
set xlabel "thread" offset 0, 0.4
set ylabel "share of an iteration [%]"
set yrange [0:124]
set ytics 0, 20, 100
set style fill solid 0.8 noborder
set boxwidth 0.6 absolute
rows = 0
stats "shares.dat" using (rows = rows + 1, 0) nooutput
set key at screen 0.985, screen 0.487 right top horizontal Left reverse samplen 1.2 font ",10"
set xrange [0.4 : rows + 0.6]
set xtics ()
unset grid
set grid ytics linetype 1 linecolor rgb "#dddddd" linewidth 0.6 dashtype solid
name(b, t) = sprintf("%d%s", t, b eq "no" ? "" : ", set")
if (rows > 0) {
  panel_number = 2; key_lines = 2
  if (narrow) { @column }
  plot "shares.dat" using 0:(0):xticlabels(name(strcol(1), int($2))) with points pointtype -2 notitle, \
       "" using ($0 + 1):(100):xticlabels(name(strcol(1), int($2))) with boxes linecolor rgb col_orange title "waits", \
       "" using ($0 + 1):4 with boxes linecolor rgb col_blue title "computes", \
       "" using ($0 + 1):(113):($8 < $9 ? sprintf("%.1f to\n%.1f GHz", $8, $9) : sprintf("%.1f GHz", $9)) with labels \
         font ",10" notitle
} else {
  set label 3 "not measured: see data.dat" at graph 0.5, graph 0.5 center textcolor rgb col_grey
  plot [0:1] [0:1] NaN notitle
  unset label 3
}

# (c), (d), (e): over noise
set xtics auto
set ytics auto
set grid xtics ytics linetype 1 linecolor rgb "#dddddd" linewidth 0.6 dashtype solid
set tmargin at screen 0.41
set bmargin at screen 0.09
set xlabel "noise: standard deviation of a rank's work [%]" offset 0, 0.4
set xrange [-0.5:20.8]
set autoscale y
set offsets 0, 0, graph 0.05, 0
do for [panel = 1:3] {
  set lmargin at screen 0.07 + (panel - 1) * 0.325
  set rmargin at screen 0.07 + (panel - 1) * 0.325 + 0.262
  set title word("(c) (d) (e)", panel) . (panel == 1 ? " Energy, before and after" : panel == 2 ? " Time lost" : " Changes of frequency") font ",11"
  set ylabel panel == 1 ? "energy of an iteration [J]" : panel == 2 ? "time lost [%]" : "changes a rank, in 100 iterations"
  set yrange [0:*]
  if (panel == 1) { set key at screen 0.07, screen 0.478 left center horizontal Left reverse samplen 1.6 font ",10" } else { unset key }
  panel_number = 2 + panel; key_lines = panel == 1 ? 4 : 0
  if (narrow) { @column; if (panel > 1) { unset key } }
  if (panel == 1) {
    plot "effect.dat" using ($1 == delta[2] ? $2 : NaN):3 with linespoints linecolor rgb col_grey pointtype 4 pointsize 0.9 \
           title "not balanced", \
         for [d = 1:3] "effect.dat" using ($1 == delta[d] ? $2 : NaN):4 with linespoints linecolor rgb colour[d] \
           pointtype mark[d] pointsize 0.9 title sprintf("delta %d %%", delta[d])
  }
  if (panel == 2) {
    plot for [d = 1:3] "effect.dat" using ($1 == delta[d] ? $2 : NaN):8:9:10 with yerrorbars linecolor rgb colour[d] \
           linewidth 1.1 pointtype -2, \
         for [d = 1:3] "effect.dat" using ($1 == delta[d] ? $2 : NaN):8 with linespoints linecolor rgb colour[d] \
           pointtype mark[d] pointsize 0.9
  }
  if (panel == 3) {
    plot for [d = 1:3] "effect.dat" using ($1 == delta[d] ? $2 : NaN):13 with linespoints linecolor rgb colour[d] \
      pointtype mark[d] pointsize 0.9
  }
}
unset multiplot
