/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/python.c - functions of Python as recorded calls: the module sitecustomize of `pmlua record --python`.
 *
 * Python imports sitecustomize at its start, from the folder that pmlua record adds to PYTHONPATH. From Python 3.12 on,
 * the module is a tool of sys.monitoring; before, it sets a profile function on this thread and, by
 * threading.setprofile(), on threads that start later. Then it imports the sitecustomize that Python would have found
 * without it. Each call of a function of Python is an enter, and its return, also by an exception or a yield, a leave.
 * The functions of Python's C interface are found in the running program; all are in its documentation since 3.9.
 */
#include "adapter/intercept/pml_intercept_instrumented.h"
#include "base/text/pml_say.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 1024u

/* Declarations of Python's C interface; only pointers to its objects are used. */
typedef struct python_object object;
typedef int python_profile(object *self, object *frame, int what, object *argument);
enum { PYTHON_CALL = 0, PYTHON_RETURN = 3, PYTHON_VARARGS = 1, PYTHON_FASTCALL = 128, PYTHON_API = 1013 };
struct python_method {
  const char *name;
  void *call; /* by its flags, with a tuple, or an array */
  int flags;
  const char *about;
};
struct python_module { /* PyModuleDef, with PyModuleDef_HEAD_INIT */
  struct {
    intptr_t references;
    void *type, *init;
    intptr_t index;
    void *copy;
  } head;
  const char *name, *about;
  intptr_t size;
  struct python_method *methods;
  void *slots, *traverse, *clear, *free;
};

#define FUNCTIONS(X)                                                                                                   \
  X(PyEval_SetProfile, void, (python_profile *, object *))                                                             \
  X(PyEval_GetFrame, object *, (void))                                                                                 \
  X(PyFrame_GetCode, object *, (object *))                                                                             \
  X(PyObject_GetAttrString, object *, (object *, const char *))                                                        \
  X(PyDict_GetItemString, object *, (object *, const char *))                                                          \
  X(PyUnicode_AsUTF8, const char *, (object *))                                                                        \
  X(PyLong_AsLong, long, (object *))                                                                                   \
  X(PyErr_Clear, void, (void))                                                                                         \
  X(Py_IncRef, void, (object *))                                                                                       \
  X(Py_DecRef, void, (object *))                                                                                       \
  X(PyImport_ImportModule, object *, (const char *))                                                                   \
  X(PyObject_CallFunctionObjArgs, object *, (object *, ...))                                                           \
  X(PyObject_CallMethod, object *, (object *, const char *, const char *, ...))                                        \
  X(PyCFunction_NewEx, object *, (struct python_method *, object *, object *))                                         \
  X(PySys_GetObject, object *, (const char *))                                                                         \
  X(PyModule_Create2, object *, (struct python_module *, int))

#define POINTER(name, result, arguments) static result(*name) arguments;
FUNCTIONS(POINTER)
#undef POINTER

