/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/lsection_cache.c - the sections of a log in memory: pmlua.core.summary.cache. */
#include "record/lsection_cache.h"

struct handle {
  struct lutil_handle h;
  struct pml__section_cache cache;
};

LUTIL_CLASS(sectioncache, handle, pml__section_cache_close(&h->cache))

int lsection_cache_open(lua_State *L) {
  const char *path = lutil_string(L, 1);
  struct handle *h = lutil_new(L, &sectioncache_class, 0, 0);
  int err = pml__section_cache_open(&h->cache, path);
  h->h.open = 1;
  if (err == 0) return 1;
  lutil_close(&h->h);
  return pml_pusherr(L, err, "summary.cache");
}

void lsection_cache_class(lua_State *L) {
  lutil_class(L, &sectioncache_class, NULL, NULL);
}

const struct pml__section_cache *lsection_cache_at(lua_State *L, int idx) {
  struct handle *h = lutil_test(L, idx, &sectioncache_class);
  if (h != NULL && !h->h.open) luaL_error(L, "the section cache is closed");
  return h != NULL ? &h->cache : NULL;
}
