/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_history.h - compressed series of a process's values in its log, in bounded space. Internal.
 *
 * A series has a sample per second of the last hour, and one per minute of the last month, in chunks of the log
 * (PML__LOG_HISTORY) that contain compressed series (pml_compressed.h). All chunks together take at most PMLUA_HISTORY
 * bytes of the file, half of them for each rate. A new chunk takes the space of the oldest chunk of its rate if
 * that chunk is older than an hour or month, or if the rate has used its half.
 */
#ifndef PML_HISTORY_H
#define PML_HISTORY_H

#include "record/log/pml_log.h"
#include "record/pml_compressed.h"

#define PML__HISTORY_BYTES (UINT64_C(16) << 20) /* if PMLUA_HISTORY is not set */
#define PML__HISTORY_BYTES_MAX (UINT64_C(1) << 36)

enum pml__history_rate { PML__HISTORY_SECONDS, PML__HISTORY_MINUTES, PML__HISTORY_RATES };

/* The writer of a series. Zeros are a new one; it owns nothing. */
struct pml__history_series {
  uint64_t process; /* whose log has it */
  uint32_t number;  /* of its definition; 0: none yet */
  bool real;
  struct {
    struct pml__compressed to;
    uint32_t chunk; /* its place */
    uint64_t turn;  /* 0: none yet; if the chunk has another one, it belongs to another series by now */
    int64_t due_ms;
  } rate[PML__HISTORY_RATES];
};

/* A value of an event, with the name of the event. */
struct pml__history_sample {
  const char *name;
  bool real, instant; /* @bits are a double's, else an int64_t's; it is a level */
  uint64_t bits;
  uint64_t ticks; /* its time, by pml_clock */
};

/*
 * pml__history_add - append @v to @s, unless the last is newer than half a second, there is no log, or
 * PMLUA_HISTORY is 0. One caller at a time. Takes the log's lock and searches all chunks when a chunk is full, and
 * makes a system call when the log grows; else some 500 instructions for each rate. If the process is killed, the log
 * has all samples: bits are in the mapped file before the number of samples is.
 */
void pml__history_add(struct pml__history_series *s, const struct pml__history_sample *v);

#endif
