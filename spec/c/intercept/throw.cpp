// SPDX-License-Identifier: BSD-3-Clause
// spec/c/intercept/throw.cpp - the part in C++: exceptions.
#define CALLED __attribute__((visibility("default")))

extern "C" {
CALLED int lib_catch(int (*back)(void *arg), void *arg);
CALLED int lib_throw(int n);
}

int lib_throw(int n) {
  if (n > 0) throw n;
  return n;
}

int lib_catch(int (*back)(void *arg), void *arg) {
  try {
    return back(arg);
  } catch (int n) {
    return 1000 + n;
  }
}
