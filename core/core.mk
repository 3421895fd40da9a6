# SPDX-License-Identifier: BSD-3-Clause
# core/core.mk - the core: its libraries, the drop-ins for other libraries' users, what is preloaded.

SONAME  := libpmlua.so.$(MAJOR)
# What reads logs and traces. Measured programs do not load it, except MPI_Finalize and PMlib with OTF_TRACING.
READ_SONAME := libpmlua-read.so.$(MAJOR)
CORE_LIBS := -lotf2 -lpthread -ldl -lm

# What programs that were compiled with counts are linked against: libc and nothing else.
COUNT_SRC := $(wildcard core/source/compiler/runtime/*.c)
CORE_SRC := $(filter-out core/compat/% core/preload/% core/instrument/% core/adapter/mpi/shim/% core/adapter/foreign/pml_foreign_% core/read/otf2/library/% core/program/pml_starter.c $(COUNT_SRC),$(wildcard core/*/*.c core/*/*/*.c core/*/*/*/*.c))
COUNT_SONAME := libpmlua_count.so.$(MAJOR)
# Each instruction set has its own; for the others these files are empty.
SYSTEM_ASM := $(wildcard core/base/*/system.S)
CORE_ASM := $(wildcard core/adapter/arch/*/*.S) $(SYSTEM_ASM)
SYSTEM_OBJ := $(SYSTEM_ASM:%.S=$(B)/obj/%.o)
LIVE_SRC := core/preload/live.c core/preload/exec.c
RECORD_SRC := $(wildcard core/preload/record*.c core/adapter/foreign/pml_foreign_*.c) core/preload/confine.c core/preload/rights.c core/preload/exec.c
# In libpmlua.so, whose allocation it is in the place of; the archive has its program's.
MEMORY_SRC := core/preload/memory.c
# Each of the two libraries frees memory that the other allocated.
READ_MEMORY_SRC := core/preload/memory_read.c
# libpmlua-read.so loads libotf2 when a trace is made or read, where it is a shared library.
OTF2_FILE := $(shell probe=$$(mktemp) && $(CC) $(LDFLAGS) -shared -Wl,--no-as-needed -x c /dev/null -lotf2 -o $$probe 2>/dev/null && \
  readelf -d $$probe | sed -n 's/.*(NEEDED).*\[\(.*\(otf2\|trace-format2\).*\)\]/\1/p'; rm -f $$probe)
OTF2_OBJ := $(if $(OTF2_FILE),$(addprefix $(B)/obj/core/read/otf2/library/,pml_library_load.o stubs.o))
comma := ,
MEMORY_WRAP := $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc aligned_alloc free strdup strndup malloc_usable_size)
WATCHPOINT_SRC := core/preload/watchpoint.c core/preload/exec.c
SIMULATE_SRC := core/preload/simulate.c
SDE_SRC  := $(wildcard core/compat/libsde*.c)
PM_SRC   := $(wildcard core/compat/pmlib/*.c)

CORE_OBJ := $(CORE_SRC:%.c=$(B)/obj/%.o) $(CORE_ASM:%.S=$(B)/obj/%.o)
READ_OBJ := $(filter $(B)/obj/core/read/%,$(CORE_OBJ))
SDE_OBJ  := $(SDE_SRC:%.c=$(B)/obj/%.o)
COUNT_OBJ := $(COUNT_SRC:%.c=$(B)/obj/%.o) $(B)/obj/core/source/compiler/pml_count_cells.o $(patsubst %.S,$(B)/obj/%.o,$(wildcard core/adapter/arch/*/count/*.S)) $(SYSTEM_OBJ)
PM_OBJ   := $(PM_SRC:%.c=$(B)/obj/%.o) $(B)/obj/core/compat/pmlib/chooser_events.o
LIVE_OBJ := $(LIVE_SRC:%.c=$(B)/obj/%.o)
MEMORY_OBJ := $(MEMORY_SRC:%.c=$(B)/obj/%.o)
READ_MEMORY_OBJ := $(READ_MEMORY_SRC:%.c=$(B)/obj/%.o)
READ_PARTS = $(READ_OBJ) $(READ_TABLE_OBJ) $(READ_MEMORY_OBJ) $(OTF2_OBJ)
# A table without state, in each library that uses it.
READ_TABLE_OBJ := $(B)/obj/core/source/compiler/pml_count_cells.o
RECORD_OBJ := $(RECORD_SRC:%.c=$(B)/obj/%.o) $(SYSTEM_OBJ)
WATCHPOINT_OBJ := $(WATCHPOINT_SRC:%.c=$(B)/obj/%.o)
SIMULATE_OBJ := $(SIMULATE_SRC:%.c=$(B)/obj/%.o)

CALIPER_SO := $(B)/preload/libcaliper.so.2/libcaliper.so.2
PYTHON_SO := $(B)/preload/python/sitecustomize.so
LUA_SO := $(B)/preload/libpmlua-lua.so
LUA_OBJ := $(patsubst %.c,$(B)/obj/%.o,$(wildcard core/preload/lua*.c))
all: $(PYTHON_SO) $(LUA_SO) $(B)/libpmlua.so $(B)/libpmlua-read.so $(B)/libpmlua.a $(B)/libpmlua_count.so $(B)/libpmlua_count.a $(B)/compat/libsde.so $(B)/compat/libsde.a \
  $(B)/compat/libPM.so $(B)/compat/libPM.a $(B)/scorep-config $(addprefix $(B)/preload/libpmlua-,live.so record.so watchpoint.so simulate.so) $(B)/preload/pmlua-starter \
  $(CALIPER_SO)

$(B)/libpmlua.a: $(CORE_OBJ)
	@rm -f $@
	ar rcs $@ $^

# The headers that pml.h reaches. What is PML_API in them is public; all else that is not hidden is for this build's parts.
# libomp and libiomp5 look for their tool under the version that they are linked with.
PUBLIC_H = $(sort $(filter core/%.h,$(shell $(CC) -D_GNU_SOURCE -MM -Icore core/pml.h)))
# What generated wrappers, and workloads that scripts drive, include.
SHARED_H = $(filter-out $(PUBLIC_H),$(sort $(filter core/%.h,$(shell $(CC) -D_GNU_SOURCE -MM -Icore core/adapter/wrap/pml_wrap.h core/adapter/pml_workload.h))))
$(B)/libpmlua.map: MAP_H = $(filter-out core/read/%,$(PUBLIC_H))
$(B)/libpmlua-read.map: MAP_H = $(filter core/read/%,$(PUBLIC_H))
$(B)/libpmlua.map $(B)/libpmlua-read.map: core/pml.h $(wildcard core/*/*.h core/*/*/*.h core/*/*/*/*.h)
	@mkdir -p $(@D)
	@{ echo 'PMLUA_$(MAJOR) { global:'; cat $(MAP_H) | tr '\n' ' ' | grep -oE 'PML_API [^;([]*' | sed -n 's/ *__attribute__$$//; s/.*[ *]\(pml_\)/  \1/; s/^  pml_.*/&;/p'; \
	  echo '};'; echo 'PMLUA_PRIVATE { global: pml_*; local: *; };'; $(if $(filter %/libpmlua.map,$@),echo 'VERSION { global: ompt_start_tool; };';) } >$@.$$$$ && \
	{ cmp -s $@.$$$$ $@ && rm $@.$$$$ || mv $@.$$$$ $@; }

