/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/embed_typed.c - typed calls between an application and Lua, sandboxed states, configurations of other
 * versions. */
#include "check.h"

#include "pmlua.h"

#include <errno.h>
#include <lua.h>

static struct pmlua *p;

static bool gives(const char *code, const char *want) {
  char *results = NULL;
  int err = pmlua_run_string(p, "spec", code, NULL, &results);
  const char *got = err < 0 ? pml_error_detail(err) : results;
  bool same = strcmp(got, want) == 0;
  if (!same) printf("%s\n  gave %s\n", code, got);
  free(results);
  return same;
}

static int scale(void *arg, const struct pmlua_value *in, struct pmlua_value *out) {
  static char text[64];
  if (in[0].d < 0) return pml_fail(-EDOM, "the factor is negative; give a positive one");
  snprintf(text, sizeof text, "%g %s", in[0].d * *(double *)arg, in[1].s != NULL ? in[1].s : "-");
  out[0].s = text;
  out[1].i = in[2].b ? (int64_t)in[3].n : -1;
  return 0;
}

static int pair(void *arg, const struct pmlua_value *in, struct pmlua_value *out) {
  static char text[256];
  (void)arg;
  snprintf(text, sizeof text, "[%s, {\"again\": %s}]", in[0].s, in[0].s);
  out[0].s = text;
  return 0;
}

static int nested(void *arg, const struct pmlua_value *in, struct pmlua_value *out) {
  (void)arg;
  return pmlua_call(p, "double", "i>i", in[0].i, &out[0].i);
}

static void functions(void) {
  static double factor = 2;
  CHECK(pmlua_function(p, "app.deep.scale", "dsbz>si", scale, &factor) == 0, "a function is registered in new tables");
  CHECK(pmlua_function(p, "pair", "j>j", pair, NULL) == 0, "and one of any value");
  CHECK(gives("return app.deep.scale(1.5, 'm', true, 'a\\0b')", "3 m\t3"), "Lua calls it, with results");
  CHECK(gives("return app.deep.scale('1.5', nil, nil, '')", "3 -\t-1"), "nil is no string and false");
  CHECK(gives("return pcall(app.deep.scale, -1, '', true, '')",
              "false\tapp.deep.scale: the factor is negative; give a positive one"),
        "its failure is an error that Lua can catch");
  CHECK(gives("app.deep.scale({}, '')", "spec:1: app.deep.scale: argument 1: number expected, got table"),
        "arguments are checked");
  CHECK(gives("app.deep.scale(1)", "spec:1: app.deep.scale: argument 4: string expected, got nil"), "all of them");
  CHECK(gives("app.deep.scale(1, 'a\\0b')", "spec:1: app.deep.scale: argument 2: the string contains a zero byte"),
        "a C string has no zero byte");
  CHECK(gives("local t = pair { 1, { b = 'c' }, true } return t[1][2].b, t[2].again[1], t[1][3]", "c\t1\ttrue"),
        "tables go there and back");
  CHECK(pmlua_function(p, "app.deep.scale.more", "", pair, NULL) == PML_ESCRIPT, "a function is not a table");
  CHECK(pmlua_function(p, "a..b", "", pair, NULL) == -EINVAL, "an empty name is refused");
  CHECK(pmlua_function(p, "f", "dq>", pair, NULL) == -EINVAL && strstr(pml_error_detail(-EINVAL), "\"dq>\"") != NULL,
        "and an unknown letter: %s", pml_error_detail(-EINVAL));
  CHECK(pmlua_function(p, "f", "ddddddddddddddddd", pair, NULL) == -EINVAL, "and seventeen arguments");
}

