/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/export/pml_export_link.c - message channels and their message counts. */
#include "substrate/trace/export/pml_export_link.h"

#include <stdlib.h>

#define CHANNELS_MAX ((size_t)1 << 20)

struct channel {
  size_t from, to;
  uint32_t comm, tag;
  uint64_t number;          /* of the channel, from 1 on */
  uint64_t sends, receives; /* both 0: the place is free */
};

struct pml__export_links {
  struct channel *channel;
  size_t n, capacity; /* a power of 2 */
};

static struct channel *find(const struct pml__export_links *l, const struct channel *c) {
  uint64_t hash = c->from * 0x9e3779b97f4a7c15u ^ c->to * 0xc2b2ae3d27d4eb4fu;
  hash = (hash ^ ((uint64_t)c->comm << 32 | c->tag)) * 0x165667b19e3779f9u;
  for (size_t i = (size_t)(hash >> 20) & (l->capacity - 1);; i = (i + 1) & (l->capacity - 1)) {
    struct channel *at = &l->channel[i];
    if (at->sends + at->receives == 0) return at;
    if (at->from == c->from && at->to == c->to && at->comm == c->comm && at->tag == c->tag) return at;
  }
}

static struct channel *table(size_t capacity) {
  return calloc(capacity, sizeof(struct channel));
}

struct pml__export_links *pml__export_links_new(void) {
  struct pml__export_links *l = calloc(1, sizeof *l);
  if (l == NULL) return NULL;
  l->capacity = 256;
  l->channel = table(l->capacity);
  if (l->channel != NULL) return l;
  free(l);
  return NULL;
}

void pml__export_links_free(struct pml__export_links *l) {
  if (l != NULL) free(l->channel);
  free(l);
}

/* At most half of the places are in use. */
static bool widen(struct pml__export_links *l) {
  struct pml__export_links more = {table(2 * l->capacity), l->n, 2 * l->capacity};
  if (more.channel == NULL) return false;
  for (size_t i = 0; i < l->capacity; i++)
    if (l->channel[i].sends + l->channel[i].receives > 0) *find(&more, &l->channel[i]) = l->channel[i];
  free(l->channel);
  *l = more;
  return true;
}

uint64_t pml__export_link(struct pml__export_links *l, const struct pml_otf2_event *e, size_t process) {
  bool sends = e->kind == PML_OTF2_SEND;
  if (e->what == PML_OTF2_NONE) return 0;
  const struct channel key = {
      .from = sends ? process : e->what, .to = sends ? e->what : process, .comm = e->comm, .tag = e->tag};
  struct channel *c = find(l, &key);
  if (c->sends + c->receives == 0) {
    if (l->n == CHANNELS_MAX || (2 * l->n >= l->capacity && !widen(l))) return 0;
    c = find(l, &key);
    *c = key;
    c->number = ++l->n;
  }
  return c->number << 40 | (sends ? ++c->sends : ++c->receives);
}
