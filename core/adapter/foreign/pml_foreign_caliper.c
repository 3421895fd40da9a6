/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/foreign/pml_foreign_caliper.c - Caliper's C interface: regions, phases, attributes, loops.
 *
 * A region, a phase, a communication region, and a value of a nested attribute such as a loop are regions with their
 * names; a value of another attribute is a region "ATTRIBUTE=VALUE". An attribute that is stored as a value, such as
 * the number of a loop's iteration, is a region with its name, because a region for each value would be too many.
 * Setting an attribute to a text is a call "ATTRIBUTE=TEXT" without duration; a number is a value of the recorder
 * sde:::Caliper::ATTRIBUTE.
 *
 * If the program has libcaliper as a shared library, that library gets all calls as well. Without one,
 * core/compat/libcaliper.c has the functions that do not concern regions. The C++ classes of Caliper do not call the C
 * interface.
 */
#include "adapter/foreign/pml_foreign_open.h"

#include "base/pml_map.h"
#include "base/pml_process.h"
#include "interface/caliper/pml_caliper.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALIPER PML_FOREIGN_CALIPER
#define ATTRIBUTE pml_caliper_id attribute
#define TEXT const char *text

/* X(result, name, parameters, arguments) */
#define FUNCTIONS(X)                                                                                                   \
  X(void, begin_region, (TEXT), (text))                                                                                \
  X(void, end_region, (TEXT), (text))                                                                                  \
  X(void, begin_phase, (TEXT), (text))                                                                                 \
  X(void, end_phase, (TEXT), (text))                                                                                   \
  X(void, begin_comm_region, (TEXT), (text))                                                                           \
  X(void, end_comm_region, (TEXT), (text))                                                                             \
  X(void, begin, (ATTRIBUTE), (attribute))                                                                             \
  X(void, begin_string, (ATTRIBUTE, TEXT), (attribute, text))                                                          \
  X(void, begin_int, (ATTRIBUTE, int value), (attribute, value))                                                       \
  X(void, begin_double, (ATTRIBUTE, double value), (attribute, value))                                                 \
  X(void, end, (ATTRIBUTE), (attribute))                                                                               \
  X(void, set, (ATTRIBUTE, const void *value, size_t bytes), (attribute, value, bytes))                                \
  X(void, set_string, (ATTRIBUTE, TEXT), (attribute, text))                                                            \
  X(void, set_int, (ATTRIBUTE, int value), (attribute, value))                                                         \
  X(void, set_double, (ATTRIBUTE, double value), (attribute, value))                                                   \
  X(void, begin_byname, (const char *name), (name))                                                                    \
  X(void, begin_string_byname, (const char *name, TEXT), (name, text))                                                 \
  X(void, begin_int_byname, (const char *name, int value), (name, value))                                              \
  X(void, begin_double_byname, (const char *name, double value), (name, value))                                        \
  X(void, end_byname, (const char *name), (name))                                                                      \
  X(void, set_string_byname, (const char *name, TEXT), (name, text))                                                   \
  X(void, set_int_byname, (const char *name, int value), (name, value))                                                \
  X(void, set_double_byname, (const char *name, double value), (name, value))                                          \
  X(void, init, (void), ())                                                                                            \
  X(int, is_initialized, (void), ())                                                                                   \
  X(pml_caliper_id, create_attribute, (const char *name, int type, int properties), (name, type, properties))          \
  X(pml_caliper_id, create_attribute_with_metadata,                                                                    \
    (const char *name, int type, int properties, int n, const pml_caliper_id *key,                                     \
     const struct pml_caliper_value *value),                                                                           \
    (name, type, properties, n, key, value))                                                                           \
  X(pml_caliper_id, make_loop_iteration_attribute, (const char *name), (name))                                         \
  X(pml_caliper_id, find_attribute, (const char *name), (name))                                                        \
  X(const char *, attribute_name, (ATTRIBUTE), (attribute))                                                            \
  X(int, attribute_type, (ATTRIBUTE), (attribute))                                                                     \
  X(int, attribute_properties, (ATTRIBUTE), (attribute))

#define DECLARE(result, name, parameters, arguments) PML_API result cali_##name parameters;
FUNCTIONS(DECLARE)
#undef DECLARE
extern PML_API pml_caliper_id cali_loop_attr_id, cali_annotation_attr_id;
PML_API pml_caliper_id cali_loop_attr_id = PML_CALIPER_NO_ID, cali_annotation_attr_id = PML_CALIPER_NO_ID;

/* ---- the program's libcaliper ---- */

