# pmlua - `make run` shows the first experiment, `make check` runs every test; `make help` lists the rest.

PREFIX  ?= /usr/local
DESTDIR ?=
B       ?= build
CC      ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif

VERSION := $(shell sed -n 's/^.define PML_VERSION "\(.*\)"/\1/p' core/base/pml_api.h)
SONAME  := libpmlua.so.0
EMBED_SONAME := libpmlua-embed.so.0

LUA        ?= lua5.4
LUA_CFLAGS := $(shell pkg-config --cflags lua5.4 2>/dev/null)
LUA_LIBS   := $(shell pkg-config --libs lua5.4 2>/dev/null)

WARN      := -Wall -Wextra -Wconversion -Wmissing-prototypes -Wshadow -Werror
OPT       ?= -O2
CFLAGS    ?= -g
ALLCFLAGS  = -std=c11 -D_GNU_SOURCE $(OPT) $(CFLAGS) $(WARN) $(SAN) -fPIC -fvisibility=hidden -Icore -MMD -MP
CORE_LIBS := -lpfm -lotf2 -lpthread -ldl -lm

CORE_SRC := $(filter-out core/compat/% core/preload/%,$(wildcard core/*/*.c core/adapter/arch/*/*.c)) core/source/count/cells.c
# What programs that were compiled with counts are linked against: libc and nothing else.
COUNT_SRC := $(wildcard core/source/count/pml_count*.c)
COUNT_SONAME := libpmlua_count.so.0
# Each instruction set has its own; for the others these files are empty.
CORE_ASM := $(wildcard core/adapter/arch/*/*.S)
LIVE_SRC := core/preload/live.c
RECORD_SRC := core/preload/record.c core/preload/record_plugins.c core/preload/confine.c
WATCHPOINT_SRC := core/preload/watchpoint.c
SIMULATE_SRC := core/preload/simulate.c
SDE_SRC  := $(wildcard core/compat/libsde*.c)
PM_SRC   := $(wildcard core/compat/pmlib/*.c)
CLANG_SRC := bindings/clang.c bindings/clang_table.c
BIND_SRC := $(filter-out bindings/main.c bindings/instrument.c $(CLANG_SRC),$(wildcard bindings/*.c))
# Its own module, only where libclang's headers are: it opens libclang when it is asked.
CLANG_INC := $(patsubst %/clang-c/Index.h,%,$(lastword $(sort $(wildcard /usr/include/clang-c/Index.h /usr/lib/llvm-*/include/clang-c/Index.h))))
CLANG_SO := $(if $(CLANG_INC),$(B)/lua/pmlua/clang.so)
# Counters for bitcode: its own module, only where LLVM 14 is.
LLVM_CONFIG := $(shell command -v llvm-config-14 2>/dev/null)
INSTRUMENT_SRC := bindings/instrument.c core/source/count/cells.c $(wildcard core/source/count/instrument*.c)
INSTRUMENT_SO := $(if $(LLVM_CONFIG),$(B)/lua/pmlua/instrument.so)
INSTRUMENT_OBJ := $(INSTRUMENT_SRC:%.c=$(B)/obj/%.o)
LLVM_CFLAGS = $(if $(LLVM_CONFIG),-isystem $(shell $(LLVM_CONFIG) --includedir) -DPML_LLVM_VERSION=$(shell $(LLVM_CONFIG) --version))
WORK_SRC := $(wildcard scripts/workloads/*.c scripts/workloads/*/*.c)
SPEC_SRC := $(wildcard spec/c/*.c)
FUZZ_SRC := $(wildcard spec/fuzz/fuzz_*.c)
BENCH_SRC := $(wildcard spec/bench/*.c)
ALL_C    := $(wildcard spec/lua/wrap/* spec/lua/sim/*.c core/*.h core/*/*.[ch] core/*/*/*.[ch] core/*/*/*/*.h bindings/*.[ch] scripts/workloads/*.[ch] scripts/workloads/*/*.[ch] scripts/programs/*.[ch] scripts/plugins/*.c spec/c/*.[ch] spec/c/intercept/*.[ch] spec/c/wrap/*.[ch] spec/c/plugins/*.c spec/c/plugins/*.cpp spec/c/substrates/*.c core/compat/scorep/include/scorep/*.h spec/fuzz/*.[ch] spec/bench/*.[ch] spec/bench/count/*.[ch] spec/lua/count/*.[ch] spec/wrap/*.c spec/pmlib/*.c spec/pmlib/*.cpp)

CORE_OBJ := $(CORE_SRC:%.c=$(B)/obj/%.o) $(CORE_ASM:%.S=$(B)/obj/%.o)
SDE_OBJ  := $(SDE_SRC:%.c=$(B)/obj/%.o)
COUNT_OBJ := $(COUNT_SRC:%.c=$(B)/obj/%.o) $(B)/obj/core/source/count/cells.o
PM_OBJ   := $(PM_SRC:%.c=$(B)/obj/%.o)
BIND_OBJ := $(BIND_SRC:%.c=$(B)/obj/%.o)
MAIN_OBJ := $(B)/obj/bindings/main.o
LIVE_OBJ := $(LIVE_SRC:%.c=$(B)/obj/%.o)
RECORD_OBJ := $(RECORD_SRC:%.c=$(B)/obj/%.o)
WATCHPOINT_OBJ := $(WATCHPOINT_SRC:%.c=$(B)/obj/%.o)
SIMULATE_OBJ := $(SIMULATE_SRC:%.c=$(B)/obj/%.o)
# Programs for experiments that look at one from outside.
# The others are built by the experiments that look at them.
PROGRAMS := $(B)/programs/watched
# A workload is a file, or a folder of files.
WORK_ONE := $(patsubst scripts/workloads/%.c,$(B)/workloads/%.so,$(wildcard scripts/workloads/*.c))
WORK_ALL := $(patsubst scripts/workloads/%/,$(B)/workloads/%.so,$(wildcard scripts/workloads/*/))
WORK_SO  := $(WORK_ONE) $(WORK_ALL)
# Plugins that ship, and those that experiments measure.
OWN_PLUGINS := $(patsubst scripts/plugins/%.c,$(B)/plugins/lib%.so,$(wildcard scripts/plugins/*.c))
WORK_LIBS_krylov := -lz
WORK_LIBS_tamm := -lpthread -ldl
work_obj  = $(addprefix $(B)/obj/,$(addsuffix .o,$(basename $(wildcard scripts/workloads/$(1)/*.c))))
# The kernels that count what they do: as the source asks for it, and as the optimiser left it. The team and the clock
# around them do not count.
COUNTED_CLANG := $(if $(LLVM_CONFIG),$(if $(SAN),,$(shell command -v clang-14 2>/dev/null)))
COUNTED_SRC := $(filter-out %/workload.c %/team.c,$(wildcard scripts/workloads/kernels/*.c))
COUNTED_SO := $(if $(COUNTED_CLANG),$(B)/workloads/counted/kernels_source.so $(B)/workloads/counted/kernels_final.so)
SPEC_BIN := $(SPEC_SRC:spec/c/%.c=$(B)/spec/%)

.PHONY: all
all: $(B)/libpmlua.so $(B)/libpmlua.a $(B)/lua/pmlua/core.so $(B)/pmlua $(WORK_SO) $(B)/compat/libsde.so $(B)/compat/libsde.a \
  $(B)/compat/libPM.so $(B)/compat/libPM.a $(B)/libpmlua-embed.so $(B)/preload/libpmlua-live.so $(B)/preload/libpmlua-record.so \
  $(B)/preload/libpmlua-watchpoint.so $(B)/preload/libpmlua-simulate.so $(PROGRAMS) $(OWN_PLUGINS) $(B)/scorep-config $(CLANG_SO) $(INSTRUMENT_SO) $(B)/libpmlua_count.so $(B)/libpmlua_count.a $(COUNTED_SO)

# --- building ---------------------------------------------------------------------------------------------------------

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LUA_CFLAGS) -c $< -o $@

# What runs while vector registers are somebody's who has not saved them.
$(B)/obj/%_plain.o: ALLCFLAGS += -mgeneral-regs-only

$(B)/obj/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -c $< -o $@

$(B)/libpmlua.a: $(CORE_OBJ)
	@rm -f $@
	ar rcs $@ $^

# nodelete: threads that counted call into it when they end, also after the last dlclose().
$(B)/$(SONAME): $(CORE_OBJ) core/libpmlua.map
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-z,nodelete -Wl,-soname,$(SONAME) -Wl,--version-script=core/libpmlua.map -Wl,--as-needed \
	  $(CORE_OBJ) $(CORE_LIBS) -o $@

$(B)/libpmlua.so: $(B)/$(SONAME)
	ln -sf $(SONAME) $@

# nodelete: threads that counted give their cells back when they end, also after the last dlclose().
$(B)/$(COUNT_SONAME): $(COUNT_OBJ)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-z,nodelete -Wl,-soname,$(COUNT_SONAME) $^ -o $@
$(B)/libpmlua_count.so: $(B)/$(COUNT_SONAME)
	ln -sf $(COUNT_SONAME) $@
$(B)/libpmlua_count.a: $(COUNT_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(INSTRUMENT_OBJ): ALLCFLAGS += $(LLVM_CFLAGS)
$(B)/lua/pmlua/instrument.so: $(INSTRUMENT_OBJ)
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared $^ $$($(LLVM_CONFIG) --ldflags --libs --link-shared) -o $@

# The rpaths find the library beside the file in the checkout, then where `make install` puts it.
$(B)/lua/pmlua/core.so: $(BIND_OBJ) $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN/../..:$$ORIGIN/../../..' $(BIND_OBJ) -L$(B) -lpmlua -ldl -lm -o $@

$(B)/lua/pmlua/clang.so: $(CLANG_SRC) bindings/clang.h
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALLCFLAGS)) $(LUA_CFLAGS) -isystem $(CLANG_INC) $(LDFLAGS) -shared $(CLANG_SRC) -ldl -o $@

$(B)/pmlua: $(MAIN_OBJ) $(BIND_OBJ) $(B)/libpmlua.so
	$(CC) $(SAN) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../lib' -Wl,-E $(MAIN_OBJ) $(BIND_OBJ) -L$(B) -lpmlua $(LUA_LIBS) \
	  -ldl -lm -o $@

# For applications: the bindings with Lua. Its symbols are its own, even inside a command that exports the same.
$(B)/$(EMBED_SONAME): $(BIND_OBJ) bindings/embed.map $(B)/libpmlua.so
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-soname,$(EMBED_SONAME) -Wl,--version-script=bindings/embed.map -Wl,-Bsymbolic \
	  -Wl,-rpath,'$$ORIGIN' $(BIND_OBJ) -L$(B) -lpmlua $(LUA_LIBS) -lpthread -ldl -lm -o $@

$(B)/libpmlua-embed.so: $(B)/$(EMBED_SONAME)
	ln -sf $(EMBED_SONAME) $@

# The drop-in for PAPI's libsde: found under each name that programs were linked against. It shares the registry of
# libpmlua.so, so that what is registered through it is what pmlua reads; the archive stands alone and carries its own.
$(B)/compat/libsde.so.1.0: $(SDE_OBJ) core/compat/libsde.map $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-z,nodelete -Wl,-soname,libsde.so.1 -Wl,--version-script=core/compat/libsde.map \
	  -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(SDE_OBJ) -L$(B) -lpmlua -ldl -o $@

$(B)/compat/libsde.so: $(B)/compat/libsde.so.1.0
	ln -sf libsde.so.1.0 $(@D)/libsde.so.1
	ln -sf libsde.so.1 $@

# Preloaded, the same drop-in and what starts the service: it loads libpmlua-embed.so, which is beside libpmlua.so.
$(B)/preload/libpmlua-live.so: $(SDE_OBJ) $(LIVE_OBJ) core/compat/libsde.map $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-soname,libpmlua-live.so -Wl,--version-script=core/compat/libsde.map \
	  -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(SDE_OBJ) $(LIVE_OBJ) -L$(B) -lpmlua -ldl -o $@

# Preloaded, it records the calls between the program's libraries.
$(B)/preload/libpmlua-record.so: $(RECORD_OBJ) $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-z,nodelete -Wl,-soname,libpmlua-record.so -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(RECORD_OBJ) \
	  -L$(B) -lpmlua -lpthread -ldl -o $@

# Preloaded, it watches variables and functions of the program.
$(B)/preload/libpmlua-watchpoint.so: $(WATCHPOINT_OBJ) $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-z,nodelete -Wl,-soname,libpmlua-watchpoint.so -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(WATCHPOINT_OBJ) \
	  -L$(B) -lpmlua -lpthread -o $@

# Preloaded under callgrind, forked children count from zero.
$(B)/preload/libpmlua-simulate.so: $(SIMULATE_OBJ)
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-soname,libpmlua-simulate.so $(SIMULATE_OBJ) -o $@

# They know nothing of pmlua, and have debug information. ThreadSanitizer does not know OpenMP's barriers.
$(PROGRAMS): $(B)/programs/%: scripts/programs/%.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -O2 -g $(WARN) $(filter-out -fsanitize=thread,$(SAN)) -fopenmp $< -o $@

SDE_CORE := $(filter core/base/% core/source/pml_sde% core/source/pml_recorder% core/source/pml_quantile% core/source/pml_sketch% \
  core/source/count/%,$(CORE_SRC))
$(B)/compat/libsde.a: $(SDE_OBJ) $(SDE_CORE:%.c=$(B)/obj/%.o)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

# PMlib's calls under both names that its users link: MPI is looked up at run time, so they are one library.
$(B)/compat/libPM.so: $(PM_OBJ) $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-soname,libPM.so -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(PM_OBJ) -L$(B) -lpmlua \
	  -lpthread -ldl -lm -o $@
	ln -sf libPM.so $(@D)/libPMmpi.so

$(B)/compat/libPM.a: $(PM_OBJ) $(CORE_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^
	ln -sf libPM.a $(@D)/libPMmpi.a

# What builds of Score-P plugins ask. $(call scorep_config,TO,INCLUDE): its path from there, or absolute.
scorep_config = sed -e 's|@INCLUDE@|$(2)|' -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' core/compat/scorep/scorep-config.in >$(1) && chmod 755 $(1)
$(B)/scorep-config: core/compat/scorep/scorep-config.in
	@mkdir -p $(@D)
	$(call scorep_config,$@,$(CURDIR)/core/compat/scorep/include)

$(WORK_ONE): $(B)/workloads/%.so: scripts/workloads/%.c $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $< -L$(B) -lpmlua -lm -o $@

.SECONDEXPANSION:
$(WORK_ALL): $(B)/workloads/%.so: $$(call work_obj,$$*) $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(call work_obj,$*) -L$(B) -lpmlua \
	  $(WORK_LIBS_$*) -lm -o $@

$(COUNTED_SO): $(B)/workloads/counted/kernels_%.so: $(COUNTED_SRC) $(wildcard scripts/workloads/kernels/*.h) \
  $(filter %/workload.o %/team.o,$(call work_obj,kernels)) $(B)/pmlua $(B)/libpmlua_count.so $(INSTRUMENT_SO) $(B)/lua/pmlua/core.so
	@mkdir -p $(B)/obj/counted/$* $(@D)
	@for s in $(COUNTED_SRC); do $(B)/pmlua cc --count --at=$* -- $(COUNTED_CLANG) -std=c11 -D_GNU_SOURCE $(OPT) -fPIC \
	  -fvisibility=hidden -fno-math-errno -DKERNELS_COUNTED -Icore -c $$s -o $(B)/obj/counted/$*/$$(basename $$s .c).o || exit 1; done
	$(CC) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN/../..:$$ORIGIN/../../..' $(filter %.o,$^) \
	  $(COUNTED_SRC:scripts/workloads/kernels/%.c=$(B)/obj/counted/$*/%.o) -L$(B) -lpmlua -lpmlua_count -lm -o $@

# C specs see the internals, so they link the static library; -rdynamic lets dlsym find their symbols.
# A spec that needs more of the linker says so in its head: " * Link: FLAGS".
link_of = $(shell sed -n 's/^ \* Link: //p' $(1))
$(B)/spec/%: spec/c/%.c $(B)/libpmlua.a
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LDFLAGS) -rdynamic $(call link_of,$<) $< $(B)/libpmlua.a $(CORE_LIBS) -o $@

$(B)/spec/cost: | $(B)/libpmlua_count.so

# What is compiled with counts is linked against their runtime.
$(B)/spec/count_%: spec/c/count_%.c $(B)/libpmlua.a $(B)/libpmlua_count.so
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LDFLAGS) -rdynamic $< $(B)/libpmlua.a $(CORE_LIBS) -L$(B) -lpmlua_count -Wl,-rpath,'$$ORIGIN/..' -o $@

