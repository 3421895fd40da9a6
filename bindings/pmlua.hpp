/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/pmlua.hpp - pmlua embedded in an application in C++17: owners of states and of the live service, typed
 * calls.
 *
 *   pml::state lua;
 *   lua.function("clamp", [](double x) { return std::min(x, 1.0); });
 *   lua.run("setup", "function step(n, name) return clamp(n / 10), name end");
 *   auto [value, name] = lua.call<std::tuple<double, std::string>>("step", 5, "five");
 *
 * Arguments and results are integers, floating-point numbers, bool, strings, and pml::json, a table's text; a result is
 * also void, or a std::tuple of these. A failure of pmlua is an exception, pml::error. An exception that leaves a
 * function of the application becomes an error in Lua before it reaches any C. Names are in the namespace of
 * pml_section.hpp, as pmlua is a struct of pmlua.h. Threads, limits and costs are as in pmlua.h.
 */
#ifndef PMLUA_HPP
#define PMLUA_HPP

#include "pmlua.h"

#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace pml {

class error : public std::runtime_error {
public:
  explicit error(int code) : std::runtime_error(pml_error_detail(code)), code_(code) {}
  int code() const noexcept {
    return code_;
  }

private:
  int code_;
};

/* Throws for a negative code of any function of pml.h and pmlua.h. */
inline int check(int code) {
  if (code < 0) throw error(code);
  return code;
}

struct json { /* any value that JSON can express */
  std::string text;
};

namespace typed {

template <class T> using plain = std::remove_cv_t<std::remove_reference_t<T>>;
template <class T> inline constexpr bool is_text = std::is_convertible_v<const T &, std::string_view>;

template <class T> constexpr char letter() {
  using P = plain<T>;
  static_assert(std::is_arithmetic_v<P> || is_text<P> || std::is_same_v<P, json>,
                "a value is a number, a bool, a string or pml::json");
  if constexpr (std::is_same_v<P, bool>) return 'b';
  if constexpr (std::is_integral_v<P>) return 'i';
  if constexpr (std::is_floating_point_v<P>) return 'd';
  return std::is_same_v<P, json> ? 'j' : 'z';
}

/* The text stays the caller's. */
template <class T> pmlua_value to_c(const T &v) {
  pmlua_value c{};
  if constexpr (std::is_same_v<T, bool>) {
    c.b = v;
  } else if constexpr (std::is_integral_v<T>) {
    c.i = static_cast<int64_t>(v);
  } else if constexpr (std::is_floating_point_v<T>) {
    c.d = static_cast<double>(v);
  } else if constexpr (std::is_same_v<T, json>) {
    c.s = v.text.c_str();
    c.n = v.text.size();
  } else {
    std::string_view text = v;
    c.s = text.data();
    c.n = text.size();
  }
  return c;
}

template <class T> plain<T> from_c(const pmlua_value &c) {
  using P = plain<T>;
  if constexpr (std::is_same_v<P, bool>) {
    return c.b != 0;
  } else if constexpr (std::is_integral_v<P>) {
    return static_cast<P>(c.i);
  } else if constexpr (std::is_floating_point_v<P>) {
    return static_cast<P>(c.d);
  } else if constexpr (std::is_same_v<P, json>) {
    return json{std::string(c.s, c.n)};
  } else if constexpr (std::is_same_v<P, const char *>) {
    return c.s;
  } else {
    return P(c.s, c.n);
  }
}

/* Results: nothing, one value, or a tuple. */
template <class R> struct results {
  static constexpr char letters[] = {letter<R>(), '\0'};
  static R get(const pmlua_value *v) {
    return from_c<R>(v[0]);
  }
  static void put(const R &r, pmlua_value *v) {
    v[0] = to_c(r);
  }
};
template <class... R> struct results<std::tuple<R...>> {
  static constexpr char letters[] = {letter<R>()..., '\0'};
  template <std::size_t... i> static std::tuple<R...> all(const pmlua_value *v, std::index_sequence<i...>) {
    return std::tuple<R...>(from_c<R>(v[i])...);
  }
  static std::tuple<R...> get(const pmlua_value *v) {
    return all(v, std::index_sequence_for<R...>());
  }
  static void put(const std::tuple<R...> &r, pmlua_value *v) {
    std::apply([&v](const R &...each) { ((*v++ = to_c(each)), ...); }, r);
  }
};
template <> struct results<void> {
  static constexpr char letters[] = "";
  static void get(const pmlua_value *) {}
};

template <class R, class... A> std::string format() {
  const char arguments[] = {letter<A>()..., '>', '\0'};
  return std::string(arguments) + results<R>::letters;
}

/* A function of the application, and its last result, whose strings pmlua copies. */
template <class R, class... A> class bound {
public:
  explicit bound(std::function<R(A...)> f) : f_(std::move(f)) {}
  static int call(void *self, const pmlua_value *in, pmlua_value *out) {
    try {
      static_cast<bound *>(self)->run(in, out, std::index_sequence_for<A...>());
      return 0;
    } catch (const error &e) {
      return pml_fail(e.code(), "%s", e.what());
    } catch (const std::exception &e) {
      return pml_fail(PML_ESCRIPT, "%s", e.what());
    } /* others end in the library */
  }

private:
  struct none {};
  std::function<R(A...)> f_;
  std::conditional_t<std::is_void_v<R>, none, R> last_{};

  template <std::size_t... i> void run(const pmlua_value *in, pmlua_value *out, std::index_sequence<i...>) {
    if constexpr (std::is_void_v<R>) {
      f_(from_c<A>(in[i])...);
    } else {
      last_ = f_(from_c<A>(in[i])...);
      results<R>::put(last_, out);
    }
    (void)in, (void)out;
  }
};

} // namespace typed

