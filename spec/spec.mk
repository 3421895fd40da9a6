# SPDX-License-Identifier: BSD-3-Clause
# spec/spec.mk - the C specs, and the parts of the check, which also run alone.

SPEC_SRC := $(wildcard spec/c/*.c)
BENCH_SRC := $(wildcard spec/bench/*.c)
ALL_C := $(wildcard core/*.h core/*/*.[ch] core/*/*/*.[ch] core/*/*/*/*.h core/*/*/*/*.c \
  bindings/*.[ch] bindings/*.hpp bindings/*/*.[ch] bindings/*/*.cpp scripts/programs/*.cpp spec/c/intercept/*.cpp spec/c/substrates/*.cpp \
  scripts/workloads/*.[ch] scripts/workloads/*/*.[ch] scripts/programs/*.[ch] scripts/programs/*/*.[ch] scripts/plugins/*.c \
  spec/c/*.[ch] spec/c/intercept/*.[ch] spec/c/wrap/*.[ch] spec/c/plugins/*.c spec/c/plugins/*.cpp spec/c/substrates/*.[ch] \
  spec/lua/wrap/*.[ch] spec/lua/wrap/*.[ch]pp spec/lua/wrap/*.cc spec/lua/sim/*.c spec/fuzz/*.[ch] spec/bench/*.[ch] spec/bench/scale/*.c spec/bench/count/*.[ch] spec/lua/count/*.[ch] spec/wrap/*.c spec/pmlib/*.c spec/pmlib/*.cpp)
SPEC_BIN := $(SPEC_SRC:spec/c/%.c=$(B)/spec/%)

# C specs see the internals, so they link the static library; -rdynamic lets dlsym find their symbols.
# A spec that needs more of the linker says so in its head: " * Link: FLAGS".
link_of = $(shell sed -n 's/^ \* Link: //p' $(1))
.PRECIOUS: $(B)/spec/%.o
$(B)/spec/%.o: spec/c/%.c
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(filter -f%,$(call link_of,$<)) -c $< -o $@
$(B)/spec/%: $(B)/spec/%.o $(B)/libpmlua.a
	$(CC) $(SAN) $(LDFLAGS) -rdynamic $(call link_of,spec/c/$*.c) $< $(B)/libpmlua.a $(CORE_LIBS) -o $@

FOREIGN_OBJ := $(filter $(B)/obj/core/adapter/foreign/%,$(RECORD_OBJ))
# The drop-in for libsde and the annotation interfaces are in it, too.
$(B)/spec/cost: spec/c/cost.c $(SDE_OBJ) $(FOREIGN_OBJ) $(B)/libpmlua.a | $(B)/libpmlua_count.so
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LDFLAGS) -rdynamic $< $(SDE_OBJ) $(FOREIGN_OBJ) $(B)/libpmlua.a $(CORE_LIBS) -o $@

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
$(B)/spec/instrument_cfg: spec/c/instrument_cfg.c $(B)/obj/core/instrument/instrument_cfg.o $(B)/obj/core/instrument/instrument_plan.o
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LDFLAGS) $(filter %.c %.o,$^) -o $@

# Specs of the service see its internals, as that of a source does, which Lua reads; embed is compiled and linked as an
# application is.
link_lua = $(CC) $(ALLCFLAGS) -Ibindings $(LUA_CFLAGS) $(LDFLAGS) -rdynamic $(call link_of,$<) $< $(B)/libpmlua_lua.a $(B)/libpmlua.a $(CORE_LIBS) $(LUA_LIBS) -o $@
$(B)/spec/live_%: spec/c/live_%.c $(B)/libpmlua_lua.a $(B)/libpmlua.a
	@mkdir -p $(@D)
	$(link_lua)
$(B)/spec/source_toy: spec/c/source_toy.c $(B)/libpmlua_lua.a $(B)/libpmlua.a
	@mkdir -p $(@D)
	$(link_lua)
$(patsubst spec/c/%.c,$(B)/spec/%,$(wildcard spec/c/embed*.c)): $(B)/spec/%: spec/c/%.c $(B)/libpmlua-embed.so
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) -Ibindings $(LUA_CFLAGS) $(LDFLAGS) $< -Wl,-rpath,'$$ORIGIN/..' -L$(B) -lpmlua-embed -lpmlua $(LUA_LIBS) -o $@

BENCH_OBJ := $(BENCH_SRC:%.c=$(B)/obj/%.o)
$(B)/bench: $(BENCH_OBJ) $(FOREIGN_OBJ) $(B)/libpmlua.a
	$(CC) $(SAN) $(LDFLAGS) -rdynamic $(BENCH_OBJ) $(FOREIGN_OBJ) $(B)/libpmlua.a $(CORE_LIBS) -o $@

# Logs of very large jobs, for what reads them.
$(B)/spec/logs: spec/bench/scale/logs.c core/record/log/pml_log_format.h
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LDFLAGS) $< -o $@

.PHONY: specs
specs: $(SPEC_BIN) $(B)/spec/logs

-include $(SPEC_BIN:=.d) $(BENCH_OBJ:.o=.d)

# --- parts of the check, also alone -----------------------------------------------------------------------------------

# A file that passed is read again only after it, a header of it or the rules have changed.
LINT_JOBS = $(shell nproc)
TIDY_SRC = $(CORE_SRC) $(COUNT_SRC) $(SDE_SRC) $(PM_SRC) $(LIVE_SRC) $(RECORD_SRC) $(MEMORY_SRC) $(WATCHPOINT_SRC) $(SIMULATE_SRC) bindings/command/main.c bindings/command/compiled.c $(BIND_SRC) \
  $(if $(CLANG_INC),$(CLANG_SRC)) $(if $(LLVMS),bindings/instrument/instrument.c $(INSTRUMENT_SRC)) $(WORK_SRC)
TIDY_FLAGS = -std=c11 -D_GNU_SOURCE -Icore -Ibindings $(LUA_CFLAGS) $(CLANG_INC:%=-isystem %) $(LLVM_CFLAGS)
.PHONY: lint lint-build lint-format lint-lua lint-cppcheck lint-tidy fmt abi-dump abi abi-check mutants layers messages prose asan asan-build tsan tsan-build bench bench-scale soak
lint: lint-format lint-lua lint-build lint-cppcheck lint-tidy ## compilers' warnings as errors, clang-tidy, cppcheck, luacheck, format
lint-format:
	@clang-format --dry-run -Werror $(ALL_C)
lint-lua:
	@luacheck -q lua scripts spec docs packaging
# For warnings only: without debug information, and without what g++ compiles; specs are parsed.
lint-build:
	@$(MAKE) --no-print-directory -s CC=clang B=$(B)/clang OPT=-O1 CFLAGS= INSTRUMENT_PLUGIN= all
	@clang -fsyntax-only -std=c11 -D_GNU_SOURCE -O1 $(WARN) -Icore -Ibindings -Iscripts/workloads $(LUA_CFLAGS) $(SPEC_SRC)
lint-cppcheck:
	@mkdir -p $(B)/cppcheck
	@cppcheck -q -j$(LINT_JOBS) --cppcheck-build-dir=$(B)/cppcheck --std=c11 --language=c --error-exitcode=1 --inline-suppr --suppress=missingIncludeSystem \
	  --enable=warning,performance,portability -D__x86_64__ -Icore -Ibindings core $(wildcard bindings/*.c bindings/*/*.c) scripts/workloads $(wildcard scripts/programs/*.[ch] scripts/programs/*/*.[ch])
