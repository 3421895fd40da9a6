/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/kokkos/kokkos_tools.h - the functions by which Kokkos calls a tool, interface version 20210623.
 *
 * Kokkos opens the library that KOKKOS_TOOLS_LIBS names (before Kokkos 3.7: KOKKOS_PROFILE_LIBRARY), and calls each of
 * these functions that the library exports. Each function has the prefix kokkosp_.
 */
#ifndef KOKKOS_TOOLS_H
#define KOKKOS_TOOLS_H

#include <stdbool.h>
#include <stdint.h>

#define KOKKOS_SPACE_BYTES 64

struct kokkos_space {
  char name[KOKKOS_SPACE_BYTES];
};

struct kokkos_settings {
  bool requires_global_fencing;
  bool padding[255];
};

struct kokkos_device;
struct kokkos_actions { /* by value */
  void (*action[32])(void);
};

/* X(name, (parameters), (arguments)) */
#define KOKKOS_TOOLS_LIST(X)                                                                                           \
  X(init_library, (int seq, uint64_t version, uint32_t n, struct kokkos_device *of), (seq, version, n, of))            \
  X(finalize_library, (void), ())                                                                                      \
  X(begin_parallel_for, (const char *name, uint32_t device, uint64_t *id), (name, device, id))                         \
  X(end_parallel_for, (uint64_t id), (id))                                                                             \
  X(begin_parallel_reduce, (const char *name, uint32_t device, uint64_t *id), (name, device, id))                      \
  X(end_parallel_reduce, (uint64_t id), (id))                                                                          \
  X(begin_parallel_scan, (const char *name, uint32_t device, uint64_t *id), (name, device, id))                        \
  X(end_parallel_scan, (uint64_t id), (id))                                                                            \
  X(begin_fence, (const char *name, uint32_t device, uint64_t *id), (name, device, id))                                \
  X(end_fence, (uint64_t id), (id))                                                                                    \
  X(push_profile_region, (const char *name), (name))                                                                   \
  X(pop_profile_region, (void), ())                                                                                    \
  X(create_profile_section, (const char *name, uint32_t *id), (name, id))                                              \
  X(start_profile_section, (uint32_t id), (id))                                                                        \
  X(stop_profile_section, (uint32_t id), (id))                                                                         \
  X(destroy_profile_section, (uint32_t id), (id))                                                                      \
  X(begin_deep_copy,                                                                                                   \
    (struct kokkos_space to, const char *to_label, const void *to_at, struct kokkos_space from,                        \
     const char *from_label, const void *from_at, uint64_t bytes),                                                     \
    (to, to_label, to_at, from, from_label, from_at, bytes))                                                           \
  X(end_deep_copy, (void), ())                                                                                         \
  X(allocate_data, (struct kokkos_space in, const char *label, const void *at, uint64_t bytes),                        \
    (in, label, at, bytes))                                                                                            \
  X(deallocate_data, (struct kokkos_space in, const char *label, const void *at, uint64_t bytes),                      \
    (in, label, at, bytes))                                                                                            \
  X(profile_event, (const char *name), (name))                                                                         \
  X(dual_view_sync, (const char *label, const void *at, bool on_device), (label, at, on_device))                       \
  X(dual_view_modify, (const char *label, const void *at, bool on_device), (label, at, on_device))                     \
  X(declare_metadata, (const char *key, const char *value), (key, value))                                              \
  X(parse_args, (int n, char **argument), (n, argument))                                                               \
  X(print_help, (char *program), (program))                                                                            \
  X(provide_tool_programming_interface, (uint32_t n, struct kokkos_actions actions), (n, actions))                     \
  X(request_tool_settings, (uint32_t n, struct kokkos_settings * settings), (n, settings))

#endif