# Programs of libsde's users know only the drop-in, shared or (compat_static) archived.
$(B)/spec/compat_%: spec/c/compat_%.c $(B)/compat/libsde.so
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LDFLAGS) $< -Wl,-rpath,'$$ORIGIN/../compat:$$ORIGIN/..' -Wl,-rpath-link,$(B) -L$(B)/compat -lsde -Wl,--as-needed -L$(B) -lpmlua -lpthread -ldl -lm -o $@
$(B)/spec/compat_static: spec/c/compat_static.c $(B)/compat/libsde.a
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LDFLAGS) $< $(B)/compat/libsde.a -lpthread -ldl -lm -o $@

# Specs of a library among the workloads (spec/c/krylov_*.c) call it themselves.
define library_specs
$(B)/spec/$(1)_%: spec/c/$(1)_%.c $(filter-out %/workload.o,$(call work_obj,$(1))) $(B)/libpmlua.a
	@mkdir -p $$(@D)
	$$(CC) $$(ALLCFLAGS) -Iscripts/workloads $$(LDFLAGS) -rdynamic $$(filter %.c %.o,$$^) $(B)/libpmlua.a $$(CORE_LIBS) $$(WORK_LIBS_$(1)) -o $$@
endef
$(foreach l,krylov tamm kernels,$(eval $(call library_specs,$(l))))