lint-tidy:
	@$(MAKE) --no-print-directory -s -k -j$(LINT_JOBS) $(TIDY_SRC:%.c=$(B)/tidy/%.ok)
$(B)/tidy/%.ok: %.c .clang-tidy | $$(@D)/.
	@clang-tidy --quiet $< -- $(TIDY_FLAGS) >$(@:.ok=.log) 2>&1 || { cat $(@:.ok=.log); exit 1; }
	@$(CC) $(TIDY_FLAGS) -MM -MP -MT $@ $< -MF $(@:.ok=.d) && touch $@
-include $(patsubst %.ok,%.d,$(filter $(B)/tidy/%,$(MAKECMDGOALS)))
fmt: ## format the C sources
	clang-format -i $(ALL_C)
mutants: $(B)/libpmlua.a ## broken readers, one line each: every one must be caught
	@PMLUA_BUILD=$(B) $(LUA) spec/mutants.lua
SEED ?= 1
COUNT ?= 20
mutants-draw: all specs ## break COUNT lines that SEED draws from the files IN, name the spec that notices each, or none, and count them
	@$(LUA) spec/mutants_draw.lua $(SEED) $(COUNT) $(IN) $(if $(SECONDS),seconds=$(SECONDS)) $(if $(ALIVE),alive=$(ALIVE)) $(if $(MAP),map=$(MAP))
