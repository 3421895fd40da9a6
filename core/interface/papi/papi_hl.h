/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/papi/papi_hl.h - functions of PAPI's high-level interface that name regions, of libpapi.so.7.
 *
 * A region belongs to a thread. Both functions return 0 (PAPI_OK) or a negative number.
 */
#ifndef PAPI_HL_H
#define PAPI_HL_H

int PAPI_hl_region_begin(const char *region);
int PAPI_hl_region_end(const char *region);

#endif
