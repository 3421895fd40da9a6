# SPDX-License-Identifier: BSD-3-Clause
# core/adapter/mpi/shim/shim.mk - what records the messages of MPI: a library for each MPI whose compiler is here. It is
# linked with no MPI: the process that loads it has one.

MPI_SHIM_SRC := $(wildcard core/adapter/mpi/shim/*.c)
# Of the first compiler whose mpi.h defines a macro: its name, the number of MPI's version, and what it calls. make asks
# each once, as preprocessing mpi.h takes longer than all else that it does before it builds. $(call mpi_found,NAMES,MACRO)
mpi_found = $(shell for c in $(1); do $$c -dM -E -include mpi.h -x c /dev/null 2>/dev/null | awk -v c=$$c '$$2 == "$(2)" { found = 1 } \
  $$2 == "MPI_VERSION" { version = $$3 } END { if (found) print c, version; exit !found }' && $$c -show && break; done)
# Debian's names, and the one that all have; MPICC_openmpi=COMPILER names another, and none if it is empty.
mpi_asked = $(if $(filter undefined,$(origin MPICC_$(1))),$(call mpi_found,$(2),$(3)),$(if $(MPICC_$(1)),$(call mpi_found,$(MPICC_$(1)),MPI_VERSION)))
MPI_openmpi := $(call mpi_asked,openmpi,mpicc.openmpi mpicc,OPEN_MPI)
MPI_mpich := $(call mpi_asked,mpich,mpicc.mpich mpicc,MPICH_NUMVERSION)
MPIS := $(foreach m,openmpi mpich,$(if $(MPI_$(m)),$(m)))
MPI_SHIM_SO := $(MPIS:%=$(B)/preload/libpmlua-mpi-%.so)

all: $(MPI_SHIM_SO)

# What has counts, once more for large ones, which MPI has from version 4 on.
MPI_SHIM_LARGE := $(patsubst %,core/adapter/mpi/shim/%,message persistent collective neighbor rma file)

# Of gcc: fewer instructions around calls with as many arguments as MPI's.
MPI_SHIM_CFLAGS := $(shell o="-maccumulate-outgoing-args -fno-gcse"; \
  $(CC) -Werror $$o -c -x c /dev/null -o /dev/null 2>/dev/null && echo "$$o")

define mpi_shim
MPI_SHIM_OBJ_$(1) := $(MPI_SHIM_SRC:%.c=$(B)/obj/mpi-$(1)/%.o) \
  $(if $(filter 4 5 6 7 8 9,$(word 2,$(MPI_$(1)))),$(MPI_SHIM_LARGE:%=$(B)/obj/mpi-$(1)/%_large.o))
$(B)/obj/mpi-$(1)/%.o: %.c | $$$$(@D)/.
	$$(CC) $$(ALLCFLAGS) $$(MPI_SHIM_CFLAGS) -fno-stack-protector -fno-plt $(patsubst -I%,-isystem %,$(filter -I%,$(MPI_$(1)))) -c $$< -o $$@
$(B)/obj/mpi-$(1)/%_large.o: %.c | $$$$(@D)/.
	$$(CC) $$(ALLCFLAGS) $$(MPI_SHIM_CFLAGS) -DLARGE -fno-stack-protector -fno-plt $(patsubst -I%,-isystem %,$(filter -I%,$(MPI_$(1)))) -c $$< -o $$@
$(B)/preload/libpmlua-mpi-$(1).so: $$(MPI_SHIM_OBJ_$(1)) | $(B)/libpmlua.so
	@mkdir -p $$(@D)
	$$(CC) $$(SAN) $$(LDFLAGS) $$(HARDEN_LD) -shared -Wl,-z,nodelete -Wl,-soname,libpmlua-mpi-$(1).so \
	  -Wl,-rpath,'$$$$ORIGIN/..:$$$$ORIGIN/../..' $$(MPI_SHIM_OBJ_$(1)) -L$(B) -lpmlua -lm -o $$@
-include $$(MPI_SHIM_OBJ_$(1):.o=.d)
endef
$(foreach m,$(MPIS),$(eval $(call mpi_shim,$(m))))