# What libpmlua.so, libpmlua-read.so and libpmlua-embed.so export to their users, with the types in their headers; abidw cannot
# leave out the symbols of one version, so the former two are linked without those of PMLUA_PRIVATE.
ABI := $(B)/abi
abi-dump: $(B)/libpmlua-read.so $(B)/libpmlua-embed.so
	@rm -rf $(ABI) && mkdir -p $(ABI)/include && cp $(PUBLIC_H) bindings/pmlua.h $(ABI)/include
	@sed 's/^PMLUA_PRIVATE { global: pml_\*;/PMLUA_PRIVATE {/; /^VERSION/d' $(B)/libpmlua.map >$(ABI)/pmlua.map
	@sed 's/^PMLUA_PRIVATE { global: pml_\*;/PMLUA_PRIVATE {/' $(B)/libpmlua-read.map >$(ABI)/pmlua-read.map
	@$(call link_pmlua,$(ABI)/pmlua.map,$(ABI)/libpmlua.so)
	@$(call link_read,$(ABI)/pmlua-read.map,$(ABI)/libpmlua-read.so)
	@cp $(B)/libpmlua-embed.so $(ABI)
	@for l in pmlua pmlua-read pmlua-embed; do abidw --headers-dir $(ABI)/include --drop-private-types --exported-interfaces-only --drop-undefined-syms \
	  --type-id-style hash --out-file $(ABI)/$$l.xml $(ABI)/lib$$l.so && $(LUA) spec/abi.lua $(ABI)/$$l.xml >$(ABI)/$$l.abi || exit 1; done
abi: abi-dump ## record symbols, sizes and offsets in spec/data/*.abi; within a major version only additions are recorded
	@for l in pmlua pmlua-read pmlua-embed; do gone=$$(grep -vxFf $(ABI)/$$l.abi spec/data/$$l.abi); \
	  if [ -n "$$gone" ] && grep -q '@@PMLUA_$(MAJOR) ' spec/data/$$l.abi; then \
	    printf 'lib%s.so: these stay within a major version:\n%s\n' $$l "$$gone"; exit 1; fi; done
	@cp $(ABI)/*.abi spec/data/
abi-check: abi-dump ## the binary interface is the recorded one
	@for l in pmlua pmlua-read pmlua-embed; do diff -u spec/data/$$l.abi $(ABI)/$$l.abi || { echo "lib$$l.so: another binary interface; make abi records it"; exit 1; }; done
messages: ## every sentence that a user can see, with its place
	@$(LUA) spec/messages.lua
prose: ## sentences of comments and documentation in unclear English, and a count per folder
	@$(LUA) spec/prose.lua
layers: ## dependencies run one way, by includes and by symbols (what is built)
	@$(LUA) spec/layers.lua
	@PMLUA_BUILD=$(B) $(LUA) spec/objects.lua
	@PMLUA_BUILD=$(B) $(LUA) spec/hot.lua
asan: asan-build ## the C specs and the Lua specs under AddressSanitizer and UBSan
	$(call run_specs,asan)
asan-build:
	@$(MAKE) --no-print-directory -s B=$(B)/asan OPT=-O1 SAN="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer" all specs
tsan: tsan-build ## the C specs with threads under ThreadSanitizer
	$(call run_specs,tsan)
tsan-build:
	@$(MAKE) --no-print-directory -s B=$(B)/tsan OPT=-O1 CFLAGS=-g1 SAN=-fsanitize=thread \
	  $(patsubst spec/c/%.c,$(B)/tsan/spec/%,$(shell grep -lE 'pthread_|not a spec by itself' spec/c/*.c))
bench: all $(B)/bench ## each figure beside its limit and its peer, in one run
	@$(B)/bench
	@$(B)/pmlua spec/bench/reader.lua
	@$(B)/pmlua spec/bench/count.lua
	@$(B)/pmlua spec/bench/cells.lua
	@$(B)/pmlua spec/bench/live.lua
	@$(B)/pmlua spec/bench/trace.lua
bench-scale: all $(B)/spec/logs ## how time and memory grow with depth, cells, events, labels and the like; what a report costs for a rank, from 100 ranks to 100,000 (3 GB in TMPDIR for a while)
	@$(B)/pmlua spec/bench/growth.lua
	@PMLUA_BUILD=$(B) $(B)/pmlua spec/bench/scale.lua

SOAK_SECONDS ?= 600
SOAKS := soak live_threads buffer count_threads
soak: ## threads, traces, forks, questions at random with sums that must add up: SOAK_SECONDS, half of them under ThreadSanitizer
	@$(MAKE) --no-print-directory -s $(SOAKS:%=$(B)/spec/%)
	@$(MAKE) --no-print-directory -s -j2 B=$(B)/tsan OPT=-O1 SAN=-fsanitize=thread $(SOAKS:%=$(B)/tsan/spec/%)
	@for s in $(SOAKS:%=$(B)/spec/%) $(SOAKS:%=$(B)/tsan/spec/%); do SOAK_SECONDS=$$(($(SOAK_SECONDS) / 4)) $$s || exit 1; done
