/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/pml_mpi_log.c - MPI events in a process's log and in the stream. */
#include "adapter/mpi/pml_mpi.h"

#include "base/pml_clock.h"
#include "base/pml_file.h"
#include "base/stream/pml_stream_private.h"
#include "record/log/pml_log_own.h"

#include <stdio.h>
#include <string.h>

/* The log of recorded calls takes precedence, because its event buffers contain the messages. */
static struct pml__log *log_here(void) {
  struct pml__log *log = pml__log_shared();
  if (log != NULL) return log;
  return pml__log_asked() ? pml__log_own() : NULL;
}

void pml__mpi_emit(uint32_t what, const uint64_t *values) {
  const struct pml_stream_event e = {.ticks = pml_clock_ticks(), .region = what, .values = values};
  pml__stream_emit(PML_STREAM_COMMUNICATION, &e);
}

static bool begun;

bool pml__mpi_has_begun(void) {
  return begun;
}

void pml__mpi_log_process(const struct pml__log_mpi *mpi, const char *version) {
  struct pml__log *log = log_here();
  begun = true;
  if (log == NULL) return;
  pml__log_rank(log, mpi->rank, mpi->size);
  (void)pml__log_define(log, PML__LOG_MPI, mpi, sizeof *mpi, &version, 1);
}

void pml__mpi_log_communicator(const struct pml__log_communicator *c, const char *name, const char *ranks,
                               const char *remote) {
  struct pml__log *log = log_here();
  const char *const text[3] = {name, ranks, remote};
  if (log != NULL) (void)pml__log_define(log, PML__LOG_COMMUNICATOR, c, sizeof *c, text, 3);
}

void pml__mpi_log_window(const struct pml__log_window *w, const char *name) {
  struct pml__log *log = log_here();
  if (log != NULL) (void)pml__log_define(log, PML__LOG_WINDOW, w, sizeof *w, &name, 1);
}

void pml__mpi_log_clock(const struct pml__log_clock_offset *o) {
  struct pml__log *log = log_here();
  if (log != NULL) (void)pml__log_define(log, PML__LOG_CLOCK_OFFSET, o, sizeof *o, NULL, 0);
}

void pml__mpi_clock(struct pml__mpi_clock *c) {
  const struct pml__log *log = log_here();
  memset(c, 0, sizeof *c);
  if (log == NULL) return;
  c->started_ns = log->head->started_ns;
  c->started_ticks = log->head->started_ticks;
  c->ticks_per_second = log->head->ticks_per_second;
  (void)snprintf(c->clock, sizeof c->clock, "%s", log->head->clock);
  (void)pml__file_peek("/proc/sys/kernel/random/boot_id", c->machine, sizeof c->machine); /* "": unknown */
  c->machine[strcspn(c->machine, "\n")] = '\0';
}
