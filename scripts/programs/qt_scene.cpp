/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/qt_scene.cpp - draw with Qt 5 without a screen (QT_QPA_PLATFORM=offscreen): painted pictures, and a
 * window of widgets that is grabbed; one frame in ten is written as PNG to memory.
 *
 * qt_scene [FRAMES]: prints the number of bytes written.
 */
#include <QtGui/QtGui>
#include <QtWidgets/QtWidgets>

#include <cstdio>
#include <cstdlib>

QImage paint(int frame);
QWidget *window();
qint64 encode(const QImage &image);

QImage paint(int frame) {
  QImage image(640, 480, QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::white);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  for (int i = 0; i < 60; i++) {
    QLinearGradient gradient(0, 0, 640, 480);
    gradient.setColorAt(0, QColor::fromHsv((i * 6 + frame) % 360, 160, 255, 120));
    gradient.setColorAt(1, QColor::fromHsv((i * 6 + 180) % 360, 200, 200, 60));
    QPainterPath path;
    path.addEllipse(QPointF(320 + 5 * i * std::cos(0.3 * i + frame), 240 + 4 * i * std::sin(0.3 * i)), 60, 40);
    painter.fillPath(path, gradient);
    painter.drawText(QPointF(8 * i, 12 + 8 * i), QString::number(i * frame));
  }
  return image;
}

QWidget *window() {
  auto *w = new QWidget;
  auto *grid = new QGridLayout(w);
  for (int i = 0; i < 24; i++) {
    grid->addWidget(new QPushButton(QString("Button %1").arg(i)), i, 0);
    grid->addWidget(new QLineEdit(QString("Text %1").arg(i)), i, 1);
    auto *bar = new QProgressBar;
    bar->setValue(4 * i);
    grid->addWidget(bar, i, 2);
  }
  w->resize(640, 480);
  return w;
}

qint64 encode(const QImage &image) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  return image.save(&buffer, "PNG") ? bytes.size() : 0;
}

int main(int argc, char **argv) {
  QApplication application(argc, argv);
  const int frames = argc > 1 ? std::atoi(argv[1]) : 50;
  QScopedPointer<QWidget> widgets(window());
  qint64 bytes = 0;
  for (int frame = 0; frame < frames; frame++) {
    widgets->resize(640 + frame, 480 + frame);
    const QImage painted = paint(frame), grabbed = widgets->grab().toImage();
    if (frame % 10 == 0) bytes += encode(painted) + encode(grabbed);
  }
  std::printf("%d frames, %lld bytes\n", frames, static_cast<long long>(bytes));
  return bytes > 0 ? 0 : 1;
}
