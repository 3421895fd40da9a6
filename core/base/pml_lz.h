/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/pml_lz.h - LZ77 compression of byte strings. Internal. It uses no library, because the recorded calls may
 * be zlib's, and because pmlua loads no further library into a measured program.
 */
#ifndef PML_LZ_H
#define PML_LZ_H

#include "base/pml_pack.h"

/*
 * Steps in the way of LZ77 (J. Ziv & A. Lempel, 1977). Each is three whole numbers and bytes: how many bytes follow,
 * these bytes, how many more are a copy (0 to PML__LZ_COPY_MAX), and, unless that is 0, how far behind they lie from
 * where they go; a copy may run into itself. The decoder gets the total number of bytes.
 *
 * pml__lz_pack - append the steps for @n bytes to @p. Cost: at most some 100 ns for each byte; besides @p's memory, 4
 * bytes for each byte, without which all bytes are stored uncompressed.
 * pml__lz_unpack - the @n bytes that all of @u is; free them with free(). NULL where there is no memory, or with @u
 * failed where these steps do not make @n bytes. Nothing in them is trusted: @n is refused where @u is too short.
 */
#define PML__LZ_COPY_MAX 127u
PML__SHARED void pml__lz_pack(struct pml__pack *p, const unsigned char *bytes, size_t n);
PML__SHARED unsigned char *pml__lz_unpack(struct pml__unpack *u, size_t n);

#endif