# nodelete: threads that counted call into it when they end, also after the last dlclose(). $(call link_pmlua,MAP,TO)
link_pmlua = $(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) $(DENSE_LD) -shared -Wl,-z,nodelete -Wl,-soname,$(SONAME) -Wl,--version-script=$(1) -Wl,--as-needed \
  -Wl,-rpath,'$$ORIGIN' $(MEMORY_WRAP) $(filter-out $(READ_OBJ),$(CORE_OBJ)) $(MEMORY_OBJ) $(CORE_LIBS) -o $(2)
$(B)/$(SONAME): $(filter-out $(READ_OBJ),$(CORE_OBJ)) $(MEMORY_OBJ) $(B)/libpmlua.map
	$(call link_pmlua,$(B)/libpmlua.map,$@)

# $(call link_read,MAP,TO)
link_read = $(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,-soname,$(READ_SONAME) -Wl,--version-script=$(1) -Wl,--as-needed \
  -Wl,-rpath,'$$ORIGIN' $(MEMORY_WRAP) $(READ_PARTS) -L$(B) -lpmlua $(CORE_LIBS) -o $(2)
$(B)/$(READ_SONAME): $(READ_PARTS) $(B)/libpmlua-read.map | $(B)/libpmlua.so
	$(call link_read,$(B)/libpmlua-read.map,$@)
$(B)/libpmlua-read.so: $(B)/$(READ_SONAME)
	ln -sf $(READ_SONAME) $@

$(B)/libpmlua.so: $(B)/$(SONAME)
	ln -sf $(SONAME) $@

$(B)/obj/core/read/otf2/library/pml_library_load.o: ALLCFLAGS += -DPML__LIBRARY=pml__otf2 -DPML__LIBRARY_FILE='"$(OTF2_FILE)"'
$(B)/obj/core/read/otf2/library/stubs.S: core/adapter/arch/library_stubs.sh $(filter $(B)/obj/core/read/%,$(CORE_OBJ))
	@mkdir -p $(@D)
	$< OTF2_ pml__otf2 $(filter %.o,$^) >$@
$(B)/obj/core/read/otf2/library/stubs.o: $(B)/obj/core/read/otf2/library/stubs.S
	$(CC) $(CFLAGS) -c $< -o $@

# nodelete: threads that counted give their cells back when they end, also after the last dlclose().
$(B)/$(COUNT_SONAME): $(COUNT_OBJ)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-z,nodelete -Wl,-soname,$(COUNT_SONAME) $^ -o $@
$(B)/libpmlua_count.so: $(B)/$(COUNT_SONAME)
	ln -sf $(COUNT_SONAME) $@
$(B)/libpmlua_count.a: $(filter-out %/pml_count_fork.o $(SYSTEM_OBJ),$(COUNT_OBJ))
	@rm -f $@
	ar rcs $@ $^

# A forked child that waits (base/pml_process.c) touches one page less.
$(B)/obj/core/base/pml_process.o: ALLCFLAGS += -fno-plt

# GNU C, for the segment of the thread pointer (record/pml_recorder_cache.h).
$(B)/obj/core/compat/libsde.o: ALLCFLAGS += -std=gnu11

# The drop-in for PAPI's libsde: found under each name that programs were linked against. It shares the registry of
# libpmlua.so, so that what is registered through it is what pmlua reads; the archive stands alone and carries its own.
$(B)/compat/libsde.so.1.0: $(SDE_OBJ) core/compat/libsde.map | $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-z,nodelete -Wl,-soname,libsde.so.1 -Wl,--version-script=core/compat/libsde.map \
	  -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(SDE_OBJ) -L$(B) -lpmlua -ldl -o $@

$(B)/compat/libsde.so: $(B)/compat/libsde.so.1.0
	ln -sf libsde.so.1.0 $(@D)/libsde.so.1
	ln -sf libsde.so.1 $@

# clang brings the header of OMPT, beside others that are for clang alone: these come last. Without it there is no tool.
OMPT_H := $(lastword $(sort $(wildcard /usr/include/omp-tools.h /usr/lib/llvm-*/lib/clang/*/include/omp-tools.h)))
ifeq ($(OMPT_H),)
$(info omp-tools.h (libomp-dev) is missing: pmlua is built without OMPT and sees no OpenMP constructs of libomp)
endif
$(B)/obj/core/adapter/openmp/pml_openmp_ompt.o: ALLCFLAGS += $(addprefix -idirafter ,$(patsubst %/,%,$(dir $(OMPT_H))))

# Preloaded, the same drop-in and what starts the service: it loads libpmlua-embed.so, which is beside libpmlua.so. It is
# libsde.so.1 to the loader, so that a program which is linked with that, or opens it, gets this one; the link beside it
# makes it libsde.so, too, where it looks for that itself: by an rpath, which comes before LD_LIBRARY_PATH.
$(B)/preload/libpmlua-live.so: $(SDE_OBJ) $(LIVE_OBJ) core/compat/libsde.map | $(B)/libpmlua.so
	@mkdir -p $(@D)
	sed 's/^  global:/  global: exec*; fexecve; posix_spawn*;/' core/compat/libsde.map >$(@:.so=.map)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-soname,libsde.so.1 -Wl,--version-script=$(@:.so=.map) \
	  -Wl,--disable-new-dtags,-rpath,'$$ORIGIN:$$ORIGIN/..:$$ORIGIN/../..' $(SDE_OBJ) $(LIVE_OBJ) -L$(B) -lpmlua -ldl -o $@
	ln -sf libpmlua-live.so $(@D)/libsde.so

# Preloaded, it records the calls between the program's libraries.
$(B)/preload/libpmlua-record.so: $(RECORD_OBJ) | $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) $(DENSE_LD) -shared -Wl,-z,nodelete -Wl,-soname,libpmlua-record.so -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(RECORD_OBJ) \
	  -L$(B) -lpmlua -lpthread -ldl -o $@

# For programs whose libcaliper is missing: pmlua record adds the folder of this library to LD_LIBRARY_PATH.
$(CALIPER_SO): $(B)/obj/core/compat/libcaliper.o
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-soname,libcaliper.so.2 $< -o $@

# Preloaded, it watches variables and functions of the program.
$(B)/preload/libpmlua-watchpoint.so: $(WATCHPOINT_OBJ) | $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-z,nodelete -Wl,-soname,libpmlua-watchpoint.so -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(WATCHPOINT_OBJ) \
	  -L$(B) -lpmlua -lpthread -o $@

# Preloaded under callgrind, forked children count from zero.
$(B)/preload/libpmlua-simulate.so: $(SIMULATE_OBJ)
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-soname,libpmlua-simulate.so $(SIMULATE_OBJ) -o $@

# It starts measured programs. Static, because its memory is the least that a program's can be seen to be.
$(B)/preload/pmlua-starter: core/program/pml_starter.c core/program/pml_starter.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -O2 $(WARN) $(LDFLAGS) -Icore -static $< -o $@

SDE_CORE := $(filter-out %/pml_event_sde.c %/pml_eventset_sde.c %/pml_eventset_compiler.c,$(filter core/base/% core/source/sde/% \
  core/record/recorder/% core/record/quantile/% core/record/log/% core/source/compiler/pml_count_cells.c,$(CORE_SRC)))
$(B)/compat/libsde.a: $(SDE_OBJ) $(SDE_CORE:%.c=$(B)/obj/%.o) $(SYSTEM_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

# What PMlib's choosers count, of the groups' data; without Lua's interpreter, nothing.
CHOOSER_DATA := $(wildcard lua/pmlua/groups/*.lua) lua/pmlua/without_pmu/compiler.lua
$(B)/obj/core/compat/pmlib/chooser_events.c: core/compat/pmlib/choosers.lua $(CHOOSER_DATA) $(wildcard lua/pmlua/groups/part/*.lua)
	@mkdir -p $(@D)
	@if command -v $(LUA) >/dev/null; then $(LUA) core/compat/pmlib/choosers.lua $(CHOOSER_DATA) >$@.new && mv $@.new $@; else \
	  echo "$(LUA) is not here: PMlib's choosers count what PMLUA_CHOOSER_EVENTS names"; \
	  printf '#include "compat/pmlib/pmlib.h"\nconst struct pmlib_chooser_events pmlib_chooser_events[] = {{0, 0, 0}};\n' >$@; fi
$(B)/obj/core/compat/pmlib/chooser_events.o: $(B)/obj/core/compat/pmlib/chooser_events.c
	$(CC) $(ALLCFLAGS) -c $< -o $@

# PMlib's calls under both names that its users link: MPI is looked up at run time, so they are one library.
PM_READ_OBJ := $(addprefix $(B)/obj/core/compat/pmlib/,read_load.o read_stubs.o)
$(B)/obj/core/compat/pmlib/read_load.o: core/read/otf2/library/pml_library_load.c | $$(@D)/.
	$(CC) $(ALLCFLAGS) -DPML__LIBRARY=pml__read -DPML__LIBRARY_FILE='"$(READ_SONAME)"' -c $< -o $@
$(B)/obj/core/compat/pmlib/read_stubs.S: core/adapter/arch/library_stubs.sh $(PM_OBJ)
	$< pml_otf2_ pml__read $(filter %.o,$^) >$@
$(B)/obj/core/compat/pmlib/read_stubs.o: $(B)/obj/core/compat/pmlib/read_stubs.S
	$(CC) $(CFLAGS) -c $< -o $@
$(B)/compat/libPM.so: $(PM_OBJ) $(PM_READ_OBJ) | $(B)/libpmlua-read.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-soname,libPM.so -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(PM_OBJ) $(PM_READ_OBJ) -L$(B) -lpmlua \
	  -lpthread -ldl -lm -o $@
	ln -sf libPM.so $(@D)/libPMmpi.so

$(B)/compat/libPM.a: $(PM_OBJ) $(CORE_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^
	ln -sf libPM.a $(@D)/libPMmpi.a

# What builds of Score-P plugins ask. $(call scorep_config,TO,INCLUDE): its path from there, or absolute.
scorep_config = sed -e 's|@INCLUDE@|$(2)|' -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' core/interface/scorep/scorep-config.in >$(1) && chmod 755 $(1)
$(B)/scorep-config: core/interface/scorep/scorep-config.in core/base/pml_api.h
	@mkdir -p $(@D)
	$(call scorep_config,$@,$(CURDIR)/core/interface)

include core/adapter/mpi/shim/shim.mk

-include $(patsubst %.o,%.d,$(CORE_OBJ) $(LUA_OBJ) $(COUNT_OBJ) $(SDE_OBJ) $(PM_OBJ) $(PM_READ_OBJ) $(LIVE_OBJ) $(RECORD_OBJ) $(MEMORY_OBJ) $(READ_MEMORY_OBJ) $(OTF2_OBJ) $(WATCHPOINT_OBJ) $(SIMULATE_OBJ))

# Python imports it at its start (core/preload/python.c). It needs no header of Python.
$(PYTHON_SO): $(B)/obj/core/preload/python.o | $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-rpath,'$$ORIGIN/../..:$$ORIGIN/../../..' $< -L$(B) -lpmlua -ldl -o $@

# Programs that contain, or link, Lua's own library have its functions.
$(LUA_SO): $(LUA_OBJ) | $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-z,nodelete -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $^ -L$(B) -lpmlua -ldl -o $@
