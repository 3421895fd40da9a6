/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/plugin/pml_plugin_guard.c - a stack frame that catches all C++ exceptions, and its personality routine.
 */
#include "source/plugin/pml_plugin_guard.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

static void find(void *object, const char *name, void *function) {
  void *at = dlsym(object != NULL ? object : RTLD_DEFAULT, name);
  memcpy(function, &at, sizeof at);
}

/* The unwinder's functions are looked up, because nothing else here needs its library, and code that throws has loaded
 * it. Written once, before the first guarded call. */
static struct {
  void (*set_register)(struct _Unwind_Context *, int, _Unwind_Word);
  void (*set_ip)(struct _Unwind_Context *, _Unwind_Ptr);
  void (*delete_exception)(struct _Unwind_Exception *);
} unwinder;

static void find_unwinder(void) {
  void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
  find(library, "_Unwind_SetGR", &unwinder.set_register);
  find(library, "_Unwind_SetIP", &unwinder.set_ip);
  find(library, "_Unwind_DeleteException", &unwinder.delete_exception);
}

void pml__guard_prepare(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_unwinder);
}

#if defined(__x86_64__) || defined(__aarch64__)

/*
 * The frame contains a single call, so its personality needs no table: it catches every exception, and control
 * continues behind the call with the exception in the register of the second result, which a returning call sets to
 * NULL.
 */
#if defined(__x86_64__)
#define GUARD_TYPE "@function"
#define GUARD_CALL                                                                                                     \
  "subq $8, %rsp\n"                                                                                                    \
  ".cfi_def_cfa_offset 16\n"                                                                                           \
  "call *%rsi\n"                                                                                                       \
  "xorl %edx, %edx\n"
#define GUARD_LAND                                                                                                     \
  "addq $8, %rsp\n"                                                                                                    \
  ".cfi_def_cfa_offset 8\n"
#else
#define GUARD_TYPE "%function"
#define GUARD_CALL                                                                                                     \
  "stp x29, x30, [sp, -16]!\n"                                                                                         \
  ".cfi_def_cfa_offset 16\n"                                                                                           \
  ".cfi_offset 29, -16\n"                                                                                              \
  ".cfi_offset 30, -8\n"                                                                                               \
  "mov x29, sp\n"                                                                                                      \
  "blr x1\n"                                                                                                           \
  "mov x1, 0\n"
#define GUARD_LAND                                                                                                     \
  "ldp x29, x30, [sp], 16\n"                                                                                           \
  ".cfi_restore 29\n"                                                                                                  \
  ".cfi_restore 30\n"                                                                                                  \
  ".cfi_def_cfa_offset 0\n"
#endif
__asm__(".text\n"
        ".globl pml__guard_get\n"
        ".hidden pml__guard_get\n"
        ".hidden pml__guard_landing\n"
        ".hidden pml__guard_personality\n"
        ".type pml__guard_get, " GUARD_TYPE "\n"
        "pml__guard_get:\n"
        ".cfi_startproc\n"
        ".cfi_personality 0x1b, pml__guard_personality\n" /* a 32-bit offset relative to this position */
        GUARD_CALL ".globl pml__guard_landing\n"
        "pml__guard_landing:\n" GUARD_LAND "ret\n"
        ".cfi_endproc\n"
        ".size pml__guard_get, .-pml__guard_get\n");

extern const char pml__guard_landing[];
_Unwind_Reason_Code pml__guard_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *e, struct _Unwind_Context *context);

__attribute__((used)) _Unwind_Reason_Code pml__guard_personality(int version, _Unwind_Action actions,
                                                                 _Unwind_Exception_Class class,
                                                                 struct _Unwind_Exception *e,
                                                                 struct _Unwind_Context *context) {
  (void)class;
  if (version != 1) return _URC_FATAL_PHASE1_ERROR;
  if ((actions & _UA_FORCE_UNWIND) != 0 || unwinder.set_register == NULL || unwinder.set_ip == NULL)
    return _URC_CONTINUE_UNWIND;
  if ((actions & _UA_SEARCH_PHASE) != 0) return _URC_HANDLER_FOUND;
  if ((actions & _UA_HANDLER_FRAME) == 0) return _URC_CONTINUE_UNWIND;
  unwinder.set_register(context, __builtin_eh_return_data_regno(1), (uintptr_t)e);
  unwinder.set_ip(context, (uintptr_t)pml__guard_landing);
  return _URC_INSTALL_CONTEXT;
}

