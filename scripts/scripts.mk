# SPDX-License-Identifier: BSD-3-Clause
# scripts/scripts.mk - what experiments run and measure: workloads, programs, plugins.

WORK_SRC := $(wildcard scripts/workloads/*.c scripts/workloads/*/*.c)
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
COUNTED_CLANG := $(if $(SAN),,$(firstword $(foreach n,$(LLVMS),$(shell command -v clang-$n 2>/dev/null))))
COUNTED_SRC := $(filter-out %/workload.c %/team.c,$(wildcard scripts/workloads/kernels/*.c))
COUNTED_SO := $(if $(COUNTED_CLANG),$(B)/workloads/counted/kernels_source.so $(B)/workloads/counted/kernels_final.so)

all: $(WORK_SO) $(PROGRAMS) $(OWN_PLUGINS) $(COUNTED_SO)

# They know nothing of pmlua, and have debug information. ThreadSanitizer does not know OpenMP's barriers.
$(PROGRAMS): $(B)/programs/%: scripts/programs/%.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -O2 -g $(WARN) $(filter-out -fsanitize=thread,$(SAN)) -fopenmp $< -o $@

# What is linked with a shared library needs it to be there, and anew only where a header changed.
$(WORK_ONE): $(B)/workloads/%.so: scripts/workloads/%.c | $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $< -L$(B) -lpmlua -lm -o $@

$(WORK_ALL): $(B)/workloads/%.so: $$(call work_obj,$$*) | $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' $(call work_obj,$*) -L$(B) -lpmlua \
	  $(WORK_LIBS_$*) -lm -o $@

$(COUNTED_SO): $(B)/workloads/counted/kernels_%.so: $(COUNTED_SRC) $(wildcard scripts/workloads/kernels/*.h) \
  $(filter %/workload.o %/team.o,$(call work_obj,kernels)) $(INSTRUMENT_SO) $(INSTRUMENT_PLUGIN) \
  | $(B)/pmlua $(B)/libpmlua_count.so $(B)/lua/pmlua/core.so
	@mkdir -p $(B)/obj/counted/$* $(@D)
	@for s in $(COUNTED_SRC); do $(B)/pmlua cc --count --at=$* -- $(COUNTED_CLANG) -std=c11 -D_GNU_SOURCE $(OPT) -fPIC \
	  -fvisibility=hidden -fno-math-errno -DKERNELS_COUNTED -Icore -c $$s -o $(B)/obj/counted/$*/$$(basename $$s .c).o || exit 1; done
	$(CC) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN/../..:$$ORIGIN/../../..' $(filter %.o,$^) \
	  $(COUNTED_SRC:scripts/workloads/kernels/%.c=$(B)/obj/counted/$*/%.o) -L$(B) -lpmlua -lpmlua_count -lm -o $@

# Metric plugins, built as others build theirs: by what scorep-config says.
plugin_cc = @mkdir -p $(@D) && $(1) $(OPT) $(CFLAGS) -Wall -Wextra -Werror $(SAN) -fPIC -shared $(LDFLAGS) \
  $$($(B)/scorep-config --user --cppflags) $(2) $< $$($(B)/scorep-config --user --libs) -lpthread -o $@
$(filter-out %/libwatchpoint.so,$(OWN_PLUGINS)): $(B)/plugins/lib%.so: scripts/plugins/%.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-Wno-cast-function-type)
$(B)/plugins/libwatchpoint.so: scripts/plugins/watchpoint.c core/program/pml_watchpoint_plan.h $(B)/scorep-config | $(B)/libpmlua.so
	$(call plugin_cc,$(CC) -std=gnu11,-D_GNU_SOURCE -Icore) -L$(B) -lpmlua -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..'

-include $(WORK_ONE:.so=.d) $(WORK_SRC:%.c=$(B)/obj/%.d)
