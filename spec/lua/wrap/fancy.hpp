/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/lua/wrap/fancy.hpp - a C++ library with everything that is difficult to wrap. */
#ifndef FANCY_HPP
#define FANCY_HPP

#include <cstdarg>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fancy {

struct Point { /* in registers */
  double x, y;
};
struct Counted { /* not trivial to copy, nor to destroy: by reference */
  static int copies, alive;
  int value;
  explicit Counted(int v);
  Counted(const Counted &other);
  ~Counted();
};

inline namespace v2 {

class Shape {
public:
  typedef double Length;
  enum Kind { round, square };
  struct Corner {
    int number;
  };

  explicit Shape(const std::string &name = "shape");
  Shape(const Shape &other);
  virtual ~Shape();

  virtual Length length(Length scale = 1.0) const;
  const std::string &name() const noexcept;
  std::string rename(std::string name);
  Kind kind() const;
  Corner corner(int n) const;
  Corner *corner(Corner *c) const;
  static int count();
  int take(Counted by_value, const Counted &by_reference, Counted &&by_move);
  Counted give(int value) const;
  std::pair<int, int> both(std::pair<int, int> in) const;
  std::vector<Point> points(Point p, std::size_t n) const;
  std::unique_ptr<Shape> copy() const;
  int check(int x);
  Shape &operator+=(const Shape &other);
  int operator()(int a, int b) const;
  double operator[](std::size_t i) const;
  explicit operator int() const;
  int print(char *out, std::size_t n, const char *format, ...) const;
  int vprint(char *out, std::size_t n, const char *format, va_list args) const;
  int sum(int n, ...) const;
  int use_secret() const {
    return secret(5);
  }
  int in_header() const {
    return 1;
  }
  friend bool operator==(const Shape &a, const Shape &b);

private:
  struct Hidden {
    int v;
  };
  int secret(int x) const;
  Hidden hide(Hidden h) const;
  std::string name_;
  double values_[4];
};

} // namespace v2

class Abstract {
public:
  virtual ~Abstract();
  virtual int must() = 0;
};

class Left : public virtual Shape {
public:
  Left();
  ~Left() override;
  Length length(Length scale) const override;
};

int area(int side);
int area(int width, int height);
double area(double radius);
void area(const Shape &s, int (*visit)(const Shape &), int &result);
int sum_of(const int (&list)[3]);
int (*pick(bool first))(int);

/* Their code is in the library. */
template <class T> class Stack {
public:
  Stack();
  ~Stack();
  void push(const T &v);
  T pop();
  std::size_t size() const noexcept;
  const T &top() const;
  T &top() noexcept;
  static int made() noexcept;
  T sum(T a) const; /* a call with one argument is ambiguous */
  T sum(T a, T b = T()) const;
  template <class U> U as(U extra) const;

private:
  std::vector<T> list_;
};
extern template class Stack<int>;
extern template class Stack<std::string>;

template <class T> T largest(T a, T b);
extern template int largest<int>(int, int);
extern template std::string largest<std::string>(std::string, std::string);

template <class T> struct Special {
  int size() {
    return 0;
  }
};
template <> struct Special<char> { int size(); };

int missing(int x);

} // namespace fancy

extern "C" int fancy_plain(int x);

#endif