#else

struct pml__guarded pml__guard_get(uint64_t arg, uint64_t (*f)(uint64_t)) {
  return (struct pml__guarded){f(arg), NULL};
}

#endif

struct calling {
  void (*f)(void *arg);
  void *arg;
};

static uint64_t call(uint64_t arg) {
  const struct calling *c = (const struct calling *)(uintptr_t)arg;
  c->f(c->arg);
  return 0;
}

struct _Unwind_Exception *pml__guard_call(void (*f)(void *arg), void *arg) {
  struct calling c = {f, arg};
  return pml__guard_get((uintptr_t)&c, call).e;
}

/* Functions of the throwing code's C++ runtime, of any implementation. */
struct runtime {
  void *(*begin)(void *);
  void (*end)(void);
  const void *(*type)(void);
  char *(*demangle)(const char *, char *, size_t *, int *);
  const void *exception; /* the type_info of std::exception */
};

/* The @i-th virtual function of a C++ object. */
static void method(const void *object, size_t i, void *function) {
  uintptr_t table;
  memcpy(&table, object, sizeof table);
  memcpy(function, (const void *)(table + i * sizeof table), sizeof table);
}

#define CAN_CATCH 4u /* index in a type_info, in the C++ runtimes of GCC and LLVM */
#define WHAT 2u      /* index in a std::exception */
#define DEPENDENT 1u /* the exception object is elsewhere, as created by std::rethrow_exception() */

/* The text of a std::exception; NULL: another type. The object follows the unwinder's header. */
static const char *what_of(const struct runtime *cxx, struct _Unwind_Exception *e, const void *type) {
  bool (*can_catch)(const void *, const void *, void **, unsigned);
  const char *(*what)(const void *);
  void *object = e + 1;
  if (cxx->exception == NULL || (e->exception_class & 0xff) == DEPENDENT) return NULL;
  method(cxx->exception, CAN_CATCH, &can_catch);
  if (!can_catch(cxx->exception, type, &object, 1)) return NULL;
  method(object, WHAT, &what);
  return what(object);
}

void pml__guard_flatten(char *text) {
  for (; *text != '\0'; text++)
    if (iscntrl((unsigned char)*text)) *text = ' ';
}

/* A class of exceptions consists of eight characters, the most significant first: the vendor, then the language. */
static int is_cxx(const struct _Unwind_Exception *e) {
  return (e->exception_class >> 8 & 0xffffff) == 0x432b2b; /* "C++" */
}

void pml__guard_end(struct _Unwind_Exception *e, void *object, char *text, size_t size) {
  struct runtime cxx = {0};
  (void)snprintf(text, size, "an exception");
  if (is_cxx(e)) {
    find(object, "__cxa_begin_catch", &cxx.begin);
    find(object, "__cxa_end_catch", &cxx.end);
    find(object, "__cxa_current_exception_type", &cxx.type);
    find(object, "__cxa_demangle", &cxx.demangle);
    find(object, "_ZTISt9exception", &cxx.exception);
  }
  if (cxx.begin == NULL || cxx.end == NULL) {
    if (unwinder.delete_exception != NULL) unwinder.delete_exception(e);
    return;
  }
  (void)cxx.begin(e);
  const void *type = cxx.type != NULL ? cxx.type() : NULL;
  if (type != NULL) { /* a type_info stores its name behind the pointer to its virtual functions */
    const char *name;
    memcpy(&name, (const char *)type + sizeof(void *), sizeof name);
    char *plain = cxx.demangle != NULL ? cxx.demangle(name, NULL, NULL, &(int){0}) : NULL;
    const char *what = what_of(&cxx, e, type);
    (void)snprintf(text, size, "a C++ exception (%s%s%s)", plain != NULL ? plain : name, what != NULL ? ": " : "",
                   what != NULL ? what : "");
    pml__guard_flatten(text);
    free(plain);
  }
  cxx.end();
}
