# SPDX-License-Identifier: BSD-3-Clause
# bindings/instrument/instrument.mk - counters for LLVM's IR: for each LLVM that is here, a module of its own that reads
# bitcode, and a plugin of its clang.

# (make drops what a shell said that ends with 127, as command -v does.)
LLVMS := $(shell for n in 14 15 16 17 18 19; do c=$$(command -v llvm-config-$$n) && [ -e $$($$c --includedir)/llvm-c/Core.h ] && echo $$n; done; :)
INSTRUMENT_SRC := core/source/compiler/pml_count_cells.c $(wildcard core/instrument/instrument*.c)
INSTRUMENT_SO := $(LLVMS:%=$(B)/lua/pmlua/instrument-%.so)
INSTRUMENT_PLUGIN := $(if $(SAN),,$(if $(shell command -v $(CXX) 2>/dev/null),$(LLVMS:%=$(B)/preload/libpmlua-instrument-%.so)))
llvm_cflags = -isystem $(shell llvm-config-$(1) --includedir) -DPML_LLVM_MAJOR=$(1) -DPML_LLVM_VERSION=$(shell llvm-config-$(1) --version)
LLVM_CFLAGS = $(if $(LLVMS),$(call llvm_cflags,$(firstword $(LLVMS))))

all: $(INSTRUMENT_SO) $(INSTRUMENT_PLUGIN)

# The plugin's symbols of LLVM are those of the compiler that loads it. Of it, lines are enough of debug information: describing
# LLVM's classes takes a quarter of its compilation, which is the longest of all. It does little itself, so -O1 is enough, too.
define instrumenter
INSTRUMENT_OBJ_$(1) := $(INSTRUMENT_SRC:%.c=$(B)/obj/llvm-$(1)/%.o)
$(B)/obj/llvm-$(1)/%.o: %.c | $$$$(@D)/.
	$$(CC) $$(ALLCFLAGS) $$(LUA_CFLAGS) $(call llvm_cflags,$(1)) -c $$< -o $$@
$(B)/lua/pmlua/instrument-$(1).so: $(B)/obj/llvm-$(1)/bindings/instrument/instrument.o $$(INSTRUMENT_OBJ_$(1))
	@mkdir -p $$(@D)
	$$(CC) $$(SAN) $$(LDFLAGS) $$(HARDEN_LD) -shared $$^ $$$$(llvm-config-$(1) --ldflags --libs --link-shared) -o $$@
$(B)/preload/libpmlua-instrument-$(1).so: bindings/instrument/instrument_plugin.cpp core/instrument/instrument.h $$(INSTRUMENT_OBJ_$(1))
	@mkdir -p $$(@D)
	$$(CXX) -std=c++17 $$(patsubst -O2,-O1,$$(OPT)) $$(patsubst -g,-g1,$$(CFLAGS)) -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -Icore \
	  $(call llvm_cflags,$(1)) -D_GNU_SOURCE $$(LDFLAGS) $$(HARDEN_LD) -shared $$(filter-out %.h,$$^) -o $$@
-include $$(INSTRUMENT_OBJ_$(1):.o=.d) $(B)/obj/llvm-$(1)/bindings/instrument/instrument.d
endef
$(foreach n,$(LLVMS),$(eval $(call instrumenter,$(n))))
