# SPDX-License-Identifier: BSD-3-Clause
# plots/traffic.gp - who sent how much to whom in a job of MPI: a square for each sender and receiver; drawn by
# `pmlua report` with --plot FILE.
#
# traffic.dat: sender, receiver, messages, bytes, of blocks of ranks. run.gp says blocks, ranks_of_block, most_bytes and
# least_bytes of a square.
load "run.gp"
plot_width = 860
plot_height = 800
load "theme.gp"

unit = most_bytes >= 1e9 ? 1e9 : most_bytes >= 1e6 ? 1e6 : most_bytes >= 1e3 ? 1e3 : 1
unit_name = unit == 1e9 ? "GB" : unit == 1e6 ? "MB" : unit == 1e3 ? "kB" : "B"
b = ranks_of_block
all = blocks * b
squares = b == 1 ? "" : sprintf(" (a square is %d x %d ranks)", b, b)

set title run_name
set xlabel "to rank" . squares
set ylabel "from rank"
set cblabel "data sent [" . unit_name . "]" offset 1.5
set xrange [-0.5 : all - 0.5]
set yrange [all - 0.5 : -0.5]
set size ratio 1
set tics out
if (all <= 16) set xtics 1; set ytics 1
unset grid
unset key
set style fill solid 1 noborder
set palette defined (0 col_yellow, 0.5 col_orange, 1 col_vermillion)
spread = most_bytes > 100 * least_bytes
if (spread) set logscale cb
set cbrange [(spread ? least_bytes / unit : 0) : most_bytes / unit]

plot "traffic.dat" using ($2 * b):($1 * b):($2 * b - 0.5):($2 * b + b - 0.5):($1 * b - 0.5):($1 * b + b - 0.5):($4 / unit) \
  with boxxyerror fillstyle solid 1 noborder linecolor palette notitle
