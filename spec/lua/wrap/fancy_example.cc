/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/lua/wrap/fancy_example.cc - calls everything of the library; what it prints does not depend on wrappers. */
#include "fancy.hpp"

#include <iostream>

using namespace fancy;

static int visit(const Shape &s) {
  return (int)s.length(2.0);
}

static void shapes() {
  char text[64];
  Shape a("first"), b;
  const Shape &c = a;
  std::cout << a.length() << ' ' << c.name() << ' ' << a.rename("other") << ' ' << a.name() << '\n';
  Shape::Corner corner = c.corner(4);
  std::cout << c.kind() << ' ' << corner.number << ' ' << c.corner(&corner)->number << ' ' << Shape::count() << '\n';
  std::cout << c.both({1, 2}).first << ' ' << c.points({1.5, 2.5}, 3).at(2).y << ' ' << c.copy()->name() << '\n';
  a += b;
  std::cout << (a == b) << ' ' << a(6, 7) << ' ' << a[2] << ' ' << (int)a << ' ' << a.use_secret() << ' '
            << a.in_header() << '\n';
  int length = a.print(text, sizeof text, "%d %s %.1f", 1, "two", 3.0);
  std::cout << length << ' ' << text << ' ' << a.sum(3, 1, 2, 3) << '\n';
  try {
    a.check(1);
    a.check(-1);
  } catch (const std::invalid_argument &e) {
    std::cout << "caught " << e.what() << '\n';
  }
  Left left;
  std::cout << left.length(1.0) << ' ' << static_cast<Shape &>(left).name() << '\n';
}

static void values() {
  Shape s("values");
  Counted one(1), two(2);
  int taken = s.take(one, two, Counted(3));
  std::cout << taken << ' ' << Counted::copies << ' ' << s.give(9).value << ' ' << Counted::copies << '\n';
}

static void functions() {
  int result = 0, list[3] = {1, 2, 3};
  Shape s("visited");
  area(s, visit, result);
  std::cout << area(3) << ' ' << area(3, 4) << ' ' << area(1.5) << ' ' << result << ' ' << sum_of(list) << ' '
            << pick(true)(1) << ' ' << pick(false)(1) << ' ' << fancy_plain(1) << '\n';
}

static void templates() {
  Stack<int> numbers;
  Stack<std::string> texts;
  for (int i = 0; i < 10; i++) numbers.push(i);
  texts.push("text");
  const Stack<int> &same = numbers;
  std::cout << numbers.pop() << ' ' << numbers.size() << ' ' << same.top() << ' ' << ++numbers.top() << ' '
            << Stack<int>::made() << ' ' << numbers.sum(1, 2) << ' ' << numbers.as(0.5) << ' ' << texts.pop() << ' '
            << largest(3, 4) << ' ' << largest(std::string("a"), std::string("b")) << ' ' << Special<char>().size()
            << '\n';
}

int main() {
  shapes();
  values();
  functions();
  templates();
  std::cout << Counted::alive << ' ' << Shape::count() << '\n';
  return 0;
}