static struct {
#define FUNCTION(result, name, parameters, arguments) result(*name) parameters;
  FUNCTIONS(FUNCTION)
#undef FUNCTION
} real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_real(void) {
  void *library = dlopen(PML_CALIPER_SONAME, RTLD_LAZY | RTLD_NOLOAD); /* also a library that is loaded locally */
#define LOOK_UP(result, name, parameters, arguments)                                                                   \
  *(void **)(void *)&real.name = dlsym(RTLD_NEXT, "cali_" #name);                                                      \
  if (real.name == NULL && library != NULL) *(void **)(void *)&real.name = dlsym(library, "cali_" #name);
  FUNCTIONS(LOOK_UP)
#undef LOOK_UP
}

/* Set while the thread is in libcaliper, which may call its own functions by way of these. */
static PML_THREAD_LOCAL bool inside __attribute__((tls_model("initial-exec")));

/* Whether the call is the program's. */
static inline bool is_call(void) {
  (void)pthread_once(&once, find_real);
  return !inside;
}

#define PASS_ON(name, ...)                                                                                             \
  do {                                                                                                                 \
    bool was = inside;                                                                                                 \
    inside = true;                                                                                                     \
    if (real.name != NULL) real.name(__VA_ARGS__);                                                                     \
    inside = was;                                                                                                      \
  } while (0)

/* ---- attributes ---- */

struct attribute {
  pml_caliper_id id;
  uint64_t stack; /* identifies the stack of the thread's values: a hash of the name */
  int type, properties;
  char name[];
};

/* By id, and by name where the ids are our own, in tables that are at most half full. The lock guards additions; an
 * attribute is complete when it is stored, with release, and loaded with acquire. */
#define ATTRIBUTES 4096u
static struct attribute *by_id[2 * ATTRIBUTES];
static struct attribute *own[ATTRIBUTES]; /* by id - 1 */
static uint32_t nattributes, nown;
static struct pml__lock lock;

static size_t place_of(pml_caliper_id id) {
  size_t k = pml__hash(PML__HASH, id) % (2 * ATTRIBUTES);
  for (const struct attribute *a; (a = __atomic_load_n(&by_id[k], __ATOMIC_ACQUIRE)) != NULL && a->id != id;)
    k = (k + 1) % (2 * ATTRIBUTES);
  return k;
}

static struct attribute *own_of(const char *name) {
  uint32_t n = __atomic_load_n(&nown, __ATOMIC_ACQUIRE);
  for (uint32_t k = 0; k < n; k++)
    if (strcmp(own[k]->name, name) == 0) return own[k];
  return NULL;
}

static uint64_t stack_of(const char *name) {
  return pml__hash_text(PML__HASH, name);
}

/* @id PML_CALIPER_NO_ID: an own one. */
static struct attribute *add(pml_caliper_id id, const char *name, int type, int properties) {
  int saved = errno;
  size_t n = strnlen(name, PML_FOREIGN_LABEL);
  struct attribute *a = calloc(1, sizeof *a + n + 1);
  if (a == NULL) return NULL;
  memcpy(a->name, name, n);
  a->stack = stack_of(a->name);
  a->type = type;
  a->properties = properties;
  pml__lock_take(&lock);
  struct attribute *there = id == PML_CALIPER_NO_ID ? own_of(a->name) : by_id[place_of(id)];
  if (there == NULL && nattributes < ATTRIBUTES) {
    a->id = id == PML_CALIPER_NO_ID ? nown + UINT64_C(1) : id;
    nattributes++;
    __atomic_store_n(&by_id[place_of(a->id)], a, __ATOMIC_RELEASE);
    if (id == PML_CALIPER_NO_ID) {
      own[nown] = a;
      __atomic_store_n(&nown, nown + 1, __ATOMIC_RELEASE);
    }
    there = a;
  }
  pml__lock_leave(&lock);
  if (there != a) free(a);
  errno = saved;
  return there;
}

static __attribute__((noinline, cold)) const struct attribute *ask(pml_caliper_id id) {
  if (real.attribute_name == NULL || real.attribute_type == NULL || real.attribute_properties == NULL) return NULL;
  const char *name = real.attribute_name(id);
  return name != NULL ? add(id, name, real.attribute_type(id), real.attribute_properties(id)) : NULL;
}

/* NULL: the program has no such attribute, or more than can be recorded. */
static inline const struct attribute *attribute_of(pml_caliper_id id) {
  const struct attribute *a = __atomic_load_n(&by_id[place_of(id)], __ATOMIC_ACQUIRE);
  return PML_LIKELY(a != NULL) ? a : ask(id);
}

/* ---- regions ---- */

#define NAMED(what, section)                                                                                           \
  void cali_begin_##what(TEXT) {                                                                                       \
    if (is_call()) (void)pml_section_start(section(CALIPER, text));                                                    \
    PASS_ON(begin_##what, text);                                                                                       \
  }                                                                                                                    \
  void cali_end_##what(TEXT) {                                                                                         \
    if (is_call()) (void)pml_section_stop(section(CALIPER, text));                                                     \
    PASS_ON(end_##what, text);                                                                                         \
  }
NAMED(region, pml_foreign_section)
NAMED(phase, pml_foreign_section)
NAMED(comm_region, pml_foreign_transfer)

/* ---- values of attributes ---- */

/* The section of "NAME=TEXT". */
static struct pml_section *equals(const char *name, const char *text) {
  char both[PML_FOREIGN_LABEL];
  (void)snprintf(both, sizeof both, "%.2000s=%.2000s", name, text != NULL ? text : "(null)");
  return pml_foreign_section(CALIPER, both);
}

static struct pml_section *equals_int(const struct attribute *a, int value) {
  char text[16];
  if ((a->properties & PML_CALIPER_AS_VALUE) != 0) return pml_foreign_section(CALIPER, a->name);
  (void)snprintf(text, sizeof text, "%d", value);
  return equals(a->name, text);
}

static struct pml_section *equals_double(const struct attribute *a, double value) {
  char text[40];
  if ((a->properties & PML_CALIPER_AS_VALUE) != 0) return pml_foreign_section(CALIPER, a->name);
  (void)snprintf(text, sizeof text, "%.17g", value);
  return equals(a->name, text);
}

static struct pml_section *equals_text(const struct attribute *a, const char *text) {
  if ((a->properties & PML_CALIPER_NESTED) != 0) return pml_foreign_section(CALIPER, text);
  return equals(a->name, text);
}

/* Push @section for the attribute, which it may use as `a`. */
#define BEGIN(of, section)                                                                                             \
  const struct attribute *a = is_call() ? (of) : NULL;                                                                 \
  if (a != NULL) pml_foreign_push(CALIPER, a->stack, (section))

void cali_begin(ATTRIBUTE) {
  BEGIN(attribute_of(attribute), pml_foreign_section(CALIPER, a->name));
  PASS_ON(begin, attribute);
}
void cali_begin_string(ATTRIBUTE, TEXT) {
  BEGIN(attribute_of(attribute), equals_text(a, text));
  PASS_ON(begin_string, attribute, text);
}
void cali_begin_int(ATTRIBUTE, int value) {
  BEGIN(attribute_of(attribute), equals_int(a, value));
  PASS_ON(begin_int, attribute, value);
}
void cali_begin_double(ATTRIBUTE, double value) {
  BEGIN(attribute_of(attribute), equals_double(a, value));
  PASS_ON(begin_double, attribute, value);
}
void cali_end(ATTRIBUTE) {
  const struct attribute *a = is_call() ? attribute_of(attribute) : NULL;
  if (a != NULL) pml_foreign_pop(CALIPER, a->stack);
  if (a == NULL && !inside) pml_foreign_unmatched(CALIPER);
  PASS_ON(end, attribute);
}

/* Attributes that the program uses by name need no entry in the table. */
void cali_begin_byname(const char *name) {
  if (is_call() && name != NULL) pml_foreign_push(CALIPER, stack_of(name), pml_foreign_section(CALIPER, name));
  PASS_ON(begin_byname, name);
}
void cali_begin_string_byname(const char *name, TEXT) {
  if (is_call() && name != NULL) pml_foreign_push(CALIPER, stack_of(name), equals(name, text));
  PASS_ON(begin_string_byname, name, text);
}
void cali_begin_int_byname(const char *name, int value) {
  char text[16];
  (void)snprintf(text, sizeof text, "%d", value);
  if (is_call() && name != NULL) pml_foreign_push(CALIPER, stack_of(name), equals(name, text));
  PASS_ON(begin_int_byname, name, value);
}
void cali_begin_double_byname(const char *name, double value) {
  char text[40];
  (void)snprintf(text, sizeof text, "%.17g", value);
  if (is_call() && name != NULL) pml_foreign_push(CALIPER, stack_of(name), equals(name, text));
  PASS_ON(begin_double_byname, name, value);
}
void cali_end_byname(const char *name) {
  if (is_call() && name != NULL) pml_foreign_pop(CALIPER, stack_of(name));
  PASS_ON(end_byname, name);
}

/* ---- setting attributes ---- */

static void set_number(const char *name, double value) {
  if (name != NULL) pml__foreign_value(CALIPER, pml_foreign_section(CALIPER, name), value);
}
static void set_text(const char *name, const char *text) {
  if (name != NULL) pml_foreign_mark(equals(name, text), 0);
}
static const char *name_of(pml_caliper_id id) {
  const struct attribute *a = is_call() ? attribute_of(id) : NULL;
  return a != NULL ? a->name : NULL;
}

void cali_set_string(ATTRIBUTE, TEXT) {
  set_text(name_of(attribute), text);
  PASS_ON(set_string, attribute, text);
}
void cali_set_int(ATTRIBUTE, int value) {
  set_number(name_of(attribute), value);
  PASS_ON(set_int, attribute, value);
}
void cali_set_double(ATTRIBUTE, double value) {
  set_number(name_of(attribute), value);
  PASS_ON(set_double, attribute, value);
}
/* A text without a zero at its end; other types have the size of their C type. */
void cali_set(ATTRIBUTE, const void *value, size_t bytes) {
  const struct attribute *a = is_call() && value != NULL ? attribute_of(attribute) : NULL;
  char text[PML_FOREIGN_LABEL];
  if (a != NULL && a->type == PML_CALIPER_STRING) {
    (void)snprintf(text, sizeof text, "%.*s", (int)(bytes < 2000 ? bytes : 2000), (const char *)value);
    set_text(a->name, text);
  }
  PASS_ON(set, attribute, value, bytes);
}
void cali_set_string_byname(const char *name, TEXT) {
  if (is_call()) set_text(name, text);
  PASS_ON(set_string_byname, name, text);
}
void cali_set_int_byname(const char *name, int value) {
  if (is_call()) set_number(name, value);
  PASS_ON(set_int_byname, name, value);
}
void cali_set_double_byname(const char *name, double value) {
  if (is_call()) set_number(name, value);
  PASS_ON(set_double_byname, name, value);
}

/* ---- the rest, without libcaliper ---- */

#define OR_REAL(name, without, ...)                                                                                    \
  (void)is_call();                                                                                                     \
  if (real.name != NULL) return real.name(__VA_ARGS__);                                                                \
  return without

static pml_caliper_id new_id(const char *name, int type, int properties) {
  const struct attribute *a = name != NULL ? add(PML_CALIPER_NO_ID, name, type, properties) : NULL;
  return a != NULL ? a->id : PML_CALIPER_NO_ID;
}

pml_caliper_id cali_create_attribute(const char *name, int type, int properties) {
  OR_REAL(create_attribute, new_id(name, type, properties), name, type, properties);
}
pml_caliper_id cali_create_attribute_with_metadata(const char *name, int type, int properties, int n,
                                                   const pml_caliper_id *key, const struct pml_caliper_value *value) {
  OR_REAL(create_attribute_with_metadata, new_id(name, type, properties), name, type, properties, n, key, value);
}
pml_caliper_id cali_make_loop_iteration_attribute(const char *name) {
  char text[PML_FOREIGN_LABEL];
  (void)snprintf(text, sizeof text, "iteration#%.2000s", name != NULL ? name : "(null)");
  OR_REAL(make_loop_iteration_attribute, new_id(text, PML_CALIPER_INT, PML_CALIPER_AS_VALUE), name);
}
pml_caliper_id cali_find_attribute(const char *name) {
  const struct attribute *a = name != NULL ? own_of(name) : NULL;
  OR_REAL(find_attribute, a != NULL ? a->id : PML_CALIPER_NO_ID, name);
}
const char *cali_attribute_name(ATTRIBUTE) {
  const struct attribute *a = by_id[place_of(attribute)];
  OR_REAL(attribute_name, a != NULL ? a->name : NULL, attribute);
}
int cali_attribute_type(ATTRIBUTE) {
  const struct attribute *a = by_id[place_of(attribute)];
  OR_REAL(attribute_type, a != NULL ? a->type : PML_CALIPER_INVALID, attribute);
}
int cali_attribute_properties(ATTRIBUTE) {
  const struct attribute *a = by_id[place_of(attribute)];
  OR_REAL(attribute_properties, a != NULL ? a->properties : 0, attribute);
}
int cali_is_initialized(void) {
  OR_REAL(is_initialized, cali_loop_attr_id != PML_CALIPER_NO_ID);
}
void cali_init(void) {
  (void)is_call();
  if (real.init == NULL) cali_loop_attr_id = new_id("loop", PML_CALIPER_STRING, PML_CALIPER_NESTED);
  if (real.init == NULL) cali_annotation_attr_id = new_id("annotation", PML_CALIPER_STRING, PML_CALIPER_NESTED);
  PASS_ON(init);
}
