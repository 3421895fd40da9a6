/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/export/pml_export_link.c - message channels and their message counts. */
#include "substrate/trace/export/pml_export_link.h"

#include "base/pml_array.h"
#include "base/pml_map.h"

#define CHANNELS_MAX ((size_t)1 << 20)

struct channel {
  size_t from, to;
  uint32_t comm, tag;
  uint64_t sends, receives;
};

struct pml__export_links {
  struct pml__map map; /* of all but the counts */
  struct channel *channel;
  uint32_t room;
};

struct pml__export_links *pml__export_links_new(void) {
  return calloc(1, sizeof(struct pml__export_links));
}

void pml__export_links_free(struct pml__export_links *l) {
  if (l == NULL) return;
  pml__map_free(&l->map);
  free(l->channel);
  free(l);
}

/* The number of the channel, which is added if it is new; PML__MAP_NONE: there is no room. */
static uint32_t find(struct pml__export_links *l, const struct channel *c) {
  uint64_t hash = pml__hash_bytes(PML__HASH, c, offsetof(struct channel, sends));
  uint32_t at = 0, i;
  while ((i = pml__map_next(&l->map, hash, &at)) != PML__MAP_NONE)
    if (memcmp(&l->channel[i], c, offsetof(struct channel, sends)) == 0) return i;
  if (l->map.n == CHANNELS_MAX || !PML__ARRAY_ROOM(l->channel, l->room, l->map.n + 1)) return PML__MAP_NONE;
  i = pml__map_add(&l->map, hash);
  if (i != PML__MAP_NONE) l->channel[i] = *c;
  return i;
}

uint64_t pml__export_link(struct pml__export_links *l, const struct pml_otf2_event *e, size_t process) {
  bool sends = e->kind == PML_OTF2_SEND;
  if (e->what == PML_OTF2_NONE) return 0;
  const struct channel key = {
      .from = sends ? process : e->what, .to = sends ? e->what : process, .comm = e->comm, .tag = e->tag};
  uint32_t i = find(l, &key);
  if (i == PML__MAP_NONE) return 0;
  return (uint64_t)(i + 1) << 40 | (sends ? ++l->channel[i].sends : ++l->channel[i].receives);
}
