/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/shim.c - the array of the shim's hooks, which the linker makes of their section. */
#include "shim.h"

extern const struct pml__mpi_hook __start_shim_hooks[], __stop_shim_hooks[] __attribute__((visibility("hidden")));

extern PML_API const struct pml__mpi_hooks pml__mpi_shim;
const struct pml__mpi_hooks pml__mpi_shim = {__start_shim_hooks, __stop_shim_hooks};
