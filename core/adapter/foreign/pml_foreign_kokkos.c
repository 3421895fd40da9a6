/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/foreign/pml_foreign_kokkos.c - Kokkos Tools: kernels, regions, sections, copies, fences, allocations.
 *
 * Kernels, fences, regions and sections have their own labels. A deep copy is "copy SPACE LABEL to SPACE LABEL", and
 * its work is the bytes; an allocation is a call of "allocate SPACE LABEL" without duration, with the bytes as work, a
 * deallocation one of "deallocate SPACE LABEL". The level sde:::Kokkos::allocated is the number of bytes allocated at
 * the time. An event is a call without duration. Metadata and the state of dual views are not recorded.
 *
 * Kokkos loads one tool. Others that were named in the environment are loaded here, and get each call, in their order.
 */
#include "adapter/foreign/pml_foreign.h"
#include "base/pml_array.h"
#include "base/pml_process.h"
#include "base/pml_setting.h"
#include "base/text/pml_say.h"
#include "interface/kokkos/kokkos_tools.h"
#include "source/sde/pml_sde.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(name, parameters, arguments) PML_API void kokkosp_##name parameters;
KOKKOS_TOOLS_LIST(DECLARE)
#undef DECLARE

/* ---- other tools ---- */

#define TOOLS_MAX 4u

struct tool {
#define FUNCTION(name, parameters, arguments) void(*name) parameters;
  KOKKOS_TOOLS_LIST(FUNCTION)
#undef FUNCTION
};
static struct tool tool[TOOLS_MAX]; /* filled by init_library, before any other call */
static unsigned tools;

static void load_tool(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    pml__say("the Kokkos tool %s cannot be loaded: %s", path, dlerror());
    return;
  }
#define LOOK_UP(name, parameters, arguments) *(void **)&tool[tools].name = dlsym(library, "kokkosp_" #name);
  KOKKOS_TOOLS_LIST(LOOK_UP)
#undef LOOK_UP
  tools++;
}

static void load_tools(void) {
  const char *paths = pml__setting(pml_foreign_about(PML_FOREIGN_KOKKOS)->before);
  char *list = paths != NULL && tools == 0 ? strdup(paths) : NULL, *rest = list;
  for (char *path; (path = strsep(&rest, ";")) != NULL;)
    if (path[0] != '\0' && tools < TOOLS_MAX) load_tool(path);
  free(list);
}

/* @name of each other tool that has it. */
#define PASS_ON(name, ...)                                                                                             \
  for (unsigned k_ = 0; k_ < tools; k_++)                                                                              \
    if (tool[k_].name != NULL) tool[k_].name(__VA_ARGS__)

/*
 * Kokkos gets a number for a kernel, a fence or a section. Without other tools this is pml_foreign_id(). With other
 * tools, each chooses a number; the number is then the place of all of them in this list, plus 1.
 */
struct numbered {
  struct pml_section *section;
  uint64_t id[TOOLS_MAX];
  uint32_t next_free; /* plus 1; 0: the last */
  bool used;
};
static struct numbered *all;
static uint32_t nall, room, free_place; /* free_place: plus 1 */
static struct pml__lock lock;

static uint64_t add_number(const struct numbered *n) {
  pml__lock_take(&lock);
  uint32_t place = free_place;
  if (place != 0)
    free_place = all[place - 1].next_free;
  else if (PML__ARRAY_ROOM(all, room, nall + 1))
    place = ++nall;
  if (place != 0) all[place - 1] = *n;
  pml__lock_leave(&lock);
  return place;
}

static bool find_number(uint64_t number, bool release, struct numbered *n) {
  pml__lock_take(&lock);
  bool found = number > 0 && number <= nall && all[number - 1].used;
  if (found) *n = all[number - 1];
  if (found && release) {
    all[number - 1] = (struct numbered){.next_free = free_place};
    free_place = (uint32_t)number;
  }
  pml__lock_leave(&lock);
  if (!found) pml_foreign_unmatched(PML_FOREIGN_KOKKOS);
  return found;
}

/* ---- kernels and fences ---- */

#define KOKKOS PML_FOREIGN_KOKKOS

