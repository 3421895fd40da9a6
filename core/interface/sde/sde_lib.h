/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/sde/sde_lib.h - PAPI's libsde interface, for instrumenting libraries without PAPI.
 *
 * Names, argument order, types and numbers match libsde 1.0, so a program compiled against PAPI's header of this name
 * runs on pmlua's libsde.so.1, and vice versa. The include guard is PAPI's, so the header that is found first is used.
 */
#ifndef PAPI_SDE_LIB_H
#define PAPI_SDE_LIB_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PAPI_SDE_VERSION_NUMBER(major, minor) (((major) << 16) | (minor))
#define PAPI_SDE_VERSION PAPI_SDE_VERSION_NUMBER(1, 0)

/* mode: one of each pair, or'ed */
#define PAPI_SDE_RO 0x00
#define PAPI_SDE_RW 0x01
#define PAPI_SDE_DELTA 0x00
#define PAPI_SDE_INSTANT 0x10

/* type */
#define PAPI_SDE_long_long 0x0
#define PAPI_SDE_int 0x1
#define PAPI_SDE_double 0x2
#define PAPI_SDE_float 0x3

/* flags of a group */
#define PAPI_SDE_SUM 0x0
#define PAPI_SDE_MAX 0x1
#define PAPI_SDE_MIN 0x2

/* return values; the numbers are PAPI's */
#define SDE_OK 0
#define SDE_EINVAL (-1)
#define SDE_ENOMEM (-2)
#define SDE_ECMP (-4)
#define SDE_ENOEVNT (-7)
#define SDE_EMISC (-14)

#define register_fp_counter register_counter_cb
#define papi_sde_register_fp_counter papi_sde_register_counter_cb
#define destroy_counter unregister_counter
#define destroy_counting_set unregister_counter
#define papi_sde_destroy_counter papi_sde_unregister_counter
#define papi_sde_destroy_counting_set papi_sde_unregister_counter

/* A read returns a long long; these macros convert it to the event's type. The reader frees the array of a recorder. */
#define GET_FLOAT_SDE(x) (*((float *)&(x)))
#define GET_DOUBLE_SDE(x) (*((double *)&(x)))
#define GET_SDE_RECORDER_ADDRESS(x, type) ((type *)(x))

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* For the two macros below, which are for programs: PAPI_VERBOSE and PAPI_DEBUG=SDE set the variables. */
extern int _sde_be_verbose;
extern int _sde_debug;

__attribute__((format(printf, 1, 2))) static inline void papi_sde_say(const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  vfprintf(stderr, format, ap);
  va_end(ap);
}
#define SDEDBG(...)                                                                                                    \
  do {                                                                                                                 \
    if (_sde_debug) papi_sde_say(__VA_ARGS__);                                                                         \
  } while (0)
#define SDE_ERROR(...)                                                                                                 \
  do {                                                                                                                 \
    if (_sde_be_verbose) {                                                                                             \
      fputs("PAPI SDE Error: ", stderr);                                                                               \
      papi_sde_say(__VA_ARGS__);                                                                                       \
      fputs("\n", stderr);                                                                                             \
    }                                                                                                                  \
  } while (0)

/* The result of reading a counting set: a list of malloc'd nodes, each with a malloc'd copy of its element. */
typedef struct cset_list_object_s cset_list_object_t;
struct cset_list_object_s {
  uint32_t count;
  uint32_t type_id;
  size_t type_size;
  void *ptr;
  cset_list_object_t *next;
};

typedef long long int (*papi_sde_fptr_t)(void *);
typedef int (*papi_sde_cmpr_fptr_t)(void *);
typedef void *papi_handle_t;

typedef int papi_sde_order_t(const void *, const void *); /* a comparison function of qsort */