/* A state of Lua; for one thread at a time, as pmlua_open_with() says. Its size need not be set in the configuration.
 */
class state {
public:
  explicit state(pmlua_config config = pmlua_config()) {
    pmlua *p = nullptr;
    config.size = sizeof config;
    check(pmlua_open_with(&p, &config));
    p_.reset(p);
  }

  /* The values that the code returned, as print shows them, separated by tabs. */
  std::string run(const std::string &name, const std::string &code, const pmlua_limits &limits = pmlua_limits()) {
    char *text = nullptr;
    check(pmlua_run_string(p_.get(), name.c_str(), code.c_str(), &limits, &text));
    return take(text);
  }
  std::string run_file(const std::string &path, const pmlua_limits &limits = pmlua_limits()) {
    char *text = nullptr;
    check(pmlua_run_file(p_.get(), path.c_str(), &limits, &text));
    return take(text);
  }

  template <class R = void, class... A> R call(const std::string &name, const A &...arguments) {
    const pmlua_value in[sizeof...(A) + 1] = {typed::to_c(arguments)..., pmlua_value()};
    pmlua_value out[16] = {};
    check(pmlua_call_values(p_.get(), name.c_str(), typed::format<R, A...>().c_str(), in, out));
    return typed::results<R>::get(out);
  }

  /* @f: a function, lambda or object with one signature; kept until the state is closed. */
  template <class F> void function(const std::string &name, F f) {
    add(name, std::function(std::move(f)));
  }

  pmlua *get() const noexcept {
    return p_.get();
  }

private:
  struct closer {
    void operator()(pmlua *p) const {
      pmlua_close(p);
    }
  };
  std::vector<std::shared_ptr<void>> functions_;
  std::unique_ptr<pmlua, closer> p_; /* closed before its functions go */

  static std::string take(char *text) {
    std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
    return std::string(text);
  }

  template <class R, class... A> void add(const std::string &name, std::function<R(A...)> f) {
    auto kept = std::make_shared<typed::bound<R, A...>>(std::move(f));
    functions_.push_back(kept);
    check(pmlua_function(p_.get(), name.c_str(), typed::format<R, A...>().c_str(), &typed::bound<R, A...>::call,
                         kept.get()));
  }
};

} // namespace pml

#endif
