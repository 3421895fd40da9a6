# SPDX-License-Identifier: BSD-3-Clause
# plots/scaling.gp - an MPI program with 1, 2, 4, ... ranks: its time, its efficiency and the factors of that, and the
# share of each section, for strong and weak scaling.
#
# Reads data.dat, sections.dat and job.dat.

plot_width = 1180
plot_height = 800
load "theme.gp"

# sections.dat: scaling, ranks, number, section, time, longest, share, mpi, balance, efficiency, below, place,
# communicates; job.dat: program, mpi, cpus
keep(p, m, c) = (job_program = p, job_mpi = m, cpus = c, 0)
stats "job.dat" using (keep(strcol(1), strcol(2), $3)) nooutput
log2(n) = log(n) / log(2)
is(scaling) = strcol(c_scaling) eq scaling && column(c_samples) > 0
cell(scaling, c) = is(scaling) ? column(c) : NaN
x(n) = log2(n)

# The measured numbers of ranks, kinds of scaling, median on one rank, and sections.
most = 1; ranks_seen = " "; shown = ""
see(n) = (most = n > most ? n : most, ranks_seen = strstrt(ranks_seen, sprintf(" %d ", n)) ? ranks_seen : ranks_seen . sprintf("%d ", n), 0)
show(s) = (shown = strstrt(shown, s) ? shown : shown . s . " ", 0)
stats "data.dat" using (see(int(column(c_ranks))), column(c_samples) > 0 ? show(strcol(c_scaling)) : 0) nooutput
last_alone = 0; shared = 0 # ranks
crowd(n, p) = (p > 1 ? (shared = 1) : (last_alone = n > last_alone ? n : last_alone), 0)
stats "data.dat" using (column(c_samples) > 0 ? crowd(column(c_ranks), column(c_per_cpu)) : 0) nooutput
base_strong = NaN; base_weak = NaN
keep_base(s, v) = (s eq "strong" ? (base_strong = v) : (base_weak = v), 0)
stats "data.dat" using (column(c_ranks) == 1 && column(c_samples) > 0 ? keep_base(strcol(c_scaling), column(c_median)) : 0) nooutput
least = 1; longest = 1
stats "data.dat" using (column(c_samples) > 0 ? column(c_min) : NaN):(column(c_max)) name "seconds" nooutput
if (words(shown) > 0) { least = seconds_min_x; longest = seconds_max_y }
sections = 0
array section_name[64]
array section_rgb[64]
array section_fill[64]
rgb_of(communicates, place) = communicates == 0 ? word("#00466F #2C86BC #2BB58A #8CCBF0 #e3e3e3", place < 5 ? place : 5) \
  : word("#D55E00 #F2B544 #7A3300 #CC79A7 #7f7f7f", place < 5 ? place : 5)
# Communication is hatched.
fill_of(communicates, place) = communicates == 0 ? 3 : word("4 5 6 7 2", place < 5 ? place : 5) + 0
keep_section(n, name, communicates, place) = n > 64 ? 0 : (sections = n > sections ? n : sections, section_name[n] = plain(name), \
  section_rgb[n] = rgb_of(communicates, place), section_fill[n] = fill_of(communicates, place), 0)
if (words(shown) > 0) { stats "sections.dat" using (keep_section(int($3), strcol(4), $13, int($12))) nooutput }

set multiplot
set label 1 headed(1, sprintf("Scaling of %s, %s, %d cpu%s", plain(job_program), plain(job_mpi), cpus, cpus == 1 ? "" : "s")) at screen 0.012, 0.965 left \
  font ",16" noenhanced
set xrange [-0.4 : log2(most) + 0.4]
set xtics ()
do for [i = 1:words(ranks_seen)] { set xtics add (word(ranks_seen, i) log2(word(ranks_seen, i) + 0)) }
set xlabel "ranks" offset 0, 0.4
if (shared) {
  set object 1 rectangle from first (last_alone > 0 ? log2(last_alone) : -1) + 0.4, graph 0 to graph 1, graph 1 fillcolor rgb "#eeeeee" fillstyle solid \
    noborder behind
  set label 2 "ranks share cpus" at graph 0.985, graph 1.025 right font text_font(9) textcolor rgb "#606060"
}

