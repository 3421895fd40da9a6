/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_cache.h - cache of code scans of large files in a folder: scanning 200 MB of
 * code takes 60 ms.
 *
 * A file of the folder is named by what identifies the program's or library's file (struct pml__file, without where it
 * lies). It is believed if the user owns it, nobody else may write it, and its checksum, which covers that identity,
 * is right. Otherwise the code is read again. Under the lock of pml_intercept.c.
 */
#ifndef PML_INTERCEPT_CACHE_H
#define PML_INTERCEPT_CACHE_H

#include "adapter/intercept/pml_intercept_scans.h"

/* Files with less code are read: that takes some 4 ms at most. */
#define PML__SCAN_CACHE_FROM ((uint64_t)16 << 20)

/* From now on in @folder, which is copied; NULL or too long a name: nothing is kept. */
void pml__scan_cache_in(const char *folder);

/*
 * pml__scan_cache_find - of the slots of addresses of @s, named, what code does with them, and the calls, as found
 * before. False: not known. pml__scan_cache_put - keep that. In silence where that cannot be. Neither changes errno.
 */
bool pml__scan_cache_find(struct pml__scan *s);
void pml__scan_cache_put(const struct pml__scan *s);

/* Whether the @bytes at @at, of a file of the folder, are of the file and the slots of @s; then what they say is in @s.
 */
bool pml__scan_cache_parse(const unsigned char *at, size_t bytes, struct pml__scan *s);

#endif
