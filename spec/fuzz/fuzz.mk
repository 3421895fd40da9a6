# SPDX-License-Identifier: BSD-3-Clause
# spec/fuzz/fuzz.mk - every parser under libFuzzer.

FUZZ_SRC := $(wildcard spec/fuzz/fuzz_*.c)
FUZZ_SECONDS ?= 60
PROOF_SECONDS ?= 120
FUZZ_TEXTS := $(shell $(LUA) -e 'for name in pairs(dofile "spec/fuzz/checks.lua".texts) do print(name) end')
FUZZ ?= $(filter-out text,$(FUZZ_SRC:spec/fuzz/fuzz_%.c=%)) $(FUZZ_TEXTS)
FUZZ_SAN := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
FUZZ_MAKE = $(MAKE) --no-print-directory -s -j2 CC=clang B=$(B)/fuzz OPT=-O1 CFLAGS=-g1 SAN="$(FUZZ_SAN)"
.PHONY: fuzz fuzz-build fuzz-proof
fuzz-build:
	@$(FUZZ_MAKE) $(FUZZ:%=$(B)/fuzz/fuzz_%)
fuzz: fuzz-build ## every parser under libFuzzer, FUZZ_SECONDS each (needs clang and libclang-rt-14-dev)
	@for n in $(FUZZ); do spec/fuzz/run.sh $(B)/fuzz fuzz_$$n $(FUZZ_SECONDS) || exit 1; done
fuzz-proof: ## every fuzz target finds the bug planted in it
	@$(FUZZ_MAKE) $(FUZZ:%=$(B)/fuzz/planted_%)
	@for n in $(FUZZ); do spec/fuzz/run.sh $(B)/fuzz planted_$$n $(PROOF_SECONDS) || exit 1; done

# $(call fuzz_build,FLAGS): archives give what a target asks for, so that each may be linked with all.
fuzz_build = $(CC) $(ALLCFLAGS) -fsanitize=fuzzer $(1) -I. -Ibindings -Iscripts/workloads $(LUA_CFLAGS) $(call link_of,$<) $< \
  $(B)/libpmlua_lua.a $(B)/libpmlua.a $(CORE_LIBS) $(LUA_LIBS) -lz -rdynamic -o $@
$(FUZZ_TEXTS:%=$(B)/fuzz_%): $(B)/fuzz_%: spec/fuzz/fuzz_text.c $(B)/libpmlua.a $(B)/libpmlua_lua.a
	$(call fuzz_build,-DCHECK='"$*"')
$(FUZZ_TEXTS:%=$(B)/planted_%): $(B)/planted_%: spec/fuzz/fuzz_text.c $(B)/libpmlua.a $(B)/libpmlua_lua.a
	$(call fuzz_build,-DCHECK='"$*"' -DPLANT_BUG)
$(B)/fuzz_%: spec/fuzz/fuzz_%.c $(B)/libpmlua.a $(B)/libpmlua_lua.a
	$(call fuzz_build)
$(B)/planted_%: spec/fuzz/fuzz_%.c $(B)/libpmlua.a $(B)/libpmlua_lua.a
	$(call fuzz_build,-DPLANT_BUG)
