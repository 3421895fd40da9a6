# SPDX-License-Identifier: BSD-3-Clause
# plots/lines.gp - the figure that an experiment's table describes: plot = { x=, lines=, facet=, rows=, y=, kind= ... }.
#
# run.gp defines it as figure_x, figure_lines, figure_facet, figure_rows (columns of data.dat, 0: none), each with its _levels and
# with _words that name them, figure_y with its interval and scale, and the ends of both axes in each panel, row by row.
# figure_kind "violin" and "cumulative" are drawn of distribution.dat, whose columns 1 to 4 are these factors, 5 the value, 6 a
# half width or a share, and 7 the median.
load "theme.gp"

facets = figure_facet ? words(figure_facet_levels) : 1
panels = facets * (figure_rows ? words(figure_rows_levels) : 1)
lines = figure_lines ? words(figure_lines_levels) : 1
across = figure_rows ? facets : panels <= (narrow ? 1 : 3) ? panels : ceil(sqrt(panels))
if (narrow && across > 2) { across = 2 }
down = ceil(1.0 * panels / across)
free_x = panels > 1 && (sum [p=2:panels] (word(figure_x_from, p) ne word(figure_x_from, 1) || word(figure_x_to, p) ne word(figure_x_to, 1)))
free_y = panels > 1 && (sum [p=2:panels] (word(figure_y_from, p) ne word(figure_y_from, 1) || word(figure_y_to, p) ne word(figure_y_to, 1)))

is_level(col, text, level) = col == 0 ? 1 : text ? strcol(col) eq level : column(col) == real(level)
facet_of(p) = (p - 1) % facets + 1
row_of(p) = (p - 1) / facets + 1
is_in(p, l) = is_level(figure_facet, figure_facet_text, word(figure_facet_levels, facet_of(p))) && \
  is_level(figure_rows, figure_rows_text, word(figure_rows_levels, row_of(p))) && \
  is_level(figure_lines, figure_lines_text, word(figure_lines_levels, l))
# Texts stand side by side, and what belongs to one of them a little apart.
violins = figure_kind eq "violin"
apart(l) = (violins ? 0.84 / lines : 0.08) * (l - 0.5 * (lines + 1))
x_of(l) = figure_x_text ? (sum [i=1:words(figure_x_levels)] (word(figure_x_levels, i) eq strcol(figure_x) ? i : 0)) + apart(l) \
  : column(figure_x)
height(col, p, l) = is_in(p, l) ? figure_y_scale * column(col) : NaN
is_word(level, text, name) = text ? plain(level) : name . " " . plain(level)
panel_title(p) = (figure_facet ? is_word(word(figure_facet_words, facet_of(p)), figure_facet_text, figure_facet_name) : "") . \
  (figure_facet && figure_rows ? ", " : "") . \
  (figure_rows ? is_word(word(figure_rows_words, row_of(p)), figure_rows_text, figure_rows_name) : "")
line_name(l) = !figure_lines ? "" : narrow ? is_word(word(figure_lines_words, l), figure_lines_text, figure_lines_name) : \
  plain(word(figure_lines_words, l))

# Space for text is in pixels, independent of the size of the picture.
key_rows = 0
if (narrow && figure_lines) { # beneath, with as many columns as the longest name allows
  longest = 0
  do for [l=1:lines] { n = strlen(line_name(l)); longest = n > longest ? n : longest }
  key_columns = int((plot_width - 16) / (46 + 7.4 * longest))
  key_rows = ceil(1.0 * lines / (key_columns < 1 ? 1 : key_columns))
}
right = 1 - (figure_lines && !narrow ? 173.0 : narrow ? 22.0 : 29.0) / plot_width
set pointintervalbox 0
headline = fit(run_name . (strlen(run_description) > 0 ? ": " . run_description : ""), 0.95)
set title headline
if (figure_logx) { set logscale x }
if (figure_logy) { set logscale y }

# The labels of y are chosen here, as many as fit in a panel, so that the margin can have their width.
between = 62.0 # pixels from a panel to the next below: the labels of x and the title
bottom = (narrow ? 66.0 : 78.0) + caption_height + 16 * key_rows
top = panels > 1 ? (narrow ? 66 : 90) : (narrow ? 36 : 66)
tall = (plot_height - bottom - top - (down - 1) * between) / down - (figure_x_text ? 40 : 0)
widest = 0
label_y(at) = (n = strlen(gprintf("% h", at)), widest = n > widest ? n : widest, at)
tics(axis, logarithmic, size, each) = 'low = real(word(figure_'.axis.'_from, p)); high = real(word(figure_'.axis.'_to, p)); \
set '.axis.'range [low : high]; set '.axis.'tics (); size = '.sprintf("%g", size).'; room = size < 2 * '.each.' ? 2 : int(size / '.each.'); \
if ('.logarithmic.') { \
  decades = log10(high / low); \
  every = ceil(decades / (room > 8 ? 8 : room)); \
  finer = decades < 2.5 && size / decades > 2.8 * '.each.'; \
  do for [k = floor(log10(low)) : ceil(log10(high))] { \
    at = 10.0 ** k; \
    if (k % every == 0) { set '.axis.'tics add (label_'.axis.'(at)) }; \
    if (finer) { set '.axis.'tics add (label_'.axis.'(2 * at), label_'.axis.'(5 * at)) }; \
    do for [i = 2:9] { if (every == 1 && (!finer || i != 2 && i != 5)) { set '.axis.'tics add (i * at 1) } } \
  } \
} else { \
  rough = (high - low) / (room > 6 ? 6 : room); \
  power = 10.0 ** floor(log10(rough)); \
  step = power * (rough > 5 * power ? 10 : rough > 2 * power ? 5 : rough > power ? 2 : 1); \
  do for [k = ceil(low / step) : floor(high / step)] { set '.axis.'tics add (label_'.axis.'(k * step)) } \
}'
label_x(at) = at
tics_of_y = tics("y", "figure_logy", tall, "18")
do for [p=1:panels] { @tics_of_y }
labels_y = (narrow ? 20 : 28) + (narrow ? 7.2 : 8.8) * (widest < (narrow ? 4 : 6) ? (narrow ? 4 : 6) : widest)
left = (20 + labels_y) / plot_width
aside = (free_y ? labels_y : 34.0) / plot_width

