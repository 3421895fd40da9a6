# spec/arm/arm.mk - `make check-arm`: the same code on a real arm64 kernel with a PMU, in an emulated machine.

A      := build/arm
ARM_CC := aarch64-linux-gnu-gcc
ARM_MAKE = $(MAKE) --no-print-directory -s -j2 B=$(A)/out CC=$(ARM_CC) CFLAGS="-g1 -isystem $(A)/include" \
  LUA_CFLAGS="-isystem $(A)/include/lua5.4" LUA_LIBS=-llua5.4 \
  LDFLAGS="-L$(A)/lib -Wl,-rpath-link,$(A)/sys/usr/lib/aarch64-linux-gnu:$(A)/sys/lib/aarch64-linux-gnu"

.PHONY: arm-build
arm-build:
	@spec/arm/fetch.sh $(A)
	@$(ARM_MAKE) all specs
