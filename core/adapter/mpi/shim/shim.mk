# SPDX-License-Identifier: BSD-3-Clause
# core/adapter/mpi/shim/shim.mk - what records the messages of MPI: a library for each MPI whose compiler is here. It is
# linked with no MPI: the process that loads it has one.

MPI_SHIM_SRC := $(wildcard core/adapter/mpi/shim/*.c)
# What a compiler says is defined by its mpi.h. $(call mpi_has,COMPILER,NAME)
mpi_has = $(if $(1),$(shell $(1) -dM -E -include mpi.h -x c /dev/null 2>/dev/null | grep -o '^.define $(2) '))
# Debian's names, and the one that all have. $(call mpi_compiler,NAMES,MACRO)
mpi_compiler = $(firstword $(foreach c,$(1),$(if $(call mpi_has,$(shell command -v $(c)),$(2)),$(c))))
MPICC_openmpi ?= $(call mpi_compiler,mpicc.openmpi mpicc,OPEN_MPI)
MPICC_mpich ?= $(call mpi_compiler,mpicc.mpich mpicc,MPICH_NUMVERSION)
MPIS := $(foreach m,openmpi mpich,$(if $(MPICC_$(m)),$(m)))
MPI_SHIM_SO := $(MPIS:%=$(B)/preload/libpmlua-mpi-%.so)
# Where its header is.
mpi_include = $(filter -I%,$(shell $(1) -show))

all: $(MPI_SHIM_SO)

# What has counts, once more for large ones, which MPI has from version 4 on.
MPI_SHIM_LARGE := $(patsubst %,core/adapter/mpi/shim/%,message persistent collective neighbor file)

# Of gcc: fewer instructions around calls with as many arguments as MPI's.
MPI_SHIM_CFLAGS := $(shell o="-maccumulate-outgoing-args -fno-gcse"; \
  $(CC) -Werror $$o -c -x c /dev/null -o /dev/null 2>/dev/null && echo "$$o")

define mpi_shim
MPI_SHIM_OBJ_$(1) := $(MPI_SHIM_SRC:%.c=$(B)/obj/mpi-$(1)/%.o) \
  $(if $(shell $(MPICC_$(1)) -dM -E -include mpi.h -x c /dev/null 2>/dev/null | grep '^.define MPI_VERSION *[4-9]'),$(MPI_SHIM_LARGE:%=$(B)/obj/mpi-$(1)/%_large.o))
$(B)/obj/mpi-$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(CC) $$(ALLCFLAGS) $$(MPI_SHIM_CFLAGS) -fno-stack-protector -fno-plt $(patsubst -I%,-isystem %,$(call mpi_include,$(MPICC_$(1)))) -c $$< -o $$@
$(B)/obj/mpi-$(1)/%_large.o: %.c
	@mkdir -p $$(@D)
	$$(CC) $$(ALLCFLAGS) $$(MPI_SHIM_CFLAGS) -DLARGE -fno-stack-protector -fno-plt $(patsubst -I%,-isystem %,$(call mpi_include,$(MPICC_$(1)))) -c $$< -o $$@
$(B)/preload/libpmlua-mpi-$(1).so: $$(MPI_SHIM_OBJ_$(1)) | $(B)/libpmlua.so
	@mkdir -p $$(@D)
	$$(CC) $$(SAN) $$(LDFLAGS) $$(HARDEN_LD) -shared -Wl,-z,nodelete -Wl,-soname,libpmlua-mpi-$(1).so \
	  -Wl,-rpath,'$$$$ORIGIN/..:$$$$ORIGIN/../..' $$(MPI_SHIM_OBJ_$(1)) -L$(B) -lpmlua -lm -o $$@
-include $$(MPI_SHIM_OBJ_$(1):.o=.d)
endef
$(foreach m,$(MPIS),$(eval $(call mpi_shim,$(m))))
