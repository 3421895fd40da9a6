// SPDX-License-Identifier: BSD-3-Clause
// bindings/embed/guard.cpp - see guard.h. It refers to the C++ library weakly: an application in C has none.
#include "embed/guard.h"

#include <cxxabi.h>
#include <exception>
#include <stdio.h>

extern "C" bool guard_call(void (*f)(void *), void *arg, char *what, size_t size) {
  try {
    f(arg);
    return true;
  } catch (abi::__forced_unwind &) {
    throw; // the thread ends
  } catch (const std::exception &e) {
    snprintf(what, size, "%s", e.what());
  } catch (...) {
    snprintf(what, size, "not a std::exception");
  }
  return false;
}
