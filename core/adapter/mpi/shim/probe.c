/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/probe.c - matched probes and receives. */
#include "shim.h"

static struct pml__mpi_table probed; /* messages matched and not yet received; their kind is the communicator */

static void probe(MPI_Message message, MPI_Comm comm) {
  if (!shim_wanted() || message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
  struct pml__mpi_entry *e = pml__mpi_add(&probed, key_of(message));
  if (e == NULL) return;
  e->kind = shim_number(comm);
  pml__mpi_publish(e);
}

uint32_t shim_take_probed(MPI_Message message) {
  struct pml__mpi_entry *e = message != MPI_MESSAGE_NULL ? pml__mpi_find(&probed, key_of(message)) : NULL;
  if (e == NULL) return 0;
  uint32_t communicator = e->kind;
  pml__mpi_remove(e);
  return communicator;
}

HOOK(Mprobe)(int peer, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  int err = PMPI_Mprobe(peer, tag, comm, message, status);
  if (err == MPI_SUCCESS) probe(*message, comm);
  return err;
}

HOOK(Improbe)(int peer, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  int err = PMPI_Improbe(peer, tag, comm, flag, message, status);
  if (err == MPI_SUCCESS && *flag) probe(*message, comm);
  return err;
}
