/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/write/pml_otf2_mpi.h - MPI in an archive: ranks, communicators, messages, collectives. Internal. */
#ifndef PML_OTF2_MPI_H
#define PML_OTF2_MPI_H

#include "read/otf2/write/pml_otf2_write.h"

/* A communicator. Members are indices of ranks in pml__otf2_mpi, in the order of its ranks. */
struct pml__otf2_comm {
  char *name;
  uint32_t parent; /* number of another communicator; UINT32_MAX: none */
  bool self;       /* MPI_COMM_SELF of each rank: no members */
  bool inter;      /* between two groups */
  uint32_t n[2];
  uint32_t *member[2]; /* [n]; the second group is for inter-communicators */
};

/* A window of one-sided operations. */
struct pml__otf2_window {
  char *name;
  uint32_t comm; /* communicator from which it was created */
};

struct pml__otf2_mpi {
  uint32_t nranks;
  uint64_t *location; /* [nranks]: location of each rank's first thread */
  uint32_t ncomms;
  struct pml__otf2_comm *comm;
  uint32_t nwindows;
  struct pml__otf2_window *window;
};

/* A rank's event of a message, a request or a collective operation; unused fields are 0. */
struct pml__otf2_communication {
  uint32_t what; /* enum pml__log_communication */
  uint32_t code; /* OTF2_CollectiveOp, enum pml__log_rma */
  bool local;    /* an operation in which no member waits for all others */
  uint32_t comm, rank, tag, window;
  uint32_t peer;           /* @rank's index among all ranks */
  uint64_t sent, received; /* bytes */
  uint64_t request;        /* unique in the archive, also for operations; 0: none */
};

/* pml__otf2_communicate - write one communication event, at @time. Like pml__otf2_write(). */
int pml__otf2_communicate(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t time,
                          const struct pml__otf2_communication *c);

/* pml__otf2_mpi_role - the OTF2_RegionRole of a function of MPI. */
uint8_t pml__otf2_mpi_role(const char *name);

void pml__otf2_define_mpi(struct pml__otf2_defs *d);

#endif
