/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_pages.c - demand-paged memory for threads' statistics. */
#include "adapter/section/pml_section_private.h"

#include <stdlib.h>
#include <string.h>

#define PIECES 16u /* that are allocated at once */
#define LINE 64u   /* of the cache */

union piece {
  union piece *next; /* of those that were given back */
  char bytes[PML__SECTION_PIECE_BYTES];
};

static struct pml__lock lock; /* the rest; taken last */
static union piece *fresh, *end, *given_back;

/* So many bytes are the kernel's own zeros in glibc, which leaves them untouched. */
static bool take_more(void) {
  char *at = calloc(1, PIECES * sizeof(union piece) + LINE);
  if (at == NULL) return false;
  fresh = (union piece *)(void *)(at + LINE - (uintptr_t)at % LINE);
  end = fresh + PIECES;
  return true; /* cppcheck-suppress memleak ; @fresh has it */
}

void *pml__section_piece(void) {
  pml__lock_take(&lock);
  union piece *piece = given_back;
  if (piece != NULL) {
    given_back = piece->next;
    memset(piece, 0, sizeof *piece);
  } else if (fresh != end || take_more()) {
    piece = fresh++;
  }
  pml__lock_leave(&lock);
  return piece;
}

void pml__section_give_back(void *bytes) {
  union piece *piece = bytes;
  if (piece == NULL) return;
  pml__lock_take(&lock);
  piece->next = given_back;
  given_back = piece;
  pml__lock_leave(&lock);
}

/* A thread of the parent was in the middle of it: what is left of it is lost to the child. */
void pml__section_pages_in_child(void) {
  if (pml__lock_torn(&lock)) fresh = end = given_back = NULL;
}
