# SPDX-License-Identifier: BSD-3-Clause
# plots/theme.gp - how pmlua's figures look: sizes, fonts, colours that colour-blind readers can tell apart, grid, key.
#
# A plot script runs in the folder of a run and begins with
#
#     load "theme.gp"
#
# It then has, from run.gp (written from meta.json and the header of data.dat):
#   run_name, run_description, run_unit ("ns"), run_command, run_complete (0 or 1), run_status, run_subtitle (machine, kernel, date, n),
#   run_cells (rows of data.dat), run_factors (how many), c_NAME: the number of column NAME of data.dat (c_median, c_q1 ...),
#   run_factor_kinds: words, "text" or "number"; run_factor_units: words, "-": none
#   run_metrics, run_metric_columns, run_metric_rounds, run_metric_units: words, the metrics' names, their columns of data.dat
#   and rounds.dat, and their units ("-": none)
# and from here: format, w_line (line width), plain(text), tic(text), remark(0), short(text), fit(text, share), free_label(...),
# narrow (1 for one column of a page), caption_height, caption_drawn (a macro for panels after the first), col_blue, col_orange ... and the line types 1 to 8 in these colours.
#
# Drawn again by hand:  gnuplot plot.gp   or   gnuplot -e "format='png'" plot.gp
# Smaller or larger, with the same fonts:  gnuplot -e "size_factor=1.5" plot.gp

load "run.gp"

if (!exists("format")) format = "svg"
if (!exists("output_file")) output_file = "plot." . format
if (!exists("plot_width")) plot_width = 960
if (!exists("plot_height")) plot_height = 600
if (exists("size_factor")) { plot_width = int(size_factor * plot_width); plot_height = int(size_factor * plot_height) }

# Sizes of fonts are 1/96 inch, as in SVG: a picture has the same proportions in each format.
points = 0.75
if (!exists("png_scale")) png_scale = 2 # dots of a PNG for each pixel of 1/96 inch
if (format eq "png") {
  set terminal pngcairo enhanced size png_scale*plot_width, png_scale*plot_height fontscale png_scale*points \
    linewidth png_scale pointscale png_scale \
    font "DejaVu Sans,12" background "#ffffff"
}
if (format eq "pdf") {
  set terminal pdfcairo enhanced size plot_width / 96.0, plot_height / 96.0 fontscale points \
    font "DejaVu Sans,12" background "#ffffff" rounded
}
if (format eq "eps") {
  set terminal epscairo enhanced size plot_width / 96.0, plot_height / 96.0 fontscale points \
    font "DejaVu Sans,12" background "#ffffff" rounded
}
if (format ne "png" && format ne "pdf" && format ne "svg" && format ne "eps") {
  printerr sprintf("format='%s' is unknown; choose svg, png, pdf or eps", format)
  exit status 1
}
if (format eq "svg") {
  set terminal svg enhanced size plot_width, plot_height font "DejaVu Sans,Helvetica,Arial,sans-serif,12" \
    background "#ffffff" rounded
}
set output output_file
set encoding utf8

# Okabe and Ito, Color universal design (2008)
col_blue = "#005A94"; col_vermillion = "#D55E00"; col_green = "#2BB58A"; col_orange = "#F2B544"
col_purple = "#CC79A7"; col_sky = "#56B4E9"; col_yellow = "#F0E442"; col_black = "#000000"; col_grey = "#7f7f7f"
w_line = 1.8
set linetype 1 linecolor rgb col_blue       linewidth w_line pointtype 7
set linetype 2 linecolor rgb col_vermillion linewidth w_line pointtype 5
set linetype 3 linecolor rgb col_green      linewidth w_line pointtype 9
set linetype 4 linecolor rgb col_orange     linewidth w_line pointtype 11
set linetype 5 linecolor rgb col_purple     linewidth w_line pointtype 13
set linetype 6 linecolor rgb col_sky        linewidth w_line pointtype 6
set linetype 7 linecolor rgb col_yellow     linewidth w_line pointtype 4
set linetype 8 linecolor rgb col_black      linewidth w_line pointtype 8
set linetype cycle 8

# In data files blanks, quotes and so on are %20, %22 ... (of control bytes there is nothing to show).
hex(c) = strlen(c) == 1 ? strstrt("0123456789ABCDEF", c) - 1 : -1
code(s) = hex(s[2:2]) < 0 || hex(s[3:3]) < 0 ? 0 : 16 * hex(s[2:2]) + hex(s[3:3])
decoded(s) = code(s) > 31 && code(s) < 127 ? sprintf("%c", code(s)) . plain(s[4:*]) : "%" . plain(s[2:*])
plain(s) = strstrt(s, "%") ? s[1:strstrt(s, "%") - 1] . decoded(s[strstrt(s, "%"):*]) : s

# The label of `set xtics add` goes through gprintf, which takes % for the beginning of a format; labels by xtic() do not.
tic(s) = strstrt(s, "%") ? s[1:strstrt(s, "%")] . "%" . tic(s[strstrt(s, "%") + 1:*]) : s

# In data.dat: why a cell was not measured, or what its median says little of. Folders of before have no shapes.
if (!exists("c_shape") && exists("c_status")) c_shape = c_status
remark(dummy) = strcol(c_status) ne "ok" ? plain(strcol(c_status)) : strcol(c_shape) eq "steady" || strcol(c_shape) eq "ok" ? "" \
  : plain(strcol(c_shape))

# Beside a point there is room for a few words: those before the numbers.
short(s) = strstrt(s, ": ") ? s[1:strstrt(s, ": ") - 1] : s

