/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/pml_mpi_traffic.h - message counters. Internal.
 *
 * If a trace is written, ordinary messages are counted when it is read, at MPI_Finalize (pml_mpi_times.c); other
 * messages are counted when they are sent and received.
 *
 * Each thread has private sums, a lane, which only it writes; others may read a number at any time. A lane counts
 * messages to ranks of the world by block of ranks, so that all lanes have the same size. Messages to ranks of other
 * communicators are counted in one table of the process, because few threads send to one rank at a time.
 */
#ifndef PML_MPI_TRAFFIC_H
#define PML_MPI_TRAFFIC_H

#include "adapter/mpi/pml_mpi.h"
#include "adapter/mpi/pml_mpi_job.h"
#include "base/pml_own.h"

/* A block has one rank in jobs of up to PML__MPI_BLOCKS ranks, and more in larger ones, so that there are at most that
 * many blocks. */
#define PML__MPI_BLOCKS 256
static inline int pml__mpi_block(int size) {
  int ranks = 1;
  while ((size + ranks - 1) / ranks > PML__MPI_BLOCKS) ranks *= 2;
  return ranks;
}

#define PML__MPI_CLASSES 64u /* classes of sizes: no bytes, 1, 2 to 3, 4 to 7, ... */
#define PML__MPI_OPERATIONS ((uint32_t)PML__LOG_CREATE)
#define PML__MPI_WORLD 1u /* number of MPI_COMM_WORLD */

enum pml__mpi_direction { PML__MPI_SENT, PML__MPI_RECEIVED, PML__MPI_DIRECTIONS };

struct pml__mpi_lane {
  struct pml__mpi_sizes {
    uint64_t messages[PML__MPI_CLASSES], bytes[PML__MPI_CLASSES];
  } size[PML__MPI_DIRECTIONS];
  struct pml__mpi_blocks {
    uint64_t messages[PML__MPI_BLOCKS], bytes[PML__MPI_BLOCKS];
  } to;
  struct pml__mpi_moved {
    uint64_t calls, sent, received;
  } moved[PML__MPI_OPERATIONS];
  uint64_t blocks_of_rank; /* the fraction of a block that one rank is, in 2^-32 */
  uint32_t ranks;          /* ranks of the world */
  struct pml__mpi_lane *next;
};

/* The calling thread's lane; NULL before its first message. If messages are not counted, all threads share one lane. */
extern PML__SHARED PML_THREAD_LOCAL struct pml__mpi_lane *pml__mpi_lane __attribute__((tls_model("initial-exec")));

/* pml__mpi_count - count any communication, with the arguments of pml__mpi_emit(). No lock, no allocation except at a
 * thread's first communication. */
PML__SHARED void pml__mpi_count(uint32_t what, const uint64_t *values);

static inline unsigned pml__mpi_class(uint64_t bytes) {
  return 63 - (unsigned)__builtin_clzll(2 * bytes + 1);
}
/* Unknown @bytes count as 0: pml__log_bytes(). */
static inline void pml__mpi_count_size(struct pml__mpi_lane *l, enum pml__mpi_direction way, uint64_t bytes) {
  unsigned class = pml__mpi_class(bytes);
  pml__own_add(&l->size[way].messages[class], 1);
  pml__own_add(&l->size[way].bytes[class], bytes);
}
/* Count a message to a rank of the world, less than @l->ranks. */
static inline void pml__mpi_count_sent(struct pml__mpi_lane *l, uint32_t rank, uint64_t bytes) {
  uint64_t block = rank * l->blocks_of_rank >> 32;
  pml__mpi_count_size(l, PML__MPI_SENT, bytes);
  pml__own_add(&l->to.messages[block], 1);
  pml__own_add(&l->to.bytes[block], bytes);
}
static inline void pml__mpi_count_collective(struct pml__mpi_lane *l, uint32_t code, uint64_t sent, uint64_t received) {
  if (code >= PML__MPI_OPERATIONS) return;
  pml__own_add(&l->moved[code].calls, 1);
  pml__own_add(&l->moved[code].sent, pml__log_bytes(sent));
  pml__own_add(&l->moved[code].received, pml__log_bytes(received));
}

/*
 * pml__mpi_traffic_count - count messages and collective operations from now on.
 * pml__mpi_traffic_sum - the sums of all threads, with the receivers of a job of @size ranks.
 */
void pml__mpi_traffic_count(void);
PML__SHARED void pml__mpi_traffic_sum(struct pml__mpi_lane *sum, int size);

/* pml__mpi_translate - set the @size of the world, before messages are counted, and the function that returns the rank
 * in the world of a communicator's @rank; -1: not in this world. */
PML__SHARED void pml__mpi_translate(int size, int (*world_rank)(uint32_t communicator, int32_t rank));

#endif
