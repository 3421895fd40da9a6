# pmlua - `make run` shows the first experiment, `make check` runs the specs; `make help` lists the rest.

PREFIX  ?= /usr/local
DESTDIR ?=
B       ?= build
# One goal is built on all cpus; several, as in `make clean all`, one after the other.
ifeq ($(MAKELEVEL)$(filter-out 0 1,$(words $(MAKECMDGOALS))),0)
MAKEFLAGS += -j$(shell nproc)
endif
CC      ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif

VERSION := $(shell sed -n 's/^.define PML_VERSION_[A-Z]* \([0-9]*\)$$/\1/p' core/base/pml_api.h | paste -sd.)
MAJOR   := $(firstword $(subst ., ,$(VERSION)))

LUA        ?= lua5.4
LUA_CFLAGS := $(shell pkg-config --cflags lua5.4 2>/dev/null)
LUA_LIBS   := $(shell pkg-config --libs lua5.4 2>/dev/null)

WARN      := -Wall -Wextra -Wconversion -Wmissing-prototypes -Wshadow -Werror
OPT       ?= -O2
# Of cold code, which takes a sixth less time to compile. gcc finds some mistakes only where it follows the ranges of values,
# aliases and the lengths of strings.
GCC       := $(shell $(CC) -v 2>&1 | grep '^gcc')
COLD_OPT  := $(patsubst -O2,-O1 $(if $(GCC),-ftree-vrp -fstrict-aliasing -foptimize-strlen),$(OPT))
CFLAGS    ?= -g
# As Debian builds its packages; a position-independent command and bind-now on top. Sanitizers see more than FORTIFY.
# CET stays off: return slots and loader hooks replace return addresses, so that these libraries must not be marked as fit for a shadow
# stack; Linux has no indirect branch tracking for programs, and its endbr64 would be an instruction more in each hot path.
# Only what is shipped: workloads are measured as they are, and specs need libraries that are bound lazily, too.
HARDEN    := -fstack-protector-strong
FORTIFY    = $(if $(SAN)$(filter -O0,$(OPT)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN_LD := -Wl,-z,relro -Wl,-z,now
# Each mapping of what is preloaded into programs is copied by each fork of theirs: code and constants share one.
DENSE_LD  := -Wl,-z,noseparate-code
ALLCFLAGS  = -std=c11 -D_GNU_SOURCE $(OPT) $(CFLAGS) $(WARN) $(SAN) -fPIC -fvisibility=hidden -Icore -MMD -MP

# Each part stands beside what it builds, and adds to `all` what is for users.
.DEFAULT_GOAL := all
.PHONY: all
# A folder is made once, not before each file in it.
.SECONDEXPANSION:
.PRECIOUS: %/.
%/.:
	@mkdir -p $@
include core/core.mk bindings/bindings.mk bindings/instrument/instrument.mk scripts/scripts.mk
include packaging/packaging.mk spec/spec.mk spec/c/intercept/intercept.mk spec/c/plugins/plugins.mk spec/fuzz/fuzz.mk spec/arm/arm.mk

$(B)/obj/%.o: %.c | $$(@D)/.
	$(CC) $(ALLCFLAGS) $(LUA_CFLAGS) -c $< -o $@

$(B)/obj/core/%.o $(B)/obj/bindings/%.o $(B)/obj/llvm-%.o: ALLCFLAGS += $(HARDEN) $(FORTIFY)
include core/hot.mk
$(HOT:%.c=$(B)/obj/%.o): HARDEN := -fno-stack-protector
$(HOT:%.c=$(B)/obj/%.o): FORTIFY :=

# What runs once, or when somebody asks. Not what reads and writes logs and traces, which may be large.
COLD := $(filter-out $(HOT),$(wildcard bindings/*.c bindings/*/*.c core/program/*.c core/source/kernel/event/*.c core/source/plugin/*.c \
  core/source/simulation/*.c $(addprefix core/preload/,live.c exec.c confine.c rights.c record_plugins.c simulate.c watchpoint.c)))
$(COLD:%.c=$(B)/obj/%.o): OPT := $(COLD_OPT)

# What runs while vector registers are somebody's who has not saved them.
$(B)/obj/%_gpr.o: ALLCFLAGS += -mgeneral-regs-only
# Consumers' part of that also leaves r8 to r11 alone, where the compiler can be told so: then an intercepted call saves five
# registers. Not with sanitizers, whose functions are compiled otherwise.
SPARED := $(if $(SAN),,$(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),$(if $(GCC),r8 r9 r10 r11)))
SPARING := $(filter-out core/adapter/arch/%,$(filter %_gpr.c,$(CORE_SRC)))
$(SPARING:%.c=$(B)/obj/%.o): ALLCFLAGS += $(SPARED:%=-fcall-saved-%)
ALLCFLAGS += $(if $(SPARED),-DPML__SPARING=1)

$(B)/obj/%.o: %.S | $$(@D)/.
	$(CC) $(CFLAGS) $(ASM_CFLAGS) -Icore -MMD -MP -c $< -o $@
# Each of the return slots' 200,000 instructions would have a line of its own.
$(B)/obj/core/adapter/arch/%/slots.o: ASM_CFLAGS := -g0

# --- the two commands of a newcomer -----------------------------------------------------------------------------------

RUN_DEPS   := pkg-config lua5.4 liblua5.4-dev libdw-dev libpfm4-dev libotf2-trace-dev zlib1g-dev lua-filesystem lua-cjson lua-zlib libreadline8 gnuplot-nox graphviz
# Debian's Python has its own tests apart, by its version.
PYTHON_TESTS := $(patsubst %,lib%-testsuite,$(shell readlink /usr/bin/python3))
CHECK_DEPS := lua-socket g++ libtbb-dev libluajit-5.1-dev liblua5.1-0-dev liblua5.3-dev lua-busted otf2-tools python3-otf2 python3-six protobuf-compiler clang libomp-dev valgrind man-db cmark-gfm libclang-dev llvm-14-dev \
  gfortran openmpi-bin libopenmpi-dev mpich libmpich-dev sqlite3 git $(PYTHON_TESTS)
CHECK_ALL_DEPS := abigail-tools lua-check clang-format clang-tidy cppcheck gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static libclang-rt-14-dev \
  curl gpg libfftw3-dev libgmp-dev luarocks debhelper chrpath lintian mmdebstrap llvm-16-dev clang-16 flang-16 \
  chromium-headless-shell python3-pandas python3-matplotlib r-base-core
WRAP_DEPS := libopenblas-dev petsc-dev qtbase5-dev

# $(call need,PACKAGES): install what is missing. Who may not gets the command for an administrator, and goes on with what is there.
define need
@missing=; for p in $(1); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
if [ -z "$$missing" ]; then exit 0; fi; \
if ! command -v apt-get >/dev/null 2>&1; then \
  echo "pmlua uses these packages (Debian's names; install what your system calls them):$$missing" >&2; exit 0; fi; \
if [ "$$(id -u)" = 0 ]; then as=; elif command -v sudo >/dev/null 2>&1 && sudo -v 2>/dev/null; then as=sudo; else \
  echo "an administrator can install what is missing: apt-get install$$missing" >&2; exit 0; fi; \
echo "installing:$$missing"; export DEBIAN_FRONTEND=noninteractive; \
$$as apt-get update -qq && $$as apt-get install -y -qq --no-install-recommends $$missing >/dev/null
endef

.PHONY: deps deps-check deps-check-all run check check-all check-load check-wrap
deps: ## install the missing Debian packages that building and running need
	$(call need,$(RUN_DEPS))
deps-check: deps
	$(call need,$(CHECK_DEPS))
deps-check-all: deps-check
	$(call need,$(CHECK_ALL_DEPS))

# A second make, because what pkg-config answers is read when make starts.
build = @packaging/build.sh $(B)/build.log $(MAKE) --no-print-directory $(1)
build_specs = $(build) || { echo "failed: the build"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
run: deps ## set up, build, run the first experiment; ARGS="--quick" makes it short
	$(call build,all)
	$(B)/pmlua scripts/read_overhead.lua $(ARGS)
	@echo; echo "next: $(B)/pmlua doctor (what works on this machine), $(B)/pmlua stat -- COMMAND, make install"

# Programs that specs run get no jobserver of this make.
run_specs = @env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL PMLUA_BUILD=$(B) $(LUA) spec/check.lua $(1) $(if $(ONLY),'ONLY=$(ONLY)')
check: deps-check ## set up, build, run the specs, some minutes; ONLY=PATTERN runs those whose name matches, such as ONLY=lua/choose
	$(call build_specs,all specs $(B)/bench)
	$(call run_specs,layers c costs busted)
check-all: deps-check-all ## what make check leaves out: slow specs, mutants, fuzz targets, sanitizers, lint, the binary interface; ONLY=PATTERN as there
	$(call build_specs,all specs asan-build tsan-build fuzz-build)
	$(call run_specs,lint abi slow mutants fuzz asan tsan)
check-load: deps-check ## make check beside two busy loops and a live program of another user: what is unsteady is named
	$(call build_specs,all specs $(B)/bench)
	$(call run_specs,load layers c costs busted)
check-wrap: deps-check ## the recipes of large libraries: OpenBLAS, PETSc and Qt 5 are installed, wrapped and checked, which takes minutes
	$(call need,$(WRAP_DEPS))
	$(call build_specs,all)
	$(call run_specs,wrap)

# --- installing -------------------------------------------------------------------------------------------------------

LUAVER := 5.4
STATIC ?= yes
.PHONY: install uninstall stage
install: all man ## PREFIX (default /usr/local), DESTDIR for packagers; STATIC=no leaves the static libraries out
	@packaging/place.sh check "$(DESTDIR)$(PREFIX)"
	@stage=$$(mktemp -d) && trap 'rm -rf "$$stage"' EXIT && chmod 755 "$$stage" && \
	$(MAKE) --no-print-directory --silent stage D="$$stage" && packaging/place.sh install "$$stage" "$(DESTDIR)$(PREFIX)"
	$(if $(DESTDIR),,@packaging/place.sh advise "$(PREFIX)")
uninstall: ## remove what make install put below PREFIX, and nothing else
	packaging/place.sh uninstall "$(DESTDIR)$(PREFIX)"

# Of many files, with their folders: one process, not one for each.
pack := tar -cf - --mode=u=rw,go=r -T -
unpack = (umask 022 && tar -xf - --no-same-owner -C $(1))
# All of an installation, into the folder D, which is empty.
stage:
	install -d "$(D)"/bin "$(D)"/lib/pkgconfig "$(D)"/lib/pmlua/workloads "$(D)"/lib/lua/$(LUAVER)/pmlua "$(D)"/share/lua/$(LUAVER) "$(D)"/share/man/man1 "$(D)"/share/man/man3 \
	  "$(D)"/share/pmlua/scripts/workloads "$(D)"/share/pmlua/plots "$(D)"/share/doc/pmlua
	install -m 755 $(B)/pmlua "$(D)"/bin/
	install -m 755 $(B)/$(SONAME) "$(D)"/lib/
	ln -sf $(SONAME) "$(D)"/lib/libpmlua.so
	install -m 755 $(B)/$(READ_SONAME) "$(D)"/lib/
	ln -sf $(READ_SONAME) "$(D)"/lib/libpmlua-read.so
	install -m 755 $(B)/$(COUNT_SONAME) "$(D)"/lib/
	ln -sf $(COUNT_SONAME) "$(D)"/lib/libpmlua_count.so
	install -m 644 $(B)/libpmlua_count.a "$(D)"/lib/
	install -m 755 $(B)/$(EMBED_SONAME) "$(D)"/lib/
	ln -sf $(EMBED_SONAME) "$(D)"/lib/libpmlua-embed.so
	install -d "$(D)"/lib/pmlua/preload
	install -m 755 $(B)/preload/libpmlua-live.so $(B)/preload/libpmlua-record.so $(B)/preload/libpmlua-watchpoint.so \
	  $(B)/preload/libpmlua-simulate.so $(LUA_SO) $(B)/preload/pmlua-starter "$(D)"/lib/pmlua/preload/
	ln -sf libpmlua-live.so "$(D)"/lib/pmlua/preload/libsde.so
	install -D -m 755 $(CALIPER_SO) "$(D)"/lib/pmlua/preload/libcaliper.so.2/libcaliper.so.2
	install -D -m 755 $(PYTHON_SO) "$(D)"/lib/pmlua/preload/python/sitecustomize.so
	$(if $(MPI_SHIM_SO),install -m 755 $(MPI_SHIM_SO) "$(D)"/lib/pmlua/preload/)
	install -d "$(D)"/lib/pmlua/programs
	install -m 755 $(PROGRAMS) "$(D)"/lib/pmlua/programs/
	install -d "$(D)"/lib/pmlua/plugins
	install -m 755 $(OWN_PLUGINS) "$(D)"/lib/pmlua/plugins/
	install -m 644 $(B)/libpmlua.a "$(D)"/lib/
	install -m 755 $(B)/lua/pmlua/core.so "$(D)"/lib/lua/$(LUAVER)/pmlua/
	$(if $(INSTRUMENT_SO),install -m 755 $(INSTRUMENT_SO) "$(D)"/lib/lua/$(LUAVER)/pmlua/)
	$(if $(INSTRUMENT_PLUGIN),install -m 755 $(INSTRUMENT_PLUGIN) "$(D)"/lib/pmlua/preload/)
	$(if $(CLANG_SO),install -m 755 $(CLANG_SO) "$(D)"/lib/lua/$(LUAVER)/pmlua/)
	$(if $(WORK_SO),install -m 755 $(WORK_SO) "$(D)"/lib/pmlua/workloads/)
	$(if $(COUNTED_SO),install -d "$(D)"/lib/pmlua/workloads/counted && install -m 755 $(COUNTED_SO) "$(D)"/lib/pmlua/workloads/counted/)
	install -d "$(D)"/lib/pmlua/compat "$(D)"/include/pmlua/compat
	install -m 755 $(B)/compat/libsde.so.1.0 "$(D)"/lib/pmlua/compat/
	ln -sf libsde.so.1.0 "$(D)"/lib/pmlua/compat/libsde.so.1
	ln -sf libsde.so.1 "$(D)"/lib/pmlua/compat/libsde.so
	install -m 644 $(B)/compat/libsde.a "$(D)"/lib/pmlua/compat/
	install -m 644 core/interface/sde/* "$(D)"/include/pmlua/compat/
	install -d "$(D)"/include/pmlua/scorep/scorep
	install -m 644 core/interface/scorep/*.h "$(D)"/include/pmlua/scorep/scorep/
	$(call scorep_config,"$(D)"/lib/pmlua/compat/scorep-config,$(PREFIX)/include/pmlua/scorep)
	install -m 755 $(B)/compat/libPM.so "$(D)"/lib/pmlua/compat/
	install -m 644 $(B)/compat/libPM.a "$(D)"/lib/pmlua/compat/
	ln -sf libPM.so "$(D)"/lib/pmlua/compat/libPMmpi.so
	ln -sf libPM.a "$(D)"/lib/pmlua/compat/libPMmpi.a
	install -d "$(D)"/include/pmlua/pmlib
	install -m 644 core/interface/pmlib/* "$(D)"/include/pmlua/pmlib/
	(cd core && printf '%s\n' $(patsubst core/%,%,$(PUBLIC_H) $(SHARED_H)) | $(pack)) | $(call unpack,"$(D)"/include/pmlua)
	install -m 644 core/adapter/section/pml_section.hpp core/adapter/section/pml_section.F90 "$(D)"/include/pmlua/adapter/section/
	cd "$(D)"/include/pmlua && for d in $$(find adapter base read record source substrate -type d); do up=$$(echo $$d | sed 's|[^/]*|..|g'); \
	  find $$d -maxdepth 1 -name '*.h*' -exec sed -i "s|^#include \"\([a-z]*/\)|#include \"$$up/\1|" {} + || exit 1; done
	install -m 644 bindings/pmlua.h bindings/pmlua.hpp "$(D)"/include/pmlua/
	install -d "$(D)"/share/pmlua/lua
	(cd lua && find . -name '*.lua' | $(pack)) | $(call unpack,"$(D)"/share/pmlua/lua)
	ln -sfn ../../pmlua/lua/pmlua "$(D)"/share/lua/$(LUAVER)/pmlua
	(cd scripts && find . -type f ! -name '*.mk' | $(pack)) | $(call unpack,"$(D)"/share/pmlua/scripts)
	install -m 644 plots/*.gp "$(D)"/share/pmlua/plots/
	install -m 644 $(B)/man/*.1 "$(D)"/share/man/man1/
	install -m 644 $(B)/man/*.3 "$(D)"/share/man/man3/
	install -d "$(D)"/share/bash-completion/completions "$(D)"/share/zsh/site-functions "$(D)"/share/fish/vendor_completions.d
	$(B)/pmlua completion bash >"$(D)"/share/bash-completion/completions/pmlua
	$(B)/pmlua completion zsh >"$(D)"/share/zsh/site-functions/_pmlua
	$(B)/pmlua completion fish >"$(D)"/share/fish/vendor_completions.d/pmlua.fish
	$(B)/pmlua help --markdown >"$(D)"/share/doc/pmlua/verbs.md
	install -m 644 README.md CHANGELOG.md LICENSE "$(D)"/share/doc/pmlua/
	$(B)/pmlua packaging/sbom.lua "$(D)" >"$(D)"/share/pmlua/sbom.cdx.json
	install -m 644 $(B)/libpmlua-embed.a "$(D)"/lib/
	install -d "$(D)"/lib/cmake/pmlua
	for f in pmlua-config pmlua-config-version; do \
	  sed 's|@VERSION@|$(VERSION)|' bindings/$$f.cmake.in >"$(D)"/lib/cmake/pmlua/$$f.cmake || exit 1; done
	for p in pmlua pmlua-embed; do \
	  sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' bindings/$$p.pc.in >"$(D)"/lib/pkgconfig/$$p.pc || exit 1; done
	$(if $(filter no,$(STATIC)),find "$(D)" -name '*.a' -delete)

# Pages are made from the tables of the verbs (lua/pmlua/internal/cli).
.PHONY: man
man: $(B)/pmlua ## the manual pages, into build/man: pmlua(1), one of each verb, and of each family of C functions
	@mkdir -p $(B)/man
	@$(B)/pmlua docs/manual.lua $(B)/man
	@$(B)/pmlua -e 'require "pmlua.internal.cli.man".write("bindings/pmlua.1", "$(B)/man")'

# --- documentation ----------------------------------------------------------------------------------------------------

.PHONY: docs
docs: $(B)/pmlua ## the site, into build/site, from docs/ and the reference
	rm -rf $(B)/site
	$(B)/pmlua docs/site.lua $(B)/site

.PHONY: gallery
gallery: $(B)/pmlua ## the figures of docs/gallery and their page, measured anew on this machine, over half an hour; QUICK=1: --quick runs, some minutes
	PMLUA_BUILD=$(B) QUICK=$(QUICK) $(LUA) docs/gallery.lua

.PHONY: docs-refresh
docs-refresh: all ## listings of the pages of docs as their commands print them now; ONLY=PATTERN: pages whose path matches
	@PMLUA_BUILD=$(B) $(LUA) -e 'package.path = "spec/?.lua;./?.lua;" .. package.path' \
	  -e 'os.exit(require "page".refresh_all "$(or $(ONLY),.)")'

.PHONY: architecture
architecture: ## the picture of ARCHITECTURE.md, from what the code includes; needs graphviz
	$(LUA) docs/architecture.lua >docs/architecture.dot
	dot -Tsvg docs/architecture.dot >docs/architecture.svg

# luarocks deploys each file of its folders lib/ and lua/ as a module, so all of pmlua stays in a folder of its own, and what
# is deployed leads there. A script that could be Lua (exec "a" "b") would be run as Lua: hence env.
.PHONY: install-rock
install-rock:
	$(MAKE) --no-print-directory install PREFIX="$(PREFIX)/pmlua"
	install -d "$(BINDIR)" "$(LUADIR)"
	printf '#!/bin/sh\nexec env "%s/pmlua/bin/pmlua" "$$@"\n' "$(PREFIX)" >"$(BINDIR)/pmlua"
	chmod 755 "$(BINDIR)/pmlua"
	sed 's|@PREFIX@|$(PREFIX)/pmlua|' bindings/rock.lua.in >"$(LUADIR)/pmlua.lua"

.PHONY: clean help
clean: ## remove build/
	rm -rf $(B)
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(filter-out %.d,$(MAKEFILE_LIST)) | expand -t 20
