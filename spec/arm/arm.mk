# SPDX-License-Identifier: BSD-3-Clause
# spec/arm/arm.mk - `make check-arm`: the same code on a real arm64 kernel with a PMU, in an emulated machine.

A      := build/arm
ARM_CC := aarch64-linux-gnu-gcc
ARM_CXX := aarch64-linux-gnu-g++
ARM_DEPS := qemu-system-arm gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross cpio
ARM_MAKE = $(MAKE) --no-print-directory -s -j$(shell nproc) B=$(A)/out CC=$(ARM_CC) CXX=$(ARM_CXX) CFLAGS="-g1 -isystem $(A)/include" \
  LUA_CFLAGS="-isystem $(A)/include/lua5.4" LUA_LIBS=-llua5.4 LLVMS= \
  LDFLAGS="-L$(A)/lib -Wl,-rpath-link,$(A)/sys/usr/lib/aarch64-linux-gnu:$(A)/sys/lib/aarch64-linux-gnu"

.PHONY: check-arm arm-build arm-deps
arm-deps:
	$(call need,$(ARM_DEPS))

# What this system cannot have is a skip with its reason; what it has and does not work is a failure.
check-arm: deps ## the hardware path, on an emulated arm64 machine with a PMU
	@mkdir -p $(A)
	@$(MAKE) --no-print-directory arm-deps >$(A)/deps.log 2>&1 || { \
	  $(LUA) spec/arm/check.lua --skip "$$(grep -v '^make' $(A)/deps.log | tail -1)"; exit; }; \
	why=$$(spec/arm/fetch.sh $(A) 2>&1); case $$? in \
	  0) ;; \
	  77) $(LUA) spec/arm/check.lua --skip "$$(echo "$$why" | tail -1)"; exit;; \
	  *) echo "$$why"; exit 1;; esac; \
	$(MAKE) --no-print-directory arm-build && spec/arm/image.sh $(A) && $(LUA) spec/arm/check.lua

arm-build:
	@spec/arm/fetch.sh $(A)
	@$(ARM_MAKE) all specs
	@mkdir -p $(A)/out/mutants
	@CC="$(ARM_CC)" $(LUA) spec/mutants.lua pmu $(A)/out/mutants
