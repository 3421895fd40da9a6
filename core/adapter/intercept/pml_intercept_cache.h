/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_cache.h - cache of code scans of large files in a folder: scanning 200 MB of
 * code takes 60 ms.
 *
 * A cache file's name is the identity of the scanned file (struct pml__file without the path). It is used only if the
 * user owns it, nobody else may write it, and its checksum, which includes that identity, is right; otherwise the code
 * is scanned again. Call these functions under the lock of pml_intercept.c.
 */
#ifndef PML_INTERCEPT_CACHE_H
#define PML_INTERCEPT_CACHE_H

#include "adapter/intercept/pml_intercept_scans.h"

/* Files with less code are not cached: scanning them takes at most some 0.3 ms. */
#define PML__SCAN_CACHE_FROM ((uint64_t)1 << 20)

/* pml__scan_cache_in - use the folder @folder, which is copied; NULL or a name that is too long disables the cache. */
void pml__scan_cache_in(const char *folder);

/*
 * pml__scan_cache_find - load the calls and the uses of the slots of @s, whose file must be identified. Returns false
 * if they are not cached.
 * pml__scan_cache_put - store them; failures are ignored. Neither changes errno.
 */
bool pml__scan_cache_find(struct pml__scan *s);
void pml__scan_cache_put(const struct pml__scan *s);

/* Parse @bytes of a cache file at @at into @s; false if they belong to another file or other slots. */
bool pml__scan_cache_parse(const unsigned char *at, size_t bytes, struct pml__scan *s);

#endif