static const char *find_all(void) {
#define FIND(name, result, arguments)                                                                                  \
  if ((*(void **)&name = dlsym(RTLD_DEFAULT, #name)) == NULL) return #name;
  FUNCTIONS(FIND)
#undef FIND
  return NULL;
}

/* ---- names ---- */

/* The text of an attribute, or of an entry of a dictionary; "" if it has none. */
static void copy_text(char *to, size_t bytes, object *text) {
  const char *utf8 = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
  (void)snprintf(to, bytes, "%s", utf8 != NULL ? utf8 : "");
  PyErr_Clear();
}

static void attribute(char *to, size_t bytes, object *of, const char *name) {
  object *value = PyObject_GetAttrString(of, name);
  copy_text(to, bytes, value);
  if (value != NULL) Py_DecRef(value);
}

/* "module.qualname (file:line)". A code object that has a name is never freed, so that its address stays its own. */
static void name_code(object *frame, object *code) {
  char module[256], name[256], file[256], text[NAME_BYTES];
  object *globals = PyObject_GetAttrString(frame, "f_globals"), *line = PyObject_GetAttrString(code, "co_firstlineno");
  copy_text(module, sizeof module, globals != NULL ? PyDict_GetItemString(globals, "__name__") : NULL);
  attribute(name, sizeof name, code, "co_qualname");
  if (name[0] == '\0') attribute(name, sizeof name, code, "co_name");
  attribute(file, sizeof file, code, "co_filename");
  const char *slash = strrchr(file, '/');
  (void)snprintf(text, sizeof text, "%s.%s (%s:%ld)", module[0] != '\0' ? module : "?", name,
                 slash != NULL ? slash + 1 : file, line != NULL ? PyLong_AsLong(line) : 0);
  if (globals != NULL) Py_DecRef(globals);
  if (line != NULL) Py_DecRef(line);
  PyErr_Clear();
  Py_IncRef(code);
  pml__script_name(code, text, "Python");
}

/* ---- sys.monitoring, since 3.12 ---- */

static object *none;

static object *begin(object *self, object *const *arguments, intptr_t n) {
  (void)self, (void)n;
  object *code = arguments[0];
  if (!pml__script_enter(code)) {
    name_code(PyEval_GetFrame(), code);
    (void)pml__script_enter(code);
  }
  Py_IncRef(none);
  return none;
}

static object *end(object *self, object *const *arguments, intptr_t n) {
  (void)self, (void)n;
  pml__script_leave(arguments[0]);
  Py_IncRef(none);
  return none;
}

/* An identifier that no tool has; those in front have no meaning to Python. -1: none is free. */
static int take_tool(object *monitoring) {
  static const int ids[] = {3, 4, 5, 2, 1, 0};
  for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
    none = PyObject_CallMethod(monitoring, "use_tool_id", "is", ids[i], "pmlua");
    if (none != NULL) return ids[i];
    PyErr_Clear();
  }
  return -1;
}

/* False: this Python has no sys.monitoring. */
static bool monitor(void) {
  static struct python_method methods[] = {{"pmlua_begin", (void *)begin, PYTHON_FASTCALL, NULL},
                                           {"pmlua_end", (void *)end, PYTHON_FASTCALL, NULL}};
  static const char *const events[] = {"PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND"};
  object *monitoring = PySys_GetObject("monitoring"), *done;
  int id = monitoring != NULL ? take_tool(monitoring) : -1;
  object *of = id >= 0 ? PyObject_GetAttrString(monitoring, "events") : NULL;
  long all = 0;
  for (size_t i = 0; of != NULL && i < sizeof events / sizeof events[0]; i++) {
    object *event = PyObject_GetAttrString(of, events[i]), *call = PyCFunction_NewEx(&methods[i / 3], NULL, NULL);
    long bit = event != NULL ? PyLong_AsLong(event) : 0;
    done = bit > 0 && call != NULL ? PyObject_CallMethod(monitoring, "register_callback", "ilO", id, bit, call) : NULL;
    if (done != NULL) all |= bit;
    object *used[] = {event, call, done};
    for (size_t k = 0; k < sizeof used / sizeof used[0]; k++)
      if (used[k] != NULL) Py_DecRef(used[k]);
  }
  done = all != 0 ? PyObject_CallMethod(monitoring, "set_events", "il", id, all) : NULL;
  if (of != NULL) Py_DecRef(of);
  PyErr_Clear();
  return done != NULL;
}

/* ---- a profile function, before ---- */

static int on_event(object *self, object *frame, int what, object *argument) {
  (void)self, (void)argument;
  if (what != PYTHON_CALL && what != PYTHON_RETURN) return 0;
  object *code = PyFrame_GetCode(frame);
  if (what == PYTHON_RETURN) {
    pml__script_leave(code);
  } else if (!pml__script_enter(code)) {
    name_code(frame, code);
    (void)pml__script_enter(code);
  }
  Py_DecRef(code);
  return 0;
}

/* The profile function in Python of a new thread, which its first event replaces by the one in C. */
static object *begin_thread(object *self, object *arguments) {
  (void)self, (void)arguments;
  PyEval_SetProfile(on_event, NULL);
  object *any = PySys_GetObject("__doc__"); /* a text that lives as long as Python */
  Py_IncRef(any);
  return any;
}

static void watch_threads(void) {
  static struct python_method method = {"pmlua", (void *)begin_thread, PYTHON_VARARGS, NULL};
  object *threading = PyImport_ImportModule("threading"), *hook = PyCFunction_NewEx(&method, NULL, NULL);
  object *set = threading != NULL ? PyObject_GetAttrString(threading, "setprofile") : NULL;
  object *done = set != NULL && hook != NULL ? PyObject_CallFunctionObjArgs(set, hook, NULL) : NULL;
  if (done == NULL) PyErr_Clear();
  object *all[] = {threading, hook, set, done};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i] != NULL) Py_DecRef(all[i]);
}

/* ---- the sitecustomize that Python would have found ---- */

static void import_next(void) {
  char folder[PATH_MAX];
  Dl_info here;
  object *path = PySys_GetObject("path"), *done, *next;
  if (path == NULL || dladdr((void *)(uintptr_t)import_next, &here) == 0) return;
  (void)snprintf(folder, sizeof folder, "%s", here.dli_fname);
  char *slash = strrchr(folder, '/');
  if (slash != NULL) *slash = '\0';
  done = PyObject_CallMethod(path, "remove", "s", folder);
  if (done == NULL) PyErr_Clear();
  if (done == NULL) return; /* it would find this module again */
  Py_DecRef(done);
  next = PyImport_ImportModule("sitecustomize");
  if (next != NULL) Py_DecRef(next);
  PyErr_Clear();
}

PML_API object *PyInit_sitecustomize(void);

PML_API object *PyInit_sitecustomize(void) {
  static struct python_module module = {.head = {.references = 1}, .name = "sitecustomize", .size = -1};
  const char *missing = find_all();
  if (missing != NULL) {
    pml__say("record --python: this Python has no %s; 3.9 and later have it", missing);
    return NULL;
  }
  import_next();
  if (!monitor()) {
    watch_threads();
    PyEval_SetProfile(on_event, NULL);
  }
  return PyModule_Create2(&module, PYTHON_API);
}
