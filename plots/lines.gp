# SPDX-License-Identifier: BSD-3-Clause
# plots/lines.gp - the figure that an experiment's table describes: plot = { x=, lines=, facet=, y=, logx=, logy= }.
#
# run.gp defines it as figure_x, figure_lines, figure_facet (columns of data.dat, 0: none), each with its _levels and
# with _words that name them, figure_y with its interval and scale, and the ends of both axes, which all panels share.
load "theme.gp"

panels = figure_facet ? words(figure_facet_levels) : 1
lines = figure_lines ? words(figure_lines_levels) : 1
across = panels <= 3 ? panels : ceil(sqrt(panels))
down = ceil(1.0 * panels / across)

is_level(col, text, level) = col == 0 ? 1 : text ? strcol(col) eq level : column(col) == real(level)
is_in(f, l) = is_level(figure_facet, figure_facet_text, word(figure_facet_levels, f)) && \
  is_level(figure_lines, figure_lines_text, word(figure_lines_levels, l))
# Texts stand side by side, and what belongs to one of them a little apart.
apart(l) = 0.08 * (l - 0.5 * (lines + 1))
x_of(l) = figure_x_text ? (sum [i=1:words(figure_x_levels)] (word(figure_x_levels, i) eq strcol(figure_x) ? i : 0)) + apart(l) \
  : column(figure_x)
height(col, f, l) = is_in(f, l) ? figure_y_scale * column(col) : NaN
said(level, text, name) = text ? plain(level) : name . " " . level

# Space for text is in pixels, independent of the size of the picture.
right = 1 - (figure_lines ? 173.0 : 29.0) / plot_width
set pointintervalbox 0
headline = fit(run_name . (strlen(run_description) > 0 ? ": " . run_description : ""), 0.95)
set title headline
margin = figure_x_text ? 0 : figure_logx ? (figure_x_max / figure_x_min) ** 0.03 : 0.03 * (figure_x_max - figure_x_min)
if (!figure_x_text && figure_x_max == figure_x_min) margin = figure_logx ? 2 : 1
if (figure_logx) { set logscale x; set xrange [figure_x_min / margin : figure_x_max * margin] }
if (!figure_logx) { set xrange [figure_x_min - margin : figure_x_max + margin] }

# The labels of y are chosen here, as many as fit in a panel, so that the margin can have their width.
between = 62.0 # pixels from a panel to the next below: the labels of x and the title
tall = (plot_height - 168 - (down - 1) * between) / down - (figure_x_text ? 40 : 0)
room = tall < 36 ? 2 : tall > 144 ? 8 : int(tall / 18)
if (figure_logy) { set logscale y; set yrange [figure_y_min / 1.3 : figure_y_max * 1.3] }
if (!figure_logy) {
  low = figure_y_min >= 0 ? 0 : figure_y_min * 1.08
  high = figure_y_max > 0 ? figure_y_max * 1.08 : 0
  if (low == high) { low = -1; high = 1 }
  set yrange [low : high]
}
set ytics ()
widest = 0
label_y(at) = (n = strlen(gprintf("% h", at)), widest = n > widest ? n : widest, at)
if (figure_logy) {
  decades = log10(figure_y_max / figure_y_min * 1.69)
  every = ceil(decades / room)
  finer = decades < 2.5 && tall / decades > 50
  do for [k = floor(log10(figure_y_min / 1.3)) : ceil(log10(figure_y_max * 1.3))] {
    at = 10.0 ** k
    if (k % every == 0) { set ytics add (label_y(at)) }
    if (finer) { set ytics add (label_y(2 * at), label_y(5 * at)) }
    do for [i = 2:9] { if (every == 1 && (!finer || i != 2 && i != 5)) { set ytics add (i * at 1) } }
  }
} else {
  rough = (high - low) / (room > 6 ? 6 : room)
  power = 10.0 ** floor(log10(rough))
  step = power * (rough > 5 * power ? 10 : rough > 2 * power ? 5 : rough > power ? 2 : 1)
  do for [k = ceil(low / step) : floor(high / step)] { set ytics add (label_y(k * step)) }
}
left = (48 + 8.8 * (widest < 6 ? 6 : widest)) / plot_width

# Text labels that do not fit are rotated; a number that would overlap its predecessor is left out.
char = 13.4 * across / plot_width / (right - left)
turned = figure_x_text && char * (strlen(figure_x_words) + 1) > 1
if (figure_x_tics) {
  set xtics () noenhanced
  set xtics rotate by (turned ? -40 : 0)
  free = -1.0
  longest = 0
  do for [i=1:words(figure_x_levels)] {
    label = tic(plain(word(figure_x_words, i)))
    if (strlen(label) > longest) { longest = strlen(label) > 30 ? 30 : strlen(label) }
    at = figure_x_text ? i : real(word(figure_x_levels, i))
    share = figure_x_text || figure_x_min == figure_x_max ? i : log(at / figure_x_min) / log(1.0 * figure_x_max / figure_x_min)
    set xtics add ((share - 0.5 * char * strlen(label) > free ? label : "") at)
    if (share - 0.5 * char * strlen(label) > free) { free = share + 0.5 * char * (strlen(label) + 1) }
  }
}
if (figure_x_text) { set grid noxtics }
if (turned && !figure_lines) { right = 1 - 96.0 / plot_width }
below = (turned ? 36 + 5.7 * longest : 78.0) / plot_height
above(pixels) = 1 - real(pixels) / plot_height

if (panels > 1) {
  set label 9004 headline at screen 0.5, screen above(27) center noenhanced
  set multiplot layout down, across margins screen left, right, below, above(90) spacing screen 34.0 / plot_width, \
    screen (turned ? below + 12.0 / plot_height : between / plot_height)
  set key at screen 0.985, screen above(78) right top vertical
} else {
  set lmargin at screen left; set rmargin at screen right; set bmargin at screen below; set tmargin at screen above(66)
}
# One label for all panels along each axis.
if (turned) { set label 9003 figure_x_label at screen 0.02, screen 12.0 / plot_height left noenhanced }
if (!turned) { set label 9003 figure_x_label at screen 0.5 * (left + right), screen 33.0 / plot_height center noenhanced }
set label 9005 fit(figure_y_label, 0.75 * plot_height / plot_width) at screen 19.0 / plot_width, screen 0.5 * (below + above(78)) center rotate noenhanced
if (figure_lines) { set key title figure_lines_label noenhanced left } else { set key off }
style = figure_x_text ? "points" : "linespoints dashtype 1 + (l - 1) % 5"

do for [f=1:panels] {
  if (panels > 1) {
    set title fit(said(word(figure_facet_words, f), figure_facet_text, figure_facet_name), 0.95 * (right - left) / across)
  }
  set format y ((f - 1) % across == 0 ? "% h" : "")
  if (f == 2) { set key off; unset label 9001; unset label 9002; unset label 9003; unset label 9004; unset label 9005 }
  plot for [l=1:lines] "data.dat" using (x_of(l)):(height(figure_y, f, l)):(height(figure_y_low ? figure_y_low : figure_y, f, l)):\
(height(figure_y_high ? figure_y_high : figure_y, f, l)) with yerrorbars linetype l pointsize 0.8 notitle, \
    for [l=1:lines] "" using (x_of(l)):(height(figure_y, f, l)) smooth unique with @style linetype l pointsize 0.8 \
      title (figure_lines ? plain(word(figure_lines_words, l)) : "")
}
if (panels > 1) { unset multiplot }
