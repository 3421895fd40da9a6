/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/shim.c - table of the shim's hooks. */
#include "shim.h"

extern __attribute__((visibility("hidden"))) const struct pml__mpi_hooks shim_file_hooks, shim_file_hooks_c;
extern PML_API pml__mpi_shim_t pml__mpi_shim[];

pml__mpi_shim_t pml__mpi_shim[] = {&shim_process_hooks,
                                   &shim_communicator_hooks,
                                   &shim_message_hooks,
                                   &shim_request_hooks,
                                   &shim_persistent_hooks,
                                   &shim_collective_hooks,
                                   &shim_neighbor_hooks,
                                   &shim_window_hooks,
                                   &shim_rma_hooks,
                                   &shim_probe_hooks,
                                   &shim_file_hooks,
#if MPI_VERSION >= 4
                                   &shim_message_hooks_c,
                                   &shim_persistent_hooks_c,
                                   &shim_collective_hooks_c,
                                   &shim_neighbor_hooks_c,
                                   &shim_rma_hooks_c,
                                   &shim_file_hooks_c,
#endif
                                   NULL};
