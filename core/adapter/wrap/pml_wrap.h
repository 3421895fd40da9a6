/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/wrap/pml_wrap.h - runtime of generated wrappers; for C99 and C++11.
 *
 * A wrapper emits an enter, calls the function, and emits a leave: the same events, of the same region, as interception
 * at run time (adapter/intercept/pml_intercept.h), and both together count a call once.
 *
 *   Linked with --wrap=crc32:                                Found before the library, preloaded or linked:
 *
 *   PML_WRAP_FUNCTION(wrap_crc32, "crc32", "libz.so.1", "zlib.h", 1727);       (either)
 *   unsigned long __real_crc32(unsigned long, const unsigned char *, unsigned);
 *   unsigned long __wrap_crc32(unsigned long c, const unsigned char *p, unsigned n) {
 *     PML_WRAP_CALL(call, &wrap_crc32);
 *     return __real_crc32(c, p, n);                          ... = pml_wrap_real(&wrap_crc32); return real(c, p, n);
 *   }
 *
 *   With values, here of an argument and of the result:
 *
 *   static struct pml_wrap_value crc32_in[] = {PML_WRAP_VALUE("len", PML_WRAP_INTEGER, PML_WRAP_RECORD)};
 *   static struct pml_wrap_value crc32_out[] = {PML_WRAP_VALUE("return", PML_WRAP_INTEGER, PML_WRAP_METRIC)};
 *   PML_WRAP_FUNCTION_VALUES(wrap_crc32, "crc32", "libz.so.1", "zlib.h", 1727, crc32_in, 1, crc32_out, 1);
 *   unsigned long __wrap_crc32(unsigned long c, const unsigned char *p, unsigned n) {
 *     uint64_t in[1], out[1];
 *     PML_WRAP_CALL_VALUES(call, &wrap_crc32, in, in[0] = pml_wrap_from_integer(n));
 *     unsigned long result = __real_crc32(c, p, n);
 *     PML_WRAP_RESULTS(call, &wrap_crc32, out, out[0] = pml_wrap_from_integer((int64_t)result));
 *     return result;
 *   }
 *
 * A wrapper that a C++ exception or a cancellation may pass must be compiled with -fexceptions, so that it emits its
 * leave. A wrapper left by a longjmp emits it with the thread's next recorded call. A shared library of wrappers is
 * called libpmlua-wrap-NAME.so.
 *
 * While calls are intercepted (pml_intercept.h, pmlua record), wrapped functions excluded by the selection of libraries
 * and functions emit no events, and their values reach no recorder.
 */
#ifndef PML_WRAP_H
#define PML_WRAP_H

#include "base/pml_region.h"
#include "base/pml_stream.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

PML_BEGIN_DECLS

/* --- wrapped functions -------------------------------------------------------------------------------------------- */

/* Values are passed as 64 bits: an integer, the bits of a double, the number of a text. */
enum pml_wrap_type { PML_WRAP_INTEGER, PML_WRAP_REAL, PML_WRAP_TEXT };

#define PML_WRAP_METRIC 1u /* on the event: arguments on the enter, results on the leave; "FUNCTION:VALUE" */
#define PML_WRAP_RECORD 2u /* in the recorder "sde:::WRAP::FUNCTION:VALUE", with quantiles; not for texts */

#define PML_WRAP_VALUES_MAX 16u /* for arguments and results each */

struct pml_wrap_value {
  const char *name; /* the argument's name; "return" for the result */
  enum pml_wrap_type type;
  unsigned keep;                 /* PML_WRAP_METRIC, PML_WRAP_RECORD or both */
  struct pml_recorder *recorder; /* owned by pmlua */
};

/* Static, one per function; the strings must live as long as it does. Fields that the wrapper does not set are zero
 * initially. */
struct pml_wrap_function {
  const char *name;    /* in the symbol table */
  const char *library; /* its file name, as in the program's dynamic section: "libz.so.1" */
  const char *file;    /* the declaration, for messages; may be NULL */
  uint32_t line;
  struct pml_wrap_value *in, *out; /* [nin] values known at the enter, [nout] at the leave */
  uint32_t nin, nout;
  /* owned by pmlua */
  void *real;          /* atomic */
  pml_region_t region; /* atomic; 0: not used yet */
  uint32_t records;    /* atomic; 0: unknown, 1: no recorders, 2: recorders; 4 more: excluded; 8: counted */
  const struct pml_stream_metrics *metrics[2]; /* of enters, leaves */
};

/* The note contains the beginning and the end of the list of this object's wrappers, relative to the note, so it needs
 * neither a relocation nor a constructor, and is valid before any code of the object runs. One note per file. */
