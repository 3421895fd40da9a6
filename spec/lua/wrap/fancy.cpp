/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/lua/wrap/fancy.cpp - the library. */
#include "fancy.hpp"

#include <cstdio>
#include <cstring>

namespace fancy {

int Counted::copies = 0, Counted::alive = 0;
Counted::Counted(int v) : value(v) {
  alive++;
}
Counted::Counted(const Counted &other) : value(other.value) {
  copies++;
  alive++;
}
Counted::~Counted() {
  alive--;
}

static int shapes = 0;

inline namespace v2 {

Shape::Shape(const std::string &name) : name_(name), values_{1, 2, 3, 4} {
  shapes++;
}
Shape::Shape(const Shape &other) : name_(other.name_), values_{1, 2, 3, 4} {
  shapes++;
}
Shape::~Shape() {
  shapes--;
}
Shape::Length Shape::length(Length scale) const {
  return scale * (double)name_.size();
}
const std::string &Shape::name() const noexcept {
  return name_;
}
std::string Shape::rename(std::string name) {
  std::string old = name_;
  name_ = name + "!";
  return old;
}
Shape::Kind Shape::kind() const {
  return square;
}
Shape::Corner Shape::corner(int n) const {
  return Corner{n + 1};
}
Shape::Corner *Shape::corner(Corner *c) const {
  c->number++;
  return c;
}
int Shape::count() {
  return shapes;
}
int Shape::take(Counted by_value, const Counted &by_reference, Counted &&by_move) {
  return by_value.value + 10 * by_reference.value + 100 * by_move.value;
}
Counted Shape::give(int value) const {
  return Counted(value);
}
std::pair<int, int> Shape::both(std::pair<int, int> in) const {
  return {in.second, in.first};
}
std::vector<Point> Shape::points(Point p, std::size_t n) const {
  return std::vector<Point>(n, p);
}
std::unique_ptr<Shape> Shape::copy() const {
  return std::unique_ptr<Shape>(new Shape(*this));
}
int Shape::check(int x) {
  if (x < 0) throw std::invalid_argument("negative");
  return x;
}
Shape &Shape::operator+=(const Shape &other) {
  name_ += other.name_;
  return *this;
}
int Shape::operator()(int a, int b) const {
  return a * b;
}
double Shape::operator[](std::size_t i) const {
  return values_[i];
}
Shape::operator int() const {
  return (int)name_.size();
}
int Shape::vprint(char *out, std::size_t n, const char *format, va_list args) const {
  return std::vsnprintf(out, n, format, args);
}
int Shape::print(char *out, std::size_t n, const char *format, ...) const {
  va_list args;
  va_start(args, format);
  int length = std::vsnprintf(out, n, format, args);
  va_end(args);
  return length;
}
int Shape::sum(int n, ...) const {
  va_list args;
  int sum = 0;
  va_start(args, n);
  for (int i = 0; i < n; i++) sum += va_arg(args, int);
  va_end(args);
  return sum;
}
int Shape::secret(int x) const {
  return hide(Hidden{x}).v;
}
Shape::Hidden Shape::hide(Hidden h) const {
  return Hidden{h.v + 1};
}
bool operator==(const Shape &a, const Shape &b) {
  return a.name_ == b.name_;
}

} // namespace v2

Abstract::~Abstract() {}
Left::Left() : Shape("left") {}
Left::~Left() {}
Shape::Length Left::length(Length scale) const {
  return 2 * Shape::length(scale);
}

int area(int side) {
  return side * side;
}
int area(int width, int height) {
  return width * height;
}
double area(double radius) {
  return 3 * radius * radius;
}
void area(const Shape &s, int (*visit)(const Shape &), int &result) {
  result = visit(s);
}
int sum_of(const int (&list)[3]) {
  return list[0] + list[1] + list[2];
}
static int increment(int x) {
  return x + 1;
}
static int decrement(int x) {
  return x - 1;
}
int (*pick(bool first))(int) {
  return first ? increment : decrement;
}

static int stacks = 0;
template <class T> Stack<T>::Stack() {
  stacks++;
}
template <class T> Stack<T>::~Stack() {}
template <class T> void Stack<T>::push(const T &v) {
  list_.push_back(v);
}
template <class T> T Stack<T>::pop() {
  T v = list_.back();
  list_.pop_back();
  return v;
}
template <class T> std::size_t Stack<T>::size() const noexcept {
  return list_.size();
}
template <class T> const T &Stack<T>::top() const {
  return list_.back();
}
template <class T> T &Stack<T>::top() noexcept {
  return list_.back();
}
template <class T> int Stack<T>::made() noexcept {
  return stacks;
}
template <class T> T Stack<T>::sum(T a) const {
  return a;
}
template <class T> T Stack<T>::sum(T a, T b) const {
  return a + b;
}
template <class T> template <class U> U Stack<T>::as(U extra) const {
  return (U)list_.size() + extra;
}
template class Stack<int>;
template class Stack<std::string>;
template double Stack<int>::as<double>(double) const;

template <class T> T largest(T a, T b) {
  return a < b ? b : a;
}
template int largest<int>(int, int);
template std::string largest<std::string>(std::string, std::string);

int Special<char>::size() {
  return 1;
}

} // namespace fancy

extern "C" int fancy_plain(int x) {
  return x + 100;
}