# Text labels that do not fit are rotated; a number that would overlap its predecessor is left out.
char = 13.4 * across / plot_width / (right - left)
turned = figure_x_text && char * (strlen(figure_x_words) + 1) > 1
if (figure_x_tics) {
  set xtics () noenhanced
  set xtics rotate by (turned ? -40 : 0)
  free = -1.0
  longest = 0
  x_min = real(word(figure_x_from, 1)); x_max = real(word(figure_x_to, 1))
  do for [i=1:words(figure_x_levels)] {
    label = tic(plain(word(figure_x_words, i)))
    if (strlen(label) > longest) { longest = strlen(label) > 30 ? 30 : strlen(label) }
    at = figure_x_text ? i : real(word(figure_x_levels, i))
    share = figure_x_text ? i : figure_logx ? log(at / x_min) / log(x_max / x_min) : (at - x_min) / (x_max - x_min)
    set xtics add ((share - 0.5 * char * strlen(label) > free ? label : "") at)
    if (share - 0.5 * char * strlen(label) > free) { free = share + 0.5 * char * (strlen(label) + 1) }
  }
} else { set format x "% h" }
tics_of_x = figure_x_tics ? "" : tics("x", "figure_logx", (right - left - (across - 1) * aside) * plot_width / across, narrow ? "52" : "64")
if (figure_x_text) { set grid noxtics }
if (turned && !figure_lines) { right = 1 - 96.0 / plot_width }
below = (bottom + (turned ? 5.7 * longest - (narrow ? 6 : 42) : 0)) / plot_height
above(pixels) = 1 - real(pixels) / plot_height

if (panels > 1) {
  set label 9004 headline at screen 0.5, screen above(27) center noenhanced
  set multiplot layout down, across margins screen left, right, below, above(top) spacing screen aside, \
    screen (between + (turned ? 5.7 * longest - 14 : 0)) / plot_height
} else {
  set lmargin at screen left; set rmargin at screen right; set bmargin at screen below; set tmargin at screen above(top)
}
if (narrow) {
  set key at screen 0.5, screen (caption_height + 8.0 * key_rows + 8) / plot_height center center horizontal maxrows key_rows
} else { if (panels > 1) { set key at screen 0.985, screen above(78) right top vertical } }
# One label for all panels along each axis.
if (narrow) { turned = 0 }
if (turned) { set label 9003 figure_x_label at screen 0.02, screen 12.0 / plot_height left noenhanced }
if (!turned) { set label 9003 figure_x_label at screen 0.5 * (left + right), screen (narrow ? caption_height + 16 * key_rows + 26 : 33.0) / plot_height center noenhanced }
set label 9005 fit(figure_y_label, 0.75 * plot_height / plot_width) at screen (narrow ? 11.0 : 19.0) / plot_width, \
  screen 0.5 * (below + above(top)) center rotate noenhanced
if (figure_lines) { set key title figure_lines_label noenhanced left } else { set key off }
if (narrow) { set key notitle }
style = figure_x_text ? "points" : "linespoints dashtype 1 + (l - 1) % 5"

do for [p=1:panels] {
  if (panels > 1) { set title fit(panel_title(p), (narrow ? 1.4 : 0.95) * (right - left) / across) font (narrow ? ",9.4" : ",12") }
  @tics_of_y
  @tics_of_x
  set xrange [real(word(figure_x_from, p)) : real(word(figure_x_to, p))]
  set format y (free_y || (p - 1) % across == 0 ? "% h" : "")
  if (p == 2) { set key off; @caption_drawn; unset label 9003; unset label 9004; unset label 9005 }
  if (violins) {
    plot for [l=1:lines] "distribution.dat" using (is_in(p, l) ? x_of(l) + 0.8 / lines * $6 : NaN):(height(5, p, l)) \
        with filledcurves closed linetype l fillstyle solid 0.4 border title line_name(l), \
      for [l=1:lines] "" using (x_of(l)):(height(7, p, l)) with points pointtype 7 pointsize 0.7 linecolor rgb col_black notitle
  } else { if (figure_kind eq "cumulative") {
    plot for [l=1:lines] "distribution.dat" using (height(5, p, l)):6 with steps linetype l dashtype 1 + (l - 1) % 5 \
      title line_name(l)
  } else {
    plot for [l=1:lines] "data.dat" using (x_of(l)):(height(figure_y, p, l)):(height(figure_y_low ? figure_y_low : figure_y, p, l)):\
(height(figure_y_high ? figure_y_high : figure_y, p, l)) with yerrorbars linetype l pointsize 0.8 notitle, \
      for [l=1:lines] "" using (x_of(l)):(height(figure_y, p, l)) smooth unique with @style linetype l pointsize 0.8 \
        title line_name(l)
  } }
}
if (panels > 1) { unset multiplot }