static void calls(void) {
  const char *text, *json;
  int64_t i;
  double d;
  size_t n;
  int b;
  CHECK(gives("function join(a, b, c) return c .. a, b, a end function double(i) return 2 * i end "
              "lib = { back = function(...) return ... end } function endless() while true do end end",
              ""),
        "Lua has functions");
  CHECK(pmlua_call(p, "join", "dis>sid", 2.5, (int64_t)7, "x", &text, &i, &d) == 0 && strcmp(text, "x2.5") == 0 &&
            i == 7 && d == 2.5,
        "they are called with values of three types");
  CHECK(pmlua_call(p, "lib.back", "zbj>zbj", "a\0b", (size_t)3, 1, "{\"k\": [1, \"v\"]}", &text, &n, &b, &json) == 0 &&
            n == 3 && memcmp(text, "a\0b", 4) == 0 && b == 1 && strcmp(json, "{\"k\": [1, \"v\"]}") == 0,
        "and of the others");
  CHECK(pmlua_call(p, "lib.back", "s>s", NULL, &text) == 0 && text == NULL, "nil is NULL");
  CHECK(pmlua_call(p, "lib.back", "j", "{\"k\": ") == PML_ESCRIPT, "JSON that is none is refused: %s",
        pml_error_detail(PML_ESCRIPT));
  CHECK(pmlua_call(p, "double", "i>s", (int64_t)1, &text) == 0 && strcmp(text, "2") == 0, "Lua converts");
  CHECK(pmlua_call(p, "lib.back", "s>i", "x", &i) == PML_ESCRIPT &&
            strcmp(pml_error_detail(PML_ESCRIPT), "lib.back: result 1: integer expected, got string") == 0,
        "results are checked: %s", pml_error_detail(PML_ESCRIPT));
  CHECK(pmlua_call(p, "lib.none", "") == PML_ESCRIPT &&
            strcmp(pml_error_detail(PML_ESCRIPT), "there is no function lib.none") == 0,
        "a missing function is named: %s", pml_error_detail(PML_ESCRIPT));
  CHECK(pmlua_call(p, "endless", "") == PML_ELIMIT, "a call has the limit of its state: %s",
        pml_error_detail(PML_ELIMIT));
  CHECK(pmlua_function(p, "nested", "i>i", nested, NULL) == 0 && gives("return nested(21)", "42") &&
            pmlua_call(p, "nested", "i>i", (int64_t)4, &i) == 0 && i == 8,
        "what Lua calls may call Lua");
  CHECK(lua_gettop(pmlua_state(p)) == 0, "nothing stays on the stack");
}

static void sandbox(void) {
  CHECK(gives("return os.exit, io, debug, package, dofile, collectgarbage ~= nil", "nil\tnil\tnil\tnil\tnil\ttrue"),
        "a sandboxed script cannot end the host, nor read files");
  CHECK(gives("return pcall(require, 'lfs')", "false\trequire: only \"pmlua\" can be loaded here"), "nor load modules");
  CHECK(gives("return pcall(setmetatable, {}, { __gc = print })",
              "false\tsetmetatable: __gc is not allowed: it would run without limits"),
        "nor leave finalizers");
  CHECK(gives("return pcall(('x').rep, 'x', 1e9)", "false\tstring.rep: the result would be too long"),
        "nor get around it by a string's methods");
  CHECK(gives("return pml.version, #pml.sde.list() >= 0", PML_VERSION "\ttrue"), "it sees the events");
}

static void configurations(void) {
  struct {
    struct pmlua_config known;
    long later;
  } next = {.known = {.size = sizeof next}};
  struct pmlua *q;
  CHECK(strcmp(pmlua_version(), PML_VERSION) == 0, "the library has the version of its headers");
  CHECK(pmlua_open_with(&q, &next.known) == 0, "a program of a later version runs if it does not use what is new");
  pmlua_close(q);
  next.later = 1;
  CHECK(pmlua_open_with(&q, &next.known) == -E2BIG && q == NULL, "and is refused if it does: %s",
        pml_error_detail(-E2BIG));
  next.known.size = sizeof(size_t);
  CHECK(pmlua_open_with(&q, &next.known) == 0, "a program of an earlier version has fewer fields");
  pmlua_close(q);
  next.known.size = 0;
  CHECK(pmlua_open_with(&q, &next.known) == -EINVAL, "a forgotten size is refused: %s", pml_error_detail(-EINVAL));
}

int main(void) {
  for (int i = 0; i < 2; i++) {
    const struct pmlua_config config = {.size = sizeof config, .instructions = 100000, .sandbox = i};
    int err = pmlua_open_with(&p, &config);
    if (!CHECK(err == 0, "a state opens: %s", pml_error_detail(err))) break;
    functions();
    calls();
    if (i == 1) sandbox();
    pmlua_close(p);
  }
  configurations();
  return check_done();
}