#define NUMBERED(what)                                                                                                 \
  static __attribute__((noinline, cold)) uint64_t begin_##what##s(const char *name, uint32_t device) {                 \
    struct numbered n = {.section = pml_foreign_section(KOKKOS, name), .used = true};                                  \
    for (unsigned k = 0; k < tools; k++)                                                                               \
      if (tool[k].begin_##what != NULL) tool[k].begin_##what(name, device, &n.id[k]);                                  \
    (void)pml_section_start(n.section);                                                                                \
    return add_number(&n);                                                                                             \
  }                                                                                                                    \
  static __attribute__((noinline, cold)) void end_##what##s(uint64_t id) {                                             \
    struct numbered n;                                                                                                 \
    if (!find_number(id, true, &n)) return;                                                                            \
    (void)pml_section_stop(n.section);                                                                                 \
    for (unsigned k = 0; k < tools; k++)                                                                               \
      if (tool[k].end_##what != NULL) tool[k].end_##what(n.id[k]);                                                     \
  }                                                                                                                    \
  void kokkosp_begin_##what(const char *name, uint32_t device, uint64_t *id) {                                         \
    *id = PML_LIKELY(tools == 0) ? begin(name) : begin_##what##s(name, device);                                        \
  }                                                                                                                    \
  void kokkosp_end_##what(uint64_t id) {                                                                               \
    if (PML_LIKELY(tools == 0))                                                                                        \
      end(id);                                                                                                         \
    else                                                                                                               \
      end_##what##s(id);                                                                                               \
  }

static inline uint64_t begin(const char *name) {
  struct pml_section *s = pml_foreign_section(KOKKOS, name);
  (void)pml_section_start(s);
  return pml_foreign_id(s);
}

static inline void end(uint64_t id) {
  struct pml_section *s = pml_foreign_of(KOKKOS, id);
  if (PML_LIKELY(s != NULL)) (void)pml_section_stop(s);
}

NUMBERED(parallel_for)
NUMBERED(parallel_reduce)
NUMBERED(parallel_scan)
NUMBERED(fence)

/* ---- regions and sections ---- */

enum stack { REGIONS, COPIES };

void kokkosp_push_profile_region(const char *name) {
  PASS_ON(push_profile_region, name);
  pml_foreign_push(KOKKOS, REGIONS, pml_foreign_section(KOKKOS, name));
}

void kokkosp_pop_profile_region(void) {
  pml_foreign_pop(KOKKOS, REGIONS);
  PASS_ON(pop_profile_region);
}

void kokkosp_create_profile_section(const char *name, uint32_t *id) {
  struct numbered n = {.section = pml_foreign_section(KOKKOS, name), .used = true};
  for (unsigned k = 0; k < tools; k++) {
    uint32_t other = 0;
    if (tool[k].create_profile_section != NULL) tool[k].create_profile_section(name, &other);
    n.id[k] = other;
  }
  *id = (uint32_t)(tools == 0 ? pml_foreign_id(n.section) : add_number(&n));
}

static struct numbered section_of(uint32_t id, bool release) {
  struct numbered n = {0};
  if (tools == 0)
    n.section = pml_foreign_of(KOKKOS, id);
  else
    (void)find_number(id, release, &n);
  return n;
}

void kokkosp_start_profile_section(uint32_t id) {
  struct numbered n = section_of(id, false);
  for (unsigned k = 0; n.section != NULL && k < tools; k++)
    if (tool[k].start_profile_section != NULL) tool[k].start_profile_section((uint32_t)n.id[k]);
  if (n.section != NULL) (void)pml_section_start(n.section);
}

void kokkosp_stop_profile_section(uint32_t id) {
  struct numbered n = section_of(id, false);
  if (n.section != NULL) (void)pml_section_stop(n.section);
  for (unsigned k = 0; n.section != NULL && k < tools; k++)
    if (tool[k].stop_profile_section != NULL) tool[k].stop_profile_section((uint32_t)n.id[k]);
}

void kokkosp_destroy_profile_section(uint32_t id) {
  struct numbered n = section_of(id, true);
  for (unsigned k = 0; n.section != NULL && k < tools; k++)
    if (tool[k].destroy_profile_section != NULL) tool[k].destroy_profile_section((uint32_t)n.id[k]);
}

void kokkosp_profile_event(const char *name) {
  PASS_ON(profile_event, name);
  pml_foreign_mark(pml_foreign_section(KOKKOS, name), 0);
}

/* ---- copies and allocations ---- */

