-- SPDX-License-Identifier: BSD-3-Clause
-- Qt 5's Gui and Widgets: some eleven thousand functions; building the wrapper takes about two minutes and 1.5 GB.
--
-- Inline functions of the headers are part of the program, and QtCore is not wrapped. Qt's calls of virtual functions go
-- through tables: a run-time wrapper sees them, pmlua record does not. QPolygon's putPoints and setPoints take '...'.
--
--     pmlua wrap init --recipe qt5

return {
  name = "qt5",
  title = "Qt 5: Gui, Widgets",
  package = "qtbase5-dev",
  language = "c++",
  headers = { "<QtGui/QtGui>", "<QtWidgets/QtWidgets>" },
  cflags = "$(pkg-config --cflags Qt5Widgets Qt5Gui) -fPIC",
  libs = "$(pkg-config --libs Qt5Widgets Qt5Gui)",
  record = { "QImage::QImage(int, int, QImage::Format):1", "QPainter::drawLines(QLine const*, int):2" },
  filter = [[
# what Qt's macros and headers declare, and its libraries keep for themselves
SCOREP_REGION_NAMES_BEGIN
  EXCLUDE *::qt_static_metacall* *::qt_check_for_QGADGET_macro*
  EXCLUDE QOpenGLVersionFunctionsStorage::* QAbstractOpenGLFunctionsPrivate::* QOpenGLFunctions_*Backend::init*
  EXCLUDE QOpenGLFunctionsPrivate::* QOpenGLExtraFunctionsPrivate::* QGlyphRun::operator+*
  EXCLUDE qt_format_text* qt_closest* qt_mac_* QGraphicsLayoutItem::effectiveSizeHints*
  EXCLUDE QScrollerProperties::QScrollerProperties(QScrollerPropertiesPrivate*
SCOREP_REGION_NAMES_END
]],
  calls = {
    ["QApplication::QApplication(int&, char**, int)"] = 1, ["QApplication::~QApplication()"] = 1,
    ["QWidget::QWidget(QWidget*, QFlags<Qt::WindowType>)"] = 1, ["QWidget::~QWidget()"] = 1, ["QWidget::show()"] = 1,
    ["QWidget::resize(QSize const&)"] = 1, ["QVBoxLayout::QVBoxLayout(QWidget*)"] = 1, ["QVBoxLayout::~QVBoxLayout()"] = 1,
    ["QBoxLayout::addWidget(QWidget*, int, QFlags<Qt::AlignmentFlag>)"] = 2,
    ["QLabel::QLabel(QString const&, QWidget*, QFlags<Qt::WindowType>)"] = 1, ["QLabel::~QLabel()"] = 1,
    ["QListWidget::QListWidget(QWidget*)"] = 1, ["QListWidget::~QListWidget()"] = 1,
    -- addItem() is inline: it calls count() and inserts
    ["QListWidget::count() const"] = 27, ["QListWidget::insertItem(int, QString const&)"] = 25,
    ["QImage::QImage(int, int, QImage::Format)"] = 5, ["QImage::fill(Qt::GlobalColor)"] = 5, ["QImage::~QImage()"] = 5,
    ["QImage::pixelColor(int, int) const"] = 5500, ["QColor::operator==(QColor const&) const"] = 5500,
    ["QColor::QColor(Qt::GlobalColor)"] = 5505, ["QPainter::QPainter(QPaintDevice*)"] = 5, ["QPainter::~QPainter()"] = 5,
    ["QPainter::setPen(QColor const&)"] = 5, ["QPainter::drawLines(QLine const*, int)"] = 75, ["QPainter::end()"] = 5,
  },
  example = [[
// A window with a label and a list, and pictures of 10 to 50 columns, half of them drawn by lines; without a screen.
#include "headers.h"

#include <cstdio>

// How many of its pixels are blue, after the upper half was drawn.
static int blue(int size) {
  QImage picture(size, size, QImage::Format_ARGB32);
  picture.fill(Qt::white);
  QPainter painter(&picture);
  painter.setPen(QColor(Qt::blue));
  for (int y = 0; y < size / 2; y++) painter.drawLine(0, y, size - 1, y);
  painter.end();
  int n = 0;
  for (int y = 0; y < size; y++)
    for (int x = 0; x < size; x++) n += picture.pixelColor(x, y) == QColor(Qt::blue);
  return n;
}

int main(int argc, char **argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  QWidget window;
  QVBoxLayout layout(&window);
  QLabel label("interception");
  QListWidget list;
  for (int i = 0; i < 25; i++) list.addItem(QString::number(i));
  layout.addWidget(&label);
  layout.addWidget(&list);
  window.resize(200, 100);
  window.show();
  QCoreApplication::processEvents();

  int drawn = 0;
  for (int size = 10; size <= 50; size += 10) drawn += blue(size);
  std::printf("%d entries, %d of 5500 are blue, %d wide\n", list.count(), drawn, window.width());
  return list.count() == 25 && drawn == 2750 && window.width() == 200 ? 0 : 1;
}
]],
}
