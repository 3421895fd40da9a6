/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/pml_array.h - growing arrays of any element type. Internal.
 *
 *   struct sample *sample;    elements, owned by the caller: free(sample)
 *   size_t n, room;           elements in use and allocated; any unsigned type
 *
 *   if (!PML__ARRAY_ROOM(list->sample, list->room, list->n + 1)) return -ENOMEM;
 *   list->sample[list->n++] = s;
 *
 * An empty array is NULL with room 0. Without memory the macros are false, and the array and its room are as before.
 * The room doubles, so that appending costs constant time on average. Elements move. Not async-signal-safe.
 */
#ifndef PML_ARRAY_H
#define PML_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* PML__ARRAY_ROOM - whether @array has room for @n elements in all; enlarges it if needed. Evaluates @n repeatedly. */
#define PML__ARRAY_ROOM(array, room, n)                                                                                \
  ((n) <= (room) || (pml__array_resize(&(array), (room), pml__array_next((room), (n)), sizeof *(array), false) &&      \
                     ((room) = (__typeof__(room))pml__array_next((room), (n)), true)))

/* PML__ARRAY_ZEROS - the same; new elements are zeros. */
#define PML__ARRAY_ZEROS(array, room, n)                                                                               \
  ((n) <= (room) || (pml__array_resize(&(array), (room), pml__array_next((room), (n)), sizeof *(array), true) &&       \
                     ((room) = (__typeof__(room))pml__array_next((room), (n)), true)))

/*
 * PML__ARRAY_SEARCH - binary search. @i, a size_t variable, becomes the first index for which @before, an expression of
 * @i, is false, or @n. @before is true up to an index and false from there on.
 */
#define PML__ARRAY_SEARCH(i, n, before)                                                                                \
  do {                                                                                                                 \
    size_t low_ = 0, high_ = (n);                                                                                      \
    while (low_ < high_) {                                                                                             \
      (i) = low_ + (high_ - low_) / 2;                                                                                 \
      if (before)                                                                                                      \
        low_ = (i) + 1;                                                                                                \
      else                                                                                                             \
        high_ = (i);                                                                                                   \
    }                                                                                                                  \
    (i) = low_;                                                                                                        \
  } while (0)

static inline size_t pml__array_next(size_t room, size_t n) {
  size_t next = room < 8 ? 16 : 2 * room;
  return next < n ? n : next;
}

/* @array is the address of a pointer to elements of @bytes, whose number changes from @room to @next. */
static inline bool pml__array_resize(void *array, size_t room, size_t next, size_t bytes, bool zeros) {
  void *old;
  memcpy(&old, array, sizeof old);
  char *more = reallocarray(old, next, bytes);
  if (more == NULL) return false;
  if (zeros) memset(more + room * bytes, 0, (next - room) * bytes);
  memcpy(array, &more, sizeof more);
  return true; /* cppcheck-suppress memleak ; @array has it */
}

#endif