/* A label of parts, in @text, as far as they fit. */
struct words {
  size_t n;
  char text[1024];
};

static void say(struct words *w, const char *part, size_t most) {
  size_t n = part != NULL ? strnlen(part, most) : 0, left = sizeof w->text - 1 - w->n;
  if (n > left) n = left;
  if (n > 0) memcpy(w->text + w->n, part, n);
  w->n += n;
  w->text[w->n] = '\0';
}

static void say_view(struct words *w, const char *before, const struct kokkos_space *space, const char *label) {
  say(w, before, SIZE_MAX);
  say(w, space->name, sizeof space->name);
  if (label != NULL && label[0] != '\0') say(w, " ", 1);
  say(w, label, 400);
}

void kokkosp_begin_deep_copy(struct kokkos_space to, const char *to_label, const void *to_at, struct kokkos_space from,
                             const char *from_label, const void *from_at, uint64_t bytes) {
  struct words w = {0};
  PASS_ON(begin_deep_copy, to, to_label, to_at, from, from_label, from_at, bytes);
  say_view(&w, "copy ", &from, from_label);
  say_view(&w, " to ", &to, to_label);
  pml_foreign_push_work(KOKKOS, COPIES, pml_foreign_transfer(KOKKOS, w.text), (double)bytes);
}

void kokkosp_end_deep_copy(void) {
  pml_foreign_pop(KOKKOS, COPIES);
  PASS_ON(end_deep_copy);
}

static struct pml_sde_counter *allocated; /* set by init_library */

static void mark_memory(const char *what, const struct kokkos_space *in, const char *label, uint64_t bytes) {
  struct words w = {0};
  say_view(&w, what, in, label);
  pml_foreign_mark(pml_foreign_transfer(KOKKOS, w.text), (double)bytes);
}

void kokkosp_allocate_data(struct kokkos_space in, const char *label, const void *at, uint64_t bytes) {
  PASS_ON(allocate_data, in, label, at, bytes);
  mark_memory("allocate ", &in, label, bytes);
  if (allocated != NULL) (void)pml_sde_increment(allocated, (int64_t)bytes);
}

void kokkosp_deallocate_data(struct kokkos_space in, const char *label, const void *at, uint64_t bytes) {
  PASS_ON(deallocate_data, in, label, at, bytes);
  mark_memory("deallocate ", &in, label, bytes);
  if (allocated != NULL) (void)pml_sde_increment(allocated, -(int64_t)bytes);
}

/* ---- the tool ---- */

void kokkosp_init_library(int seq, uint64_t version, uint32_t n, struct kokkos_device *of) {
  struct pml_sde_library *library;
  load_tools();
  PASS_ON(init_library, seq, version, n, of);
  if (allocated != NULL || pml_sde_library(&library, "Kokkos") < 0) return;
  if (pml_sde_create(library, "allocated", PML_SDE_INSTANT, &allocated) < 0) return;
  (void)pml_sde_describe(library, "allocated", "bytes that Kokkos has allocated");
}

void kokkosp_finalize_library(void) {
  PASS_ON(finalize_library);
}

/* Fences around each kernel would change its time. They are requested only if another tool requests them. */
void kokkosp_request_tool_settings(uint32_t n, struct kokkos_settings *settings) {
  settings->requires_global_fencing = false;
  for (unsigned k = 0; k < tools; k++) {
    struct kokkos_settings wanted = {.requires_global_fencing = true};
    if (tool[k].request_tool_settings != NULL) tool[k].request_tool_settings(n, &wanted);
    settings->requires_global_fencing |= wanted.requires_global_fencing;
  }
}

/* Functions that only other tools use. */
#define PASSED_ON(name, parameters, ...)                                                                               \
  void kokkosp_##name parameters {                                                                                     \
    PASS_ON(name, __VA_ARGS__);                                                                                        \
  }
PASSED_ON(dual_view_sync, (const char *label, const void *at, bool on_device), label, at, on_device)
PASSED_ON(dual_view_modify, (const char *label, const void *at, bool on_device), label, at, on_device)
PASSED_ON(declare_metadata, (const char *key, const char *value), key, value)
PASSED_ON(parse_args, (int n, char **argument), n, argument)
PASSED_ON(print_help, (char *program), program)
PASSED_ON(provide_tool_programming_interface, (uint32_t n, struct kokkos_actions actions), n, actions)