# The flow of a program knows nothing of LLVM.
$(B)/spec/instrument_flow: spec/c/instrument_flow.c $(B)/obj/core/source/count/instrument_flow.o $(B)/obj/core/source/count/instrument_plan.o
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LDFLAGS) $^ -o $@

# A library to intercept, in C and C++; one spec is linked in each way that binds calls.
INTERCEPT_H := $(wildcard spec/c/intercept/*.h)
$(B)/spec/libintercept.so: spec/c/intercept/library.c spec/c/intercept/throw.cpp $(INTERCEPT_H)
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALLCFLAGS)) -Wno-psabi -fexceptions -fsemantic-interposition -c spec/c/intercept/library.c -o $(@:.so=.o)
	$(CXX) $(OPT) $(CFLAGS) -Wall -Wextra -Werror $(SAN) -fPIC -shared -Wl,-soname,$(@F) $(LDFLAGS) spec/c/intercept/throw.cpp $(@:.so=.o) -o $@
# Libraries with every kind of slot; the variants of one differ in how it is linked.
SLOTS_SO := $(patsubst spec/c/intercept/%.c,$(B)/spec/%.so,$(wildcard spec/c/intercept/slots_*.c))
SLOTS_VARIANTS := now norelro relr sysv stripped symbolic noplt
SLOTS_now := -Wl,-z,now,-z,relro
SLOTS_norelro := -Wl,-z,lazy,-z,norelro
SLOTS_relr := -Wl,-z,now,-z,pack-relative-relocs
SLOTS_sysv := -Wl,-z,lazy,--hash-style=sysv
SLOTS_stripped := -Wl,-s,-z,lazy
SLOTS_symbolic := -Wl,-Bsymbolic,-z,lazy
SLOTS_noplt := -fno-plt
# They find each other by their names, wherever the folder is.
slots_build = $(CC) $(filter-out -MMD -MP $(SAN),$(ALLCFLAGS)) -Wno-psabi -fsemantic-interposition -shared -Wl,-soname,$(@F) $(1) $< \
  $(filter %.so,$^) -Wl,--no-as-needed -Wl,-rpath,'$$ORIGIN' -o $@
$(B)/spec/slots_%.so: spec/c/intercept/slots_%.c $(B)/spec/libintercept.so $(INTERCEPT_H)
	$(call slots_build,-Wl$(comma)-z$(comma)lazy $(call link_of,$<))
$(B)/spec/slots_both.so: $(B)/spec/slots_versions.so
$(SLOTS_VARIANTS:%=$(B)/spec/leaf_%.so): $(B)/spec/leaf_%.so: spec/c/intercept/slots_leaf.c $(B)/spec/libintercept.so $(INTERCEPT_H)
	$(call slots_build,$(SLOTS_$*))
$(patsubst %,$(B)/spec/intercept_%,slots damaged bounds places): $(SLOTS_SO) $(SLOTS_VARIANTS:%=$(B)/spec/leaf_%.so)

intercept_link = $(CC) $(ALLCFLAGS) -Wno-psabi $(LDFLAGS) $(1) $< -L$(B)/spec -lintercept -Wl,-rpath,'$$ORIGIN' $(B)/libpmlua.a $(CORE_LIBS)
$(B)/spec/intercept_%: spec/c/intercept_%.c $(B)/spec/libintercept.so $(B)/libpmlua.a $(INTERCEPT_H)
	$(call intercept_link,-Wl$(comma)-z$(comma)lazy) -o $@
	$(call intercept_link,-Wl$(comma)-z$(comma)now$(comma)-z$(comma)relro) -o $@.now
	$(call intercept_link,-fno-plt) -o $@.noplt
	$(call intercept_link,-no-pie -fno-pie) -o $@.nopie
comma := ,

# Wrappers of the same library, of the four kinds: in the program or shared, found by --wrap or by their names.
WRAPPED := lib_nothing lib_recursive lib_back lib_catch lib_throw lib_errno lib_two lib_mixed
wrap_flags := $(WRAPPED:%=-Wl,--wrap=%)
wrap_compile = $(CC) $(filter-out -MMD -MP -Wmissing-prototypes,$(ALLCFLAGS)) -Wno-psabi -fexceptions -c spec/c/wrap/wrappers.c
wrap_link = $(CC) $(filter-out -MMD -MP,$(ALLCFLAGS)) -Wno-psabi -fexceptions $(LDFLAGS) -rdynamic $(1) $< -L$(B)/spec -lintercept \
  -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..'
$(B)/spec/wrap_%: spec/c/wrap_%.c spec/c/wrap/wrappers.c core/adapter/pml_wrap.h $(INTERCEPT_H) $(B)/spec/libintercept.so $(B)/libpmlua.a $(B)/libpmlua.so
	$(wrap_compile) -DLINK_TIME -o $@.link.o
	$(wrap_compile) -o $@.run.o
	$(CC) $(SAN) $(LDFLAGS) -shared $(wrap_flags) $@.link.o -L$(B)/spec -lintercept -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' -L$(B) -lpmlua -o $(B)/spec/libpmlua-wrap-link.so
	$(CC) $(SAN) $(LDFLAGS) -shared $@.run.o -Wl,-rpath,'$$ORIGIN/..' -L$(B) -lpmlua -o $(B)/spec/libpmlua-wrap-run.so
	$(call wrap_link,$(wrap_flags) $@.link.o) $(B)/libpmlua.a $(CORE_LIBS) -o $@
	$(call wrap_link,$(wrap_flags) -L$(B)/spec -lpmlua-wrap-link) -L$(B) -lpmlua -lpthread -ldl -o $@.shared
	$(call wrap_link,$@.run.o) $(B)/libpmlua.a $(CORE_LIBS) -o $@.runtime
	$(call wrap_link) -L$(B) -lpmlua -lpthread -ldl -o $@.preload

# Metric plugins to load, built as others build theirs: by what scorep-config says.
PLUGINS := steps zero thrower sampler sampler_forks gauge_thread gauge_process gauge_host gauge_once gauge_seldom series_async series_event \
  $(addprefix bad_,unlike newer scopeless shared dumb failing nothing empty endless modeless refusing boasting hollow backwards timeless shuffled hanging cycle_a cycle_b undefined)
PLUGIN_SO := $(PLUGINS:%=$(B)/spec/plugins/lib%.so)
plugin_cc = @mkdir -p $(@D) && $(1) $(OPT) $(CFLAGS) -Wall -Wextra -Werror $(SAN) -fPIC -shared $(LDFLAGS) \
  $$($(B)/scorep-config --user --cppflags) $(2) $< $$($(B)/scorep-config --user --libs) -lpthread -o $@
upper = $(shell echo $(1) | tr a-z A-Z)
$(B)/spec/plugins/libgauge_seldom.so: spec/c/plugins/gauge.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=gauge_seldom -DSCOPE=SCOREP_METRIC_PER_THREAD -DDELTA='(UINT64_C(1) << 40)')
$(B)/spec/plugins/libgauge_once.so: spec/c/plugins/gauge.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=gauge_once -DSCOPE=SCOREP_METRIC_ONCE)
$(B)/spec/plugins/libgauge_%.so: spec/c/plugins/gauge.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=gauge_$* -DSCOPE=SCOREP_METRIC_PER_$(call upper,$*))
$(B)/spec/plugins/libseries_async.so: spec/c/plugins/series.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=series_async -DKIND=SCOREP_METRIC_ASYNC)
$(B)/spec/plugins/libseries_event.so: spec/c/plugins/series.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=series_event -DKIND=SCOREP_METRIC_ASYNC_EVENT)
$(B)/spec/plugins/libbad_unlike.so: spec/c/plugins/bad.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=bad_of_another_name -DFAULT=UNLIKE)
$(B)/spec/plugins/libbad_undefined.so: spec/c/plugins/bad.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=bad_undefined -DFAULT=UNDEFINED -DNEEDS=nobody_has_this)
# Each is linked with the other: with an empty library of its name first.
$(B)/spec/plugins/libbad_cycle_b.so: spec/c/plugins/bad.c $(B)/scorep-config
	@mkdir -p $(@D)/empty && $(CC) -shared -Wl,-soname,libbad_cycle_a.so -x c /dev/null -o $(@D)/empty/libbad_cycle_a.so
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=bad_cycle_b -DFAULT=CYCLE_B -DNEEDS=cycle_a -DHAS=cycle_b) -L$(@D)/empty \
	  -Wl,--no-as-needed -lbad_cycle_a -Wl,-rpath,'$$ORIGIN',-soname,libbad_cycle_b.so
$(B)/spec/plugins/libbad_cycle_a.so: spec/c/plugins/bad.c $(B)/spec/plugins/libbad_cycle_b.so
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=bad_cycle_a -DFAULT=CYCLE_A -DNEEDS=cycle_b -DHAS=cycle_a) -L$(@D) \
	  -Wl,--no-as-needed -lbad_cycle_b -Wl,-rpath,'$$ORIGIN',-soname,libbad_cycle_a.so
$(B)/spec/plugins/libbad_%.so: spec/c/plugins/bad.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=bad_$* -DFAULT=$(call upper,$*))
$(B)/spec/plugins/libthrower.so: spec/c/plugins/thrower.cpp $(B)/scorep-config
	$(call plugin_cc,$(CXX))
$(B)/spec/plugins/libsampler.so: spec/c/plugins/sampler.cpp $(B)/scorep-config
	$(call plugin_cc,$(CXX),-DNAME=sampler)
$(B)/spec/plugins/libsampler_forks.so: spec/c/plugins/sampler.cpp $(B)/scorep-config
	$(call plugin_cc,$(CXX),-DNAME=sampler_forks -DFORKS)
$(B)/spec/plugins/lib%.so: spec/c/plugins/%.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11)
$(B)/spec/plugins/lib%.so: scripts/plugins/%.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-Wno-cast-function-type)
$(filter-out %/libwatchpoint.so,$(OWN_PLUGINS)): $(B)/plugins/lib%.so: scripts/plugins/%.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-Wno-cast-function-type)
$(B)/plugins/libwatchpoint.so: scripts/plugins/watchpoint.c $(B)/scorep-config $(B)/libpmlua.so
	$(call plugin_cc,$(CC) -std=gnu11,-D_GNU_SOURCE -Icore) -L$(B) -lpmlua -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..'
$(B)/spec/plugin $(B)/spec/plugin_bad $(B)/spec/plugin_threads $(B)/spec/cost $(B)/bench: | $(PLUGIN_SO)
$(B)/spec/plugin_watchpoint: | $(OWN_PLUGINS)

# Substrate plugins to load.
SUBSTRATES := writer nothing thrower $(addprefix bad_,unlike newer unset refusing hollow future)
SUBSTRATE_SO := $(SUBSTRATES:%=$(B)/spec/plugins/libscorep_substrate_%.so)
substrate_cc = @mkdir -p $(@D) && $(1) $(OPT) $(CFLAGS) -Wall -Wextra -Werror -Wno-cast-function-type $(SAN) -fPIC -shared $(LDFLAGS) \
  -Icore/compat/scorep/include $(2) $< -lpthread -o $@
SUBSTRATE_H := $(wildcard core/compat/scorep/include/scorep/*.h)
$(B)/spec/plugins/libscorep_substrate_bad_unlike.so: spec/c/substrates/bad.c $(SUBSTRATE_H)
	$(call substrate_cc,$(CC) -std=gnu11,-DNAME=bad_of_another_name -DFAULT=UNLIKE)
$(B)/spec/plugins/libscorep_substrate_bad_%.so: spec/c/substrates/bad.c $(SUBSTRATE_H)
	$(call substrate_cc,$(CC) -std=gnu11,-DNAME=bad_$* -DFAULT=$(shell echo $* | tr a-z A-Z))
$(B)/spec/plugins/libscorep_substrate_thrower.so: spec/c/substrates/thrower.cpp $(SUBSTRATE_H)
	$(call substrate_cc,$(CXX))
$(B)/spec/plugins/libscorep_substrate_%.so: spec/c/substrates/%.c $(SUBSTRATE_H)
	$(call substrate_cc,$(CC) -std=gnu11)
$(B)/spec/scorep $(B)/spec/scorep_threads $(B)/spec/cost $(B)/bench: | $(SUBSTRATE_SO)

# Specs of the service see its internals; embed is compiled and linked as an application is.
$(B)/spec/live_%: spec/c/live_%.c $(B)/libpmlua_lua.a $(B)/libpmlua.a
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) -Ibindings $(LUA_CFLAGS) $(LDFLAGS) -rdynamic $(call link_of,$<) $< $(B)/libpmlua_lua.a $(B)/libpmlua.a $(CORE_LIBS) $(LUA_LIBS) -o $@
$(B)/spec/live_preload: $(B)/preload/libpmlua-live.so $(B)/libpmlua-embed.so
$(B)/spec/embed: spec/c/embed.c $(B)/libpmlua-embed.so
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) -Ibindings $(LUA_CFLAGS) $(LDFLAGS) $< -Wl,-rpath,'$$ORIGIN/..' -L$(B) -lpmlua-embed -lpmlua $(LUA_LIBS) -o $@

BENCH_OBJ := $(BENCH_SRC:%.c=$(B)/obj/%.o)
$(B)/bench: $(BENCH_OBJ) $(B)/libpmlua.a
	$(CC) $(SAN) $(LDFLAGS) $(BENCH_OBJ) $(B)/libpmlua.a $(CORE_LIBS) -o $@

.PHONY: specs
specs: $(SPEC_BIN)

-include $(CORE_OBJ:.o=.d) $(COUNT_OBJ:.o=.d) $(INSTRUMENT_OBJ:.o=.d) $(SDE_OBJ:.o=.d) $(PM_OBJ:.o=.d) $(LIVE_OBJ:.o=.d) $(RECORD_OBJ:.o=.d) $(WATCHPOINT_OBJ:.o=.d) $(SIMULATE_OBJ:.o=.d) $(BIND_OBJ:.o=.d) $(MAIN_OBJ:.o=.d) $(WORK_ONE:.so=.d) $(WORK_SRC:%.c=$(B)/obj/%.d) $(SPEC_BIN:=.d) $(BENCH_OBJ:.o=.d)

# --- the two commands of a newcomer -----------------------------------------------------------------------------------

RUN_DEPS   := pkg-config lua5.4 liblua5.4-dev libdw-dev libpfm4-dev libotf2-trace-dev zlib1g-dev lua-filesystem lua-cjson lua-argparse lua-zlib gnuplot-nox graphviz
# Debian's Python has its own tests apart, by its version.
PYTHON_TESTS := $(patsubst %,lib%-testsuite,$(shell readlink /usr/bin/python3))
CHECK_DEPS := g++ lua-busted lua-check otf2-tools python3-otf2 python3-six clang libomp-dev clang-format clang-tidy cppcheck valgrind man-db \
  libclang-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static gfortran openmpi-bin libopenmpi-dev sqlite3 git \
  $(PYTHON_TESTS) libfftw3-dev libgmp-dev llvm-14-dev
WRAP_DEPS := libopenblas-dev petsc-dev qtbase5-dev

# $(call need,PACKAGES): install what is missing, or say what to install and stop.
define need
@missing=; for p in $(1); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
if [ -z "$$missing" ]; then exit 0; fi; \
if ! command -v apt-get >/dev/null 2>&1; then \
  echo "pmlua needs these (Debian's names; install what your system calls them):$$missing" >&2; exit 1; fi; \
if [ "$$(id -u)" = 0 ]; then as=; elif command -v sudo >/dev/null 2>&1; then as=sudo; else \
  echo "pmlua needs:$$missing" >&2; echo "as root: apt-get install$$missing" >&2; exit 1; fi; \
echo "installing:$$missing"; export DEBIAN_FRONTEND=noninteractive; \
$$as apt-get update -qq && $$as apt-get install -y -qq --no-install-recommends $$missing >/dev/null
endef

.PHONY: deps deps-check run check check-wrap
deps: ## install the missing Debian packages that building and running need
	$(call need,$(RUN_DEPS))
deps-check: deps
	$(call need,$(CHECK_DEPS))

# A second make, because what pkg-config answers is read when make starts.
run: deps ## set up, build, run the first experiment; ARGS="--quick" makes it short
	@$(MAKE) --no-print-directory all
	$(B)/pmlua scripts/read_overhead.lua $(ARGS)

check: deps-check ## set up, build, run every test
	@$(MAKE) --no-print-directory -j2 all specs >$(CHECK_LOG) 2>&1 || { cat $(CHECK_LOG); exit 1; }
	@$(LUA) spec/check.lua $(CHECK_STEPS)
check-wrap: deps-check ## the recipes of large libraries: OpenBLAS, PETSc and Qt 5 are installed, wrapped and checked, which takes minutes
	$(call need,$(WRAP_DEPS))
	@$(MAKE) --no-print-directory -j2 all >$(CHECK_LOG) 2>&1 || { cat $(CHECK_LOG); exit 1; }
	@$(LUA) spec/check.lua wrap
CHECK_LOG = $(shell mkdir -p $(B); echo $(B)/check-build.log)

# --- parts of the check, also alone -----------------------------------------------------------------------------------

.PHONY: lint fmt mutants layers asan tsan bench fuzz fuzz-proof soak
# What a file gets said is printed together, when its clang-tidy is done: several run at once.
LINT_JOBS := 2
TIDY_SRC = $(CORE_SRC) $(COUNT_SRC) $(SDE_SRC) $(PM_SRC) $(LIVE_SRC) $(RECORD_SRC) $(WATCHPOINT_SRC) $(SIMULATE_SRC) bindings/main.c $(BIND_SRC) \
  $(if $(CLANG_INC),$(CLANG_SRC)) $(if $(LLVM_CONFIG),$(INSTRUMENT_SRC)) $(WORK_SRC)
TIDY_FLAGS = -std=c11 -D_GNU_SOURCE -Icore $(LUA_CFLAGS) $(CLANG_INC:%=-isystem %) $(LLVM_CFLAGS)
.PHONY: lint fmt mutants layers asan tsan bench fuzz fuzz-proof soak guard guard-save
lint: ## compilers' warnings as errors, clang-tidy, cppcheck, luacheck, format
	@clang-format --dry-run -Werror $(ALL_C)
	@luacheck -q lua scripts spec
	@$(MAKE) --no-print-directory -s -j$(LINT_JOBS) CC=clang B=$(B)/clang all specs
	@cppcheck -q --std=c11 --language=c --error-exitcode=1 --inline-suppr --suppress=missingIncludeSystem \
	  --enable=warning,performance,portability -D__x86_64__ -Icore core bindings scripts/workloads $(wildcard scripts/programs/*.[ch])
	@printf '%s\n' $(TIDY_SRC) | xargs -P$(LINT_JOBS) -n1 sh -c 'said=$$(clang-tidy --quiet "$$0" -- $(TIDY_FLAGS) 2>&1) || { echo "$$said"; exit 1; }'
fmt: ## format the C sources
	clang-format -i $(ALL_C)
mutants: $(B)/libpmlua.a ## broken readers, one line each: every one must be caught
	@PMLUA_BUILD=$(B) $(LUA) spec/mutants.lua
# Instructions of a call, of the compiler that the file names.
GUARD = LD_BIND_NOW=1 PMLUA_CLOCK=counter $(B)/pmlua guard
GUARDED := path_* pml_recorder_push* pml__section_st* $(addprefix pml_eventset_,start stop read read_ts reset accum) \
  pml__eventset_*snapshot pml__eventset_*read* read_mixed read_simple pml_group_read pml_counter_read pml__stream_raise \
  pml__profile_*er* pml__profile_leave* pml__wrap_* pml_clock_ticks* pml_clock_ns pml_sde_group_add
guard: $(B)/pmlua $(B)/spec/cost ## no function of the hot paths takes 1 % more instructions a call than spec/data/hot_paths.guard says
	@$(GUARD) spec/data/hot_paths.guard --per-call -- $(B)/spec/cost run >/dev/null
guard-save: $(B)/pmlua $(B)/spec/cost ## keep what they take now; look at the difference
	@$(GUARD) --save spec/data/hot_paths.guard $(foreach f,$(GUARDED),--function '$(f)') -- $(B)/spec/cost run >/dev/null
layers: ## dependencies run one way
	@$(LUA) spec/layers.lua
asan: ## the C specs and the Lua specs under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory -s -j2 B=$(B)/asan OPT=-O1 SAN="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer" all specs
	@PMLUA_BUILD=$(B)/asan $(LUA) spec/check.lua c lua-asan
tsan: ## the C specs with threads under ThreadSanitizer
	@$(MAKE) --no-print-directory -s -j2 B=$(B)/tsan OPT=-O1 SAN=-fsanitize=thread specs
	@PMLUA_BUILD=$(B)/tsan $(LUA) spec/check.lua c-threads
bench: all $(B)/bench ## each figure beside its limit and its peer, in one run
	@$(B)/bench
	@$(B)/pmlua spec/bench/reader.lua
	@$(B)/pmlua spec/bench/substrate.lua
	@$(B)/pmlua spec/bench/count.lua
FUZZ_SECONDS ?= 60
PROOF_SECONDS ?= 120
FUZZ ?= $(FUZZ_SRC:spec/fuzz/fuzz_%.c=%)
FUZZ_SAN := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
FUZZ_MAKE = $(MAKE) --no-print-directory -s -j2 CC=clang B=$(B)/fuzz OPT=-O1 SAN="$(FUZZ_SAN)"
fuzz: ## every parser and the Lua API under libFuzzer, FUZZ_SECONDS each (needs clang and libclang-rt-14-dev)
	@$(FUZZ_MAKE) $(FUZZ:%=$(B)/fuzz/fuzz_%)
	@for n in $(FUZZ); do spec/fuzz/run.sh $(B)/fuzz fuzz_$$n $(FUZZ_SECONDS) || exit 1; done
fuzz-proof: ## every fuzz target finds the bug planted in it
	@$(FUZZ_MAKE) $(FUZZ:%=$(B)/fuzz/planted_%)
	@for n in $(FUZZ); do spec/fuzz/run.sh $(B)/fuzz planted_$$n $(PROOF_SECONDS) || exit 1; done

$(B)/libpmlua_lua.a: $(BIND_OBJ)
	@rm -f $@
	ar rcs $@ $^

# $(call fuzz_build,FLAGS): archives give what a target asks for, so that each may be linked with all.
fuzz_build = $(CC) $(ALLCFLAGS) -fsanitize=fuzzer $(1) -I. -Ibindings -Iscripts/workloads $(LUA_CFLAGS) $(call link_of,$<) $< \
  $(B)/libpmlua_lua.a $(B)/libpmlua.a $(CORE_LIBS) $(LUA_LIBS) -lz -rdynamic -o $@
$(B)/fuzz_%: spec/fuzz/fuzz_%.c $(B)/libpmlua.a $(B)/libpmlua_lua.a
	$(call fuzz_build)
$(B)/planted_%: spec/fuzz/fuzz_%.c $(B)/libpmlua.a $(B)/libpmlua_lua.a
	$(call fuzz_build,-DPLANT_BUG)

SOAK_SECONDS ?= 600
SOAKS := soak live_threads buffer count_threads
soak: ## threads, traces, forks, questions at random with sums that must add up: SOAK_SECONDS, half of them under ThreadSanitizer
	@$(MAKE) --no-print-directory -s $(SOAKS:%=$(B)/spec/%)
	@$(MAKE) --no-print-directory -s -j2 B=$(B)/tsan OPT=-O1 SAN=-fsanitize=thread $(SOAKS:%=$(B)/tsan/spec/%)
	@for s in $(SOAKS:%=$(B)/spec/%) $(SOAKS:%=$(B)/tsan/spec/%); do SOAK_SECONDS=$$(($(SOAK_SECONDS) / 4)) $$s || exit 1; done

include spec/arm/arm.mk

# --- installing -------------------------------------------------------------------------------------------------------

D := $(DESTDIR)$(PREFIX)
LUAVER := 5.4
.PHONY: install
install: all ## PREFIX (default /usr/local), DESTDIR for packagers
	install -d $(D)/bin $(D)/lib/pkgconfig $(D)/lib/pmlua/workloads $(D)/lib/lua/$(LUAVER)/pmlua $(D)/share/lua/$(LUAVER) $(D)/share/man/man1 \
	  $(D)/share/pmlua/scripts/workloads $(D)/share/pmlua/plots $(D)/share/doc/pmlua
	install -m 755 $(B)/pmlua $(D)/bin/
	install -m 755 $(B)/$(SONAME) $(D)/lib/
	ln -sf $(SONAME) $(D)/lib/libpmlua.so
	install -m 755 $(B)/$(COUNT_SONAME) $(D)/lib/
	ln -sf $(COUNT_SONAME) $(D)/lib/libpmlua_count.so
	install -m 644 $(B)/libpmlua_count.a $(D)/lib/
	install -m 755 $(B)/$(EMBED_SONAME) $(D)/lib/
	ln -sf $(EMBED_SONAME) $(D)/lib/libpmlua-embed.so
	install -d $(D)/lib/pmlua/preload
	install -m 755 $(B)/preload/libpmlua-live.so $(B)/preload/libpmlua-record.so $(B)/preload/libpmlua-watchpoint.so \
	  $(B)/preload/libpmlua-simulate.so $(D)/lib/pmlua/preload/
	install -d $(D)/lib/pmlua/programs
	install -m 755 $(PROGRAMS) $(D)/lib/pmlua/programs/
	install -d $(D)/lib/pmlua/plugins
	install -m 755 $(OWN_PLUGINS) $(D)/lib/pmlua/plugins/
	install -m 644 $(B)/libpmlua.a $(D)/lib/
	install -m 755 $(B)/lua/pmlua/core.so $(D)/lib/lua/$(LUAVER)/pmlua/
	$(if $(INSTRUMENT_SO),install -m 755 $(INSTRUMENT_SO) $(D)/lib/lua/$(LUAVER)/pmlua/)
	$(if $(CLANG_SO),install -m 755 $(CLANG_SO) $(D)/lib/lua/$(LUAVER)/pmlua/)
	$(if $(WORK_SO),install -m 755 $(WORK_SO) $(D)/lib/pmlua/workloads/)
	$(if $(COUNTED_SO),install -d $(D)/lib/pmlua/workloads/counted && install -m 755 $(COUNTED_SO) $(D)/lib/pmlua/workloads/counted/)
	install -d $(D)/lib/pmlua/compat $(D)/include/pmlua/compat
	install -m 755 $(B)/compat/libsde.so.1.0 $(D)/lib/pmlua/compat/
	ln -sf libsde.so.1.0 $(D)/lib/pmlua/compat/libsde.so.1
	ln -sf libsde.so.1 $(D)/lib/pmlua/compat/libsde.so
	install -m 644 $(B)/compat/libsde.a $(D)/lib/pmlua/compat/
	install -m 644 core/compat/include/* $(D)/include/pmlua/compat/
	install -d $(D)/include/pmlua/scorep/scorep
	install -m 644 core/compat/scorep/include/scorep/*.h $(D)/include/pmlua/scorep/scorep/
	$(call scorep_config,$(D)/lib/pmlua/compat/scorep-config,$(PREFIX)/include/pmlua/scorep)
	install -m 755 $(B)/compat/libPM.so $(D)/lib/pmlua/compat/
	install -m 644 $(B)/compat/libPM.a $(D)/lib/pmlua/compat/
	ln -sf libPM.so $(D)/lib/pmlua/compat/libPMmpi.so
	ln -sf libPM.a $(D)/lib/pmlua/compat/libPMmpi.a
	install -d $(D)/include/pmlua/pmlib
	install -m 644 core/compat/pmlib/include/* $(D)/include/pmlua/pmlib/
	for f in $(filter core/%.h,$(shell $(CC) -D_GNU_SOURCE -MM -Icore core/pml.h)); do \
	  install -D -m 644 $$f $(D)/include/pmlua/$${f#core/} || exit 1; done
	install -m 644 core/adapter/pml_section.hpp core/adapter/pml_section.F90 $(D)/include/pmlua/adapter/
	install -m 644 bindings/pmlua.h $(D)/include/pmlua/
	(cd lua && find . -name '*.lua') | while read f; do install -D -m 644 lua/$$f $(D)/share/pmlua/lua/$$f; done
	ln -sfn ../../pmlua/lua/pmlua $(D)/share/lua/$(LUAVER)/pmlua
	(cd scripts && find . -type f) | while read f; do install -D -m 644 scripts/$$f $(D)/share/pmlua/scripts/$$f; done
	install -m 644 plots/*.gp $(D)/share/pmlua/plots/
	install -m 644 bindings/pmlua.1 $(D)/share/man/man1/
	install -m 644 README.md CHANGELOG.md LICENSE $(D)/share/doc/pmlua/
	for p in pmlua pmlua-embed; do \
	  sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' bindings/$$p.pc.in >$(D)/lib/pkgconfig/$$p.pc || exit 1; done

.PHONY: clean help
clean: ## remove build/
	rm -rf $(B)
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20
