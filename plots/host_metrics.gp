# SPDX-License-Identifier: BSD-3-Clause
# plots/host_metrics.gp - above, the phases of a program; below, on the same time axis, the metrics of its host.
#
# Reads regions.dat (phase, from, to [s], colour), metrics.dat (metric, time [s], value, unit) and processors.dat (how many
# there are).

plot_width = 1180
plot_height = 860
load "theme.gp"

# The end of time; the memory used by the host at first; the maximum of each metric, 0 for missing metrics.
stats "regions.dat" using 3 nooutput name "region"
ended = region_max
begun = 0
used = 0
note(v) = (used = begun ? used : v, begun = 1, 0)
stats "metrics.dat" using (strcol(1) eq "memory_used" ? note($3) : 0) nooutput name "first"
names = "resident memory_used process_cpus cpus_busy loopback switches power temperature"
array top[8]
do for [i = 1:8] { top[i] = 0 }
stats "processors.dat" using 1 nooutput name "processors"
least = 0 # the host may come to use less than at first
index_of(s) = sum [i = 1:8] (word(names, i) eq s ? i : 0)
raise(i, v) = (top[i] = v > top[i] ? v : top[i], least = i == 2 && v < least ? v : least, 0)
stats "metrics.dat" using (raise(index_of(strcol(1)), $3 - (strcol(1) eq "memory_used" ? used : 0))) nooutput name "all"
nice(step, ten) = ten * (step <= ten ? 1 : step <= 2 * ten ? 2 : step <= 5 * ten ? 5 : 10)
ticks(top) = nice(top / 5.0, 10 ** floor(log10(top / 5.0)))
larger(a, b) = a > b ? a : b
sensed = top[7] > 0 || top[8] > 0
panels = sensed ? 5 : 4
meter = top[7] > 0 ? "power" : "temperature"

array fill[4] = ["#eeeeee", "#a6d5f0", "#e8b23c", "#b07aa1"] # of different lightness
high(k) = 0.885 - (0.815 / panels) * (k - 1)
low(k) = high(k) - 0.815 / panels + 0.026
of(name) = strcol(1) eq name && $2 <= ended ? $2 : NaN

set multiplot
set label 1 headed(1, "A program's phases, and what its host does meanwhile") at screen 0.012, 0.978 left font ",16" noenhanced
set lmargin at screen 0.085
set rmargin at screen 0.985
set xrange [0:ended]

# The program: a band for each phase, with its name where that fits.
set tmargin at screen 0.945
set bmargin at screen 0.908
panel_count = panels; key_total = panels + 2; column_left = 72.0
if (narrow) {
  @column_head
  set lmargin at screen column_left / plot_width
  set rmargin at screen 1 - 22.0 / plot_width
  set tmargin at screen 1 - (16.0 * head_lines + 10) / plot_height
  set bmargin at screen 1 - (16.0 * head_lines + 32) / plot_height
}
unset border
unset tics
unset grid
unset key
set yrange [0:1]
set style fill solid 1 noborder
fitting(s, from, to) = (to - from) / ended > 0.009 * strlen(s) ? \
  free_label((narrow ? 0.37 : 0.45) * plot_width * (from + to) / ended - text_wide(s, 10) / 2, 0, s, 10, 1) : ""
plot for [k = 1:4] "regions.dat" using (int($4) == k ? $2 : NaN):(0.5):2:3:(0):(1) with boxxyerror \
       fillcolor rgb fill[k] notitle, \
     "regions.dat" using (($2 + $3) / 2):(0.5):(fitting(strcol(1), $2, $3)) with labels center noenhanced font ",10" notitle
unset label 1
@caption_drawn

# Beneath, the metrics, over the same bands.
set border 3 linecolor rgb "#404040" linewidth 1
set tics nomirror out scale 0.6
set xtics autofreq
set ytics autofreq
set grid ytics linetype 1 linecolor rgb "#dddddd" linewidth 0.6 dashtype solid
set key at graph 1, graph 1.01 right bottom horizontal noreverse Right samplen 1.6 noenhanced font ",10"
set style fill solid 0.35 noborder
do for [k = 1:panels] {
  set tmargin at screen high(k)
  set bmargin at screen low(k)
  shown = k == 4 ? 1e-3 : 1 # as many digits as there is room for
  ceiling = 1.3 * shown * (k == 1 ? larger(top[1], top[2]) : k == 2 ? larger(top[3], top[4]) : k == 5 ? larger(top[7], top[8]) : top[k + 2])
  if (ceiling <= 0) { ceiling = 1 }
  if (k == 2) { ceiling = 1.3 * processors_max } # room for the key
  bottom = k == 1 ? 1.1 * least : 0
  set yrange [bottom:ceiling]
  set ytics ticks(ceiling - bottom)
  set format x (k == panels ? "%g" : "")
  if (k == panels) { set xlabel "time since the run began [s]" } else { unset xlabel }
  one = word("resident process_cpus loopback switches", k == 5 ? 1 : k)
  one = k == 5 ? meter : one
  two = k == 1 ? "memory_used" : k == 2 ? "cpus_busy" : ""
  set ylabel (k == 1 ? "memory [MB]" : k == 2 ? "processors" : k == 3 ? "loopback [MB/s]" : k == 4 ? "switches [1000/s]" : \
    meter eq "power" ? "power [W]" : "temperature [°C]") offset -0.5, 0 font ",11"
  said = k == 1 ? "of the process" : k == 2 ? "at work for the process" : k == 3 ? "sent" : k == 4 ? "context switches of the host" : \
    meter eq "power" ? "first meter" : "first sensor"
  panel_number = k; key_lines = k < 3 ? 2 : 1
  if (narrow) { @column; set ylabel offset 2, 0; set format x "%g" }
  plot for [c = 1:4] "regions.dat" using (int($4) == c ? $2 : NaN):(bottom):2:3:(bottom):(ceiling) with boxxyerror \
         fillcolor rgb fill[c] notitle, \
       "metrics.dat" using (of(two)):($3 - (k == 1 ? used : 0)) with lines linetype 2 linewidth 1.2 \
         title (k == 1 ? "of the host, increase since the start" : k == 2 ? "of the host" : ""), \
       "metrics.dat" using (of(one)):(shown * $3) with lines linetype 1 title said
}
unset multiplot