/* The functions by which a library's papi_sde_hook_list_events() registers events for a tool that only lists them. */
typedef struct papi_sde_fptr_struct_s {
  papi_handle_t (*init)(const char *library);
  int (*shutdown)(papi_handle_t handle);
  int (*register_counter)(papi_handle_t handle, const char *event, int mode, int type, void *counter);
  int (*register_counter_cb)(papi_handle_t handle, const char *event, int mode, int type, papi_sde_fptr_t callback,
                             void *param);
  int (*unregister_counter)(papi_handle_t handle, const char *event);
  int (*describe_counter)(papi_handle_t handle, const char *event, const char *description);
  int (*add_counter_to_group)(papi_handle_t handle, const char *event, const char *group, uint32_t flags);
  int (*create_counter)(papi_handle_t handle, const char *event, int mode, void **counter);
  int (*inc_counter)(papi_handle_t counter, long long int increment);
  int (*create_recorder)(papi_handle_t handle, const char *event, size_t bytes, papi_sde_order_t *compare,
                         void **recorder);
  int (*create_counting_set)(papi_handle_t handle, const char *event, void **set);
  int (*counting_set_insert)(void *set, size_t bytes, size_t hashable, const void *element, uint32_t type_id);
  int (*counting_set_remove)(void *set, size_t hashable, const void *element, uint32_t type_id);
  int (*record)(void *recorder, size_t bytes, const void *value);
  int (*reset_recorder)(void *recorder);
  int (*reset_counter)(void *counter);
  void *(*get_counter_handle)(papi_handle_t handle, const char *event);
} papi_sde_fptr_struct_t;

/* All functions are thread-safe. With a NULL handle they return SDE_OK and do nothing, so that a library whose init
 * failed need not check each call. Handles stay valid until the process ends. */
papi_handle_t papi_sde_init(const char *library); /* a known name: the same handle; NULL on failure */
int papi_sde_shutdown(papi_handle_t handle);
int papi_sde_register_counter(papi_handle_t handle, const char *event, int mode, int type, void *counter);
int papi_sde_register_counter_cb(papi_handle_t handle, const char *event, int mode, int type, papi_sde_fptr_t callback,
                                 void *param);
int papi_sde_unregister_counter(papi_handle_t handle, const char *event);
int papi_sde_describe_counter(papi_handle_t handle, const char *event, const char *description);
int papi_sde_add_counter_to_group(papi_handle_t handle, const char *event, const char *group, uint32_t flags);
int papi_sde_create_counter(papi_handle_t handle, const char *event, int mode, void **counter);
int papi_sde_inc_counter(papi_handle_t counter, long long int increment);
int papi_sde_create_recorder(papi_handle_t handle, const char *event, size_t bytes, papi_sde_order_t *compare,
                             void **recorder);
int papi_sde_create_counting_set(papi_handle_t handle, const char *event, void **set);
int papi_sde_counting_set_insert(void *set, size_t bytes, size_t hashable, const void *element, uint32_t type_id);
int papi_sde_counting_set_remove(void *set, size_t hashable, const void *element, uint32_t type_id);
int papi_sde_record(void *recorder, size_t bytes, const void *value);
int papi_sde_reset_recorder(void *recorder);
int papi_sde_reset_counter(void *counter);
void *papi_sde_get_counter_handle(papi_handle_t handle, const char *event);

/* Comparators for recorders; pmlua recognises them, derives the type, and selects without calling back. */
int papi_sde_compare_long_long(const void *a, const void *b);
int papi_sde_compare_int(const void *a, const void *b);
int papi_sde_compare_double(const void *a, const void *b);
int papi_sde_compare_float(const void *a, const void *b);

/* Defined by a library whose events can be listed without running it. */
papi_handle_t papi_sde_hook_list_events(papi_sde_fptr_struct_t *functions);

#define POPULATE_SDE_FPTR_STRUCT(s)                                                                                    \
  do {                                                                                                                 \
    (s).init = papi_sde_init;                                                                                          \
    (s).shutdown = papi_sde_shutdown;                                                                                  \
    (s).register_counter = papi_sde_register_counter;                                                                  \
    (s).register_counter_cb = papi_sde_register_counter_cb;                                                            \
    (s).unregister_counter = papi_sde_unregister_counter;                                                              \
    (s).describe_counter = papi_sde_describe_counter;                                                                  \
    (s).add_counter_to_group = papi_sde_add_counter_to_group;                                                          \
    (s).create_counter = papi_sde_create_counter;                                                                      \
    (s).inc_counter = papi_sde_inc_counter;                                                                            \
    (s).create_recorder = papi_sde_create_recorder;                                                                    \
    (s).create_counting_set = papi_sde_create_counting_set;                                                            \
    (s).counting_set_insert = papi_sde_counting_set_insert;                                                            \
    (s).counting_set_remove = papi_sde_counting_set_remove;                                                            \
    (s).record = papi_sde_record;                                                                                      \
    (s).reset_recorder = papi_sde_reset_recorder;                                                                      \
    (s).reset_counter = papi_sde_reset_counter;                                                                        \
    (s).get_counter_handle = papi_sde_get_counter_handle;                                                              \
  } while (0)

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