#define PML_WRAP_NOTE_NAME "pmlua"
#define PML_WRAP_NOTE_TYPE 0x77726170
#define PML__WRAP_NOTE                                                                                                 \
  __asm__(".ifndef pml_wrap_noted_\n"                                                                                  \
          ".set pml_wrap_noted_, 1\n"                                                                                  \
          ".pushsection .note.pmlua.wrap, \"a\", %note\n"                                                              \
          ".balign 4\n"                                                                                                \
          ".long 6, 8, 0x77726170\n"                                                                                   \
          ".asciz \"" PML_WRAP_NOTE_NAME "\"\n"                                                                        \
          ".balign 4\n"                                                                                                \
          ".hidden __start_pml_wrap\n"                                                                                 \
          ".hidden __stop_pml_wrap\n"                                                                                  \
          ".long __start_pml_wrap - .\n"                                                                               \
          ".long __stop_pml_wrap - .\n"                                                                                \
          ".popsection\n"                                                                                              \
          ".endif\n")

#define PML_WRAP_VALUE(name, type, keep)                                                                               \
  { (name), (type), (keep), NULL }
#define PML_WRAP_FUNCTION(id, name, library, file, line)                                                               \
  PML_WRAP_FUNCTION_VALUES(id, name, library, file, line, NULL, 0, NULL, 0)
/* Also marks the function as wrapped by this object for interception, by a note in the object file. */
#define PML_WRAP_FUNCTION_VALUES(id, name, library, file, line, in, nin, out, nout)                                    \
  PML__WRAP_NOTE;                                                                                                      \
  static struct pml_wrap_function id = {(name), (library), (file), (line), (in), (out),                                \
                                        (nin),  (nout),    NULL,   0,      0,    {NULL, NULL}};                        \
  static struct pml_wrap_function *id##_listed_ __attribute__((section("pml_wrap"), used)) = &id

/* --- the function itself ------------------------------------------------------------------------------------------ */

PML__SHARED void *pml__wrap_look(const struct pml_wrap_function *f);

/*
 * pml_wrap_real - for wrappers with the function's own name: the next function of that name after the wrapper's object;
 * otherwise the function in the library with its file name, if that is loaded locally, as by scripts and plugins. Such
 * a library then stays loaded. The look-up is made once, so a library that the program opens globally, closes and opens
 * again must not move in between.
 *
 * NULL with errno ENOSYS: no such function; without the wrapper the loader would have refused the call, or the program
 * would have seen an undefined weak symbol. pml_error_detail(-ENOSYS) then returns the sentence. The wrapper leaves
 * errno alone and returns a value that is all zero; it does not end the program. Cost: one load, one predicted branch.
 * May be called before any constructor ran. Thread-safe.
 */