# (a) the time
set lmargin at screen 0.06
set rmargin at screen 0.275
set tmargin at screen 0.86
set bmargin at screen 0.585
set title "(a) Time of a run" font ",11.5" offset 0, 0.5
set ylabel "time [s]" offset 0.8
set logscale y
set yrange [least / 4 : longest * 2 * (longest / least) ** 0.4] # above, the key
set key at screen 0.03, screen 0.481 left center vertical Left reverse samplen 1.6 spacing 1.05 font ",10"
panel_count = 1 + 2 * words(shown); key_total = 8 + sections
panel_number = 1; key_lines = 3
if (narrow) { @column_head; @column }
plot "data.dat" using (x(column(c_ranks))):(cell("strong", c_median)):(cell("strong", c_min)):(cell("strong", c_max)) \
       with yerrorlines linetype 1 title strstrt(shown, "strong") ? "strong: the same problem" : "", \
     "" using (x(column(c_ranks))):(cell("weak", c_median)):(cell("weak", c_min)):(cell("weak", c_max)) \
       with yerrorlines linetype 2 title strstrt(shown, "weak") ? "weak: a problem for each rank" : "", \
     "" using (x(column(c_ranks))):(is("strong") ? base_strong / column(c_ranks) : NaN) with lines linecolor rgb col_grey \
       dashtype 2 title "ideal", \
     "" using (x(column(c_ranks))):(is("weak") ? base_weak : NaN) with lines linecolor rgb col_grey dashtype 2 notitle
unset label 1
@caption_drawn
unset logscale y

# (b) ... the efficiency and its factors
array factor_column[4] = [c_efficiency, c_computation, c_balance, c_communication]
array factor_name[4] = ["efficiency", "= computation", "x load balance", "x communication"]
factor_rgb(k) = word("#000000 #005A94 #2BB58A #D55E00", k)
set ylabel "[%]" offset 0.8
set yrange [0:*]
set key at screen 0.855, screen 0.86 left top vertical Left reverse samplen 1.6 spacing 1.2 font ",10"
do for [i = 1:words(shown)] {
  set lmargin at screen 0.065 + i * 0.28
  set rmargin at screen words(shown) == 1 ? 0.84 : 0.065 + i * 0.28 + 0.215
  set title sprintf("(%s) Efficiency, %s scaling", word("b c", i), word(shown, i)) font ",11.5"
  if (i > 1) { unset key }
  panel_number = 1 + i; key_lines = i == 1 ? 5 : 0
  if (narrow) { @column; if (i > 1) { unset key } }
  plot for [k = 1:4] "data.dat" using (x(column(c_ranks))):(cell(word(shown, i), factor_column[k])) with linespoints \
    linecolor rgb factor_rgb(k) linewidth (k == 1 ? 2.6 : 1.4) \
    pointtype int(word("7 5 9 11", k)) title factor_name[k], \
    "" using (x(column(c_ranks))):(cell(word(shown, i), c_mpi)) with linespoints linecolor rgb col_orange linewidth 1.4 \
    dashtype 3 pointtype 6 title "time in MPI"
}

# the sections, the ones above the others
set tmargin at screen 0.405
set bmargin at screen 0.09
set ylabel "mean share of the time [%]" offset 0.8
set yrange [0:100]
set style fill solid 0.9 noborder
do for [i = 1:words(shown)] {
  set lmargin at screen 0.06 + (i - 1) * 0.41
  set rmargin at screen words(shown) == 1 ? 0.81 : 0.06 + (i - 1) * 0.41 + 0.34
  set title sprintf("(%s) Sections, %s scaling", word("c d e", words(shown) + i - 1), word(shown, i)) font ",11.5"
  if (i == words(shown)) { set key at graph 1.03, graph 1 left top vertical Left reverse samplen 1.2 spacing 1.2 font ",10" } else { unset key }
  panel_number = words(shown) + 1 + i; key_lines = i == words(shown) ? sections : 0
  if (narrow) { @column; if (i < words(shown)) { unset key } }
  plot for [k = sections:1:-1] "sections.dat" using (strcol(1) eq word(shown, i) && int($3) == k ? x($2) : NaN):($11 + $7 / 2):(x($2) - 0.3): \
    (x($2) + 0.3):($11):($11 + $7) with boxxyerror fillstyle pattern section_fill[k] noborder \
    linecolor rgb section_rgb[k] title section_name[k]
}
unset multiplot
