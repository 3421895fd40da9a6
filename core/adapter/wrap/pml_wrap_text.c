/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/wrap/pml_wrap_text.c - string values of wrapped calls, interned as numbers.
 *
 * The texts are in a table of pointers that never grows or shrinks: a slot is empty or permanently filled. A thread
 * that loads a pointer, with acquire, finds the complete text, stored before the release that published it. If two
 * threads create the same text, one drops its own.
 */
#include "adapter/intercept/pml_intercept_private.h"
#include "adapter/wrap/pml_wrap_private.h"
#include "base/pml_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (2u * PML_WRAP_TEXTS)

struct text {
  uint64_t number;
  char text[];
};

static struct text *slot[SLOTS]; /* atomic */
static uint64_t kept, nameless;  /* atomic */

static uint64_t number_of(const char *text, size_t n) {
  uint64_t h = pml__hash(pml__hash_bytes(PML__HASH, text, n), n);
  return h != 0 ? h : 1;
}

/* The slot with the text, or the free slot for it; half of the slots stay free. */
static struct text **find(uint64_t number, struct text **found) {
  for (uint32_t i = (uint32_t)number % SLOTS;; i = (i + 1) % SLOTS) {
    *found = __atomic_load_n(&slot[i], __ATOMIC_ACQUIRE);
    if (*found == NULL || (*found)->number == number) return &slot[i];
  }
}

static bool has_room(void) {
  uint64_t n = __atomic_load_n(&kept, __ATOMIC_RELAXED);
  do
    if (n >= PML_WRAP_TEXTS) return false;
  while (!__atomic_compare_exchange_n(&kept, &n, n + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return true;
}

static bool keep(uint64_t number, const char *text, size_t n) {
  struct text *found, *new = malloc(sizeof *new + n + 1);
  if (new == NULL || !has_room()) {
    free(new);
    return false;
  }
  new->number = number;
  memcpy(new->text, text, n);
  new->text[n] = '\0';
  for (;;) {
    struct text **at = find(number, &found);
    if (found == NULL && __atomic_compare_exchange_n(at, &found, new, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
      return true;
    if (found->number != number) continue; /* the slot contains another text */
    free(new);
    __atomic_fetch_sub(&kept, 1, __ATOMIC_RELAXED);
    return true;
  }
}

uint64_t pml_wrap_from_text(const char *text) {
  struct text *found;
  if (text == NULL) return 0;
  size_t n = strnlen(text, PML_WRAP_TEXT_MAX);
  uint64_t number = number_of(text, n);
  (void)find(number, &found);
  if (PML_LIKELY(found != NULL)) return number;
  int saved = errno;
  bool claimed = pml__call_claim(PML__CALL_HERE);
  if (!claimed || !keep(number, text, n)) __atomic_fetch_add(&nameless, 1, __ATOMIC_RELAXED);
  if (claimed) pml__call_release();
  errno = saved;
  return number;
}

const char *pml_wrap_text(uint64_t number) {
  struct text *found;
  if (number == 0) return NULL;
  (void)find(number, &found);
  return found != NULL ? found->text : NULL;
}

void pml__wrap_count_texts(struct pml_wrap_stats *s) {
  s->texts = __atomic_load_n(&kept, __ATOMIC_RELAXED);
  s->nameless = __atomic_load_n(&nameless, __ATOMIC_RELAXED);
}
