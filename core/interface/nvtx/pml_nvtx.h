/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/nvtx/pml_nvtx.h - what a tool needs of version 3 of NVTX, Nvidia's Tools Extension.
 *
 * NVTX is a header: each object that uses it has pointers for its functions. At the first call it opens the library in
 * NVTX_INJECTION64_PATH and calls the library's InitializeInjectionNvtx2() with a function that returns tables. The
 * table PML_NVTX_CALLBACKS returns the slots of a module: each slot, numbered from 1, is the address of a pointer, or
 * NULL if the object lacks the function. The tool stores its functions into the pointers. Pointers that it leaves are
 * cleared afterwards. wchar_t has four bytes.
 */
#ifndef PML_NVTX_H
#define PML_NVTX_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define PML_NVTX_LIBRARY "NVTX_INJECTION64_PATH"

/* Tables. */
enum { PML_NVTX_CALLBACKS = 1, PML_NVTX_VERSION = 3 };
typedef const void *pml_nvtx_tables(uint32_t table);

typedef void (*pml_nvtx_function)(void);

struct pml_nvtx_callbacks {
  size_t bytes;                                                          /* size of this struct */
  int (*functions)(int module, pml_nvtx_function ***slots, unsigned *n); /* 1, or 0 for an unknown module */
};

/* Modules; the others name objects of CUDA and OpenCL. */
enum { PML_NVTX_CORE = 1, PML_NVTX_CORE2 = 5, PML_NVTX_SYNC = 6, PML_NVTX_MODULES };

/* Slots: X(number, name). NVTX puts "nvtx" before the names. */
#define PML_NVTX_CORE_LIST(X)                                                                                          \
  X(1, MarkEx)                                                                                                         \
  X(2, MarkA)                                                                                                          \
  X(3, MarkW)                                                                                                          \
  X(4, RangeStartEx)                                                                                                   \
  X(5, RangeStartA)                                                                                                    \
  X(6, RangeStartW)                                                                                                    \
  X(7, RangeEnd)                                                                                                       \
  X(8, RangePushEx)                                                                                                    \
  X(9, RangePushA)                                                                                                     \
  X(10, RangePushW)                                                                                                    \
  X(11, RangePop)                                                                                                      \
  X(14, NameOsThreadA)                                                                                                 \
  X(15, NameOsThreadW)
#define PML_NVTX_CORE2_LIST(X)                                                                                         \
  X(1, DomainMarkEx)                                                                                                   \
  X(2, DomainRangeStartEx)                                                                                             \
  X(3, DomainRangeEnd)                                                                                                 \
  X(4, DomainRangePushEx)                                                                                              \
  X(5, DomainRangePop)                                                                                                 \
  X(6, DomainResourceCreate)                                                                                           \
  X(8, DomainNameCategoryA)                                                                                            \
  X(9, DomainNameCategoryW)                                                                                            \
  X(10, DomainRegisterStringA)                                                                                         \
  X(11, DomainRegisterStringW)                                                                                         \
  X(12, DomainCreateA)                                                                                                 \
  X(13, DomainCreateW)                                                                                                 \
  X(14, DomainDestroy)
#define PML_NVTX_SYNC_LIST(X)                                                                                          \
  X(1, DomainSyncUserCreate)                                                                                           \
  X(2, DomainSyncUserDestroy)                                                                                          \
  X(3, DomainSyncUserAcquireStart)                                                                                     \
  X(4, DomainSyncUserAcquireFailed)                                                                                    \
  X(5, DomainSyncUserAcquireSuccess)                                                                                   \
  X(6, DomainSyncUserReleasing)

enum pml_nvtx_text { PML_NVTX_NO_TEXT, PML_NVTX_ASCII, PML_NVTX_WIDE, PML_NVTX_REGISTERED };
union pml_nvtx_message {
  const char *ascii;
  const wchar_t *wide;
  void *registered; /* the tool's handle of the text */
};

enum pml_nvtx_payload {
  PML_NVTX_NO_PAYLOAD,
  PML_NVTX_U64,
  PML_NVTX_S64,
  PML_NVTX_DOUBLE,
  PML_NVTX_U32,
  PML_NVTX_S32,
  PML_NVTX_FLOAT
};

/* Attributes of a mark or a range. Later versions are larger. */
struct pml_nvtx_event {
  uint16_t version, bytes; /* 3 and at least sizeof(struct pml_nvtx_event), or of an older version, smaller */
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type; /* enum pml_nvtx_payload */
  int32_t reserved;
  union {
    uint64_t u64;
    int64_t s64;
    double real;
    uint32_t u32;
    int32_t s32;
    float small;
  } payload;
  int32_t message_type; /* enum pml_nvtx_text */
  union pml_nvtx_message message;
};

/* Attributes of an object that the program names. */
struct pml_nvtx_resource {
  uint16_t version, bytes;
  int32_t identifier_type;
  union {
    const void *pointer;
    uint64_t number;
  } identifier;
  int32_t message_type;
  union pml_nvtx_message message;
};

/* Attributes of a lock of the program. */
struct pml_nvtx_lock {
  uint16_t version, bytes;
  int32_t message_type;
  union pml_nvtx_message message;
};

#define PML_NVTX_NOT_TRACKED (-2) /* instead of the nesting level of a push or a pop */

#endif
