-- SPDX-License-Identifier: BSD-3-Clause
-- Qt 5's Gui and Widgets: some ten thousand functions; building the wrapper takes minutes.
--
-- Inline functions of the headers are the program's, and so are calls of QtCore, which is not wrapped. Slots and virtual
-- functions are called through tables: only a run-time wrapper sees those that another library overrides.
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
  record = { "QWidget::resize:1" },
  calls = {},
  example = [[
// A window with a label and a list, and a picture drawn by lines; without a screen.
#include "headers.h"

#include <cstdio>

static int blue(const QImage &picture) {
  int n = 0;
  for (int y = 0; y < 20; y++)
    for (int x = 0; x < 20; x++) n += picture.pixelColor(x, y) == QColor(Qt::blue);
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

  QImage picture(20, 20, QImage::Format_ARGB32);
  picture.fill(Qt::white);
  QPainter painter(&picture);
  painter.setPen(QColor(Qt::blue));
  for (int y = 0; y < 10; y++) painter.drawLine(0, y, 19, y);
  painter.end();
  int drawn = blue(picture);
  std::printf("%d entries, %d of 400 are blue, %d wide\n", list.count(), drawn, window.width());
  return list.count() == 25 && drawn == 200 && window.width() == 200 ? 0 : 1;
}
]],
}