# A label at data goes to the first of so many places, one above the other, at which it overlaps no earlier one; "" without such
# a place. x and y are the left end and the middle of its text in pixels from the lower left corner; free_label_y is the y found.
most_boxes = 400
array box_x[most_boxes]; array box_y[most_boxes]; array box_w[most_boxes]; array box_h[most_boxes]
boxes = 0
take_box(x, y, w, h) = boxes < most_boxes && (boxes = boxes + 1, box_x[boxes] = x, box_y[boxes] = y, box_w[boxes] = w, box_h[boxes] = h, 1)
is_taken(x, y, w, h) = boxes > 0 && (sum [i = 1:boxes] (x < box_x[i] + box_w[i] && box_x[i] < x + w && \
  abs(y - box_y[i]) < 0.5 * (h + box_h[i]))) > 0
box_above(x, y, w, h, tries) = tries < 1 ? NaN : is_taken(x, y, w, h) ? box_above(x, y + h, w, h, tries - 1) : y
text_wide(s, size) = 0.64 * size * strlen(s)
free_label(x, y, s, size, tries) = (free_label_y = box_above(x, y, text_wide(s, size), 1.1 * size, tries), \
  free_label_y == free_label_y && take_box(x, free_label_y, text_wide(s, size), 1.1 * size) ? s : "")

# At most this share of the picture's width, in the font of the terminal: a text that is longer ends in dots.
fit(s, share) = (n = int(share * plot_width / 8.4), strlen(s) > n ? s[1:n - 1] . "…" : s)

set border 3 linecolor rgb "#404040" linewidth 1
set tics nomirror out scale 0.6
set grid xtics ytics linetype 1 linecolor rgb "#dddddd" linewidth 0.6 dashtype solid
set key outside right top vertical Left reverse samplen 1.6 spacing 1.15 noenhanced
set style fill solid 0.35 border
set boxwidth 0.6 relative
set datafile missing "NaN"
set title noenhanced
# A picture for one column of a page has no room beside the curves, and its smallest text is 7 pt when it is printed in its size.
# Its caption has as many lines as the run's subtitle needs: machine, kernel, date, version, n.
narrow = plot_width < 500
tiny = narrow ? 9.4 : plot_width / 0.75 / (strlen(run_subtitle) + 1) # 8 where the whole line has room
tiny = !narrow && tiny > 8 ? 8 : tiny
text_font(size) = sprintf(",%g", narrow && size < 9.4 ? 9.4 : size)
per_line = int((plot_width - 8) / (0.62 * tiny))
last_blank(s, n) = n < 2 ? per_line : s[n:n] eq " " ? n : last_blank(s, n - 1)
line_end(s) = strlen(s) <= per_line || !narrow ? strlen(s) : last_blank(s, per_line)
# The labels 1, 2 ... at the head of a narrow figure have as many lines as they need. @column_head places them. @column places
# panel panel_number of panel_count, one below the other, and its legend of key_lines lines,
# key_total in all panels, below its axis.
head_lines = 0
array head_line[9]
head_wrapped(s) = (head_lines = head_lines + 1, strlen(s) <= per_line ? s : s[1:line_end(s)] . "\n" . head_wrapped(s[line_end(s) + 1:*]))
heads = 0
headed(k, s) = narrow ? (heads = k, head_line[k] = head_lines, head_wrapped(s)) : s
column_head = 'do for [k = 1:heads] { set label k at screen 0.012, screen 1 - (14.0 + 16 * head_line[k]) / plot_height font text_font(9) }'
column = 'if (panel_number == 1) { column_y = plot_height - 16.0 * head_lines - 8; \
    panel_tall = (column_y - caption_height - 84 * panel_count - 17 * key_total) / panel_count }; \
  panel_top = column_y - 30; panel_bottom = panel_top - panel_tall; column_y = panel_bottom - 54 - 17 * key_lines; \
  set title font ",9.4" offset -0.4 * column_left / 9, 0; set xlabel font ",9.4"; set ylabel font ",9.4"; \
  set lmargin at screen column_left / plot_width; set rmargin at screen 1 - 22.0 / plot_width; \
  set tmargin at screen panel_top / plot_height; set bmargin at screen panel_bottom / plot_height; \
  set key at screen 0.5, screen (panel_bottom - 54 - 8.5 * key_lines) / plot_height center center vertical font ",10"'
panel_number = 1
panel_count = 1
column_left = 68.0
key_total = 0
key_lines = 0
caption_side = narrow ? "left" : "right"
caption_lines = 0
array caption_line[100]
caption_of(s) = s eq "" ? 0 : (caption_lines = caption_lines + 1, caption_line[caption_lines] = s[1:line_end(s)], caption_of(s[line_end(s) + 1:*]))
caption_end = caption_of(run_subtitle)
caption_height = narrow ? 13.0 * caption_lines : 0
caption_drawn = "unset label 9001; unset label 9002" # for panels after the first
do for [i = 1:caption_lines] {
  set label 9000 + (i == 1 ? 1 : 9 + i) caption_line[i] at screen (narrow ? 0.01 : 0.995), \
    screen (narrow ? caption_height - 13 * i + 6 : 8.0) / plot_height @caption_side noenhanced font sprintf(",%.1f", tiny) textcolor rgb col_grey
  if (i > 1) { caption_drawn = caption_drawn . sprintf("; unset label %d", 9009 + i) }
}
if (!run_complete) set label 9002 "incomplete run (" . run_status . ")" at screen 0.005, screen (narrow ? caption_height + 6.0 : 0.012 * plot_height) / plot_height left noenhanced \
  font text_font(9) textcolor rgb col_vermillion