static inline void *pml_wrap_real(struct pml_wrap_function *f) {
  void *real = __atomic_load_n(&f->real, __ATOMIC_RELAXED);
  if (PML_LIKELY(real != NULL)) return real;
  real = dlsym((void *)-1L, f->name); /* RTLD_NEXT depends on the caller, so this function is inline */
  if (real == NULL) real = pml__wrap_look(f);
  if (real != NULL) __atomic_store_n(&f->real, real, __ATOMIC_RELAXED);
  return real;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* An open call, in the wrapper's frame. */
struct pml__call_frame;
struct pml_wrap_call {
  struct pml_wrap_function *function; /* NULL: the enter was not emitted */
  const uint64_t *results;
  struct pml__call_frame *at; /* among the open calls */
};

PML__SHARED bool pml__wrap_records(struct pml_wrap_function *f);
PML__SHARED void pml__wrap_enter(struct pml_wrap_call *call, struct pml_wrap_function *f, const uint64_t *in);
PML__SHARED void pml__wrap_results(struct pml_wrap_call *call, struct pml_wrap_function *f, const uint64_t *out);
PML__SHARED void pml__wrap_leave(struct pml_wrap_call *call);

/*
 * pml_wrap_enter - emit the enter of @f. A consumer that gets it also gets the leave, however the wrapper ends; a
 * consumer that is added in between may get only the leave. errno is preserved.
 *
 * Cost: without a consumer of enters, a load and a predicted branch. Otherwise one clock read and some 50 instructions
 * besides the stream's cost; a lock and allocations at a function's first call, and at a thread's. Open calls are on
 * the list of interception, so that both nest and share its limits: calls beyond these are counted, but not recorded.
 * Calls by the recording itself, or by a signal handler that interrupts it, are not recorded either. Thread-safe;
 * async-signal-safe after the thread's and the function's first call, as far as the consumers are.
 */
static inline void pml_wrap_enter(struct pml_wrap_call *call, struct pml_wrap_function *f) {
  call->function = NULL;
  if (pml_stream_wanted(PML_STREAM_ENTER)) pml__wrap_enter(call, f, NULL);
}

static inline void pml_wrap_leave(struct pml_wrap_call *call) {
  if (PML_UNLIKELY(call->function != NULL)) pml__wrap_leave(call);
}

/* pml_wrap_wanted - whether values of @f are used now: it has a consumer or recorders. */
static inline bool pml_wrap_wanted(struct pml_wrap_function *f) {
  uint32_t records = __atomic_load_n(&f->records, __ATOMIC_RELAXED);
  return pml_stream_wanted(PML_STREAM_ENTER) || (records != 1 && pml__wrap_records(f));
}

/* PML_WRAP_CALL - emit the enter now, and the leave at the end of the block. */
#define PML_WRAP_CALL(call, f)                                                                                         \
  struct pml_wrap_call call __attribute__((cleanup(pml_wrap_leave)));                                                  \
  pml_wrap_enter(&call, (f))

/* The same with values: the following statements fill @values, [nin], if they are wanted. */
#define PML_WRAP_CALL_VALUES(call, f, values, ...)                                                                     \
  struct pml_wrap_call call __attribute__((cleanup(pml_wrap_leave)));                                                  \
  call.function = NULL;                                                                                                \
  if (pml_wrap_wanted(f)) {                                                                                            \
    __VA_ARGS__;                                                                                                       \
    pml__wrap_enter(&call, (f), (values));                                                                             \
  }                                                                                                                    \
  (void)0

/* Record the results after the function returned, and add them to the leave. @values, [nout], must live as long as
 * @call. */
#define PML_WRAP_RESULTS(call, f, values, ...)                                                                         \
  do {                                                                                                                 \
    if (pml_wrap_wanted(f)) {                                                                                          \
      __VA_ARGS__;                                                                                                     \
      pml__wrap_results(&call, (f), (values));                                                                         \
    }                                                                                                                  \
  } while (0)

/* --- values ------------------------------------------------------------------------------------------------------- */

static inline uint64_t pml_wrap_from_integer(int64_t v) {
  return (uint64_t)v;
}
static inline uint64_t pml_wrap_from_real(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

/*
 * pml_wrap_from_text - the number of a text, 0 for NULL: a hash of its first PML_WRAP_TEXT_MAX bytes. The bytes of the
 * first PML_WRAP_TEXTS different texts are stored, once per process; for further texts only the number exists. Cost: a
 * pass over the bytes and one look-up without a lock; allocates when the text is new. Thread-safe.
 */
#define PML_WRAP_TEXT_MAX 255u
#define PML_WRAP_TEXTS 8192u
PML__SHARED uint64_t pml_wrap_from_text(const char *text);
/* pml_wrap_text - the text of a number, or NULL; lives as long as the process. Lock-free, async-signal-safe. */
PML__SHARED const char *pml_wrap_text(uint64_t number);

/* pml_wrap_is_text - whether value @i of events with @m is the number of a text. Lock-free. */
PML__SHARED bool pml_wrap_is_text(const struct pml_stream_metrics *m, uint32_t i);

/* --- consumers ------------------------------------------------------------------------------------------------------
 */

/*
 * pml_wrap_listen - pass the values of each recorded call to @l: arguments at its begin, results at its end, in the
 * order of @f. One listener at a time, which replaces the previous one; NULL: none. @l must stay; the previous listener
 * may still get the rest of a call. Lock-free.
 */
struct pml_wrap_listener {
  void (*values)(void *arg, const struct pml_wrap_function *f, bool results, const uint64_t *values);
  void *arg;
};
PML__SHARED void pml_wrap_listen(const struct pml_wrap_listener *l);

/* --- statistics
 * ------------------------------------------------------------------------------------------------------- */

struct pml_wrap_stats {
  uint64_t functions;  /* functions called with a consumer, or with recorders */
  uint64_t unrecorded; /* values without a recorder, because of a too long name or no memory */
  uint64_t missing;    /* calls of functions that were not found behind their wrappers */
  uint64_t texts;      /* stored texts */
  uint64_t nameless;   /* how often there was no room for a new text */
};
/* pml_intercept_stats() includes the calls that were not recorded. Lock-free. */
PML__SHARED void pml_wrap_stats(struct pml_wrap_stats *s);

PML_END_DECLS

#endif
