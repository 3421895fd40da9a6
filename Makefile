# pmlua - `make run` shows the first experiment, `make check` runs every test; `make help` lists the rest.

PREFIX  ?= /usr/local
DESTDIR ?=
B       ?= build
CC      ?= gcc

VERSION := $(shell sed -n 's/^\#define PML_VERSION "\(.*\)"/\1/p' core/base/pml_api.h)
SOMAJOR := 0
SONAME  := libpmlua.so.$(SOMAJOR)

LUA        ?= lua5.4
LUA_CFLAGS := $(shell pkg-config --cflags lua5.4 2>/dev/null)
LUA_LIBS   := $(shell pkg-config --libs lua5.4 2>/dev/null)

WARN    := -Wall -Wextra -Wconversion -Wmissing-prototypes -Wshadow -Werror
OPT     ?= -O2
CSTD    := -std=c11 -D_GNU_SOURCE
CFLAGS  ?= -g
ALLCFLAGS = $(CSTD) $(OPT) $(CFLAGS) $(WARN) $(SAN) -fPIC -fvisibility=hidden -Icore -MMD -MP
CORE_LIBS := -lpfm -lotf2 -lpthread -ldl -lm

CORE_SRC := $(wildcard core/*/*.c)
BIND_SRC := $(filter-out bindings/main.c,$(wildcard bindings/*.c))
WORK_SRC := $(wildcard scripts/workloads/*.c)
SPEC_SRC := $(wildcard spec/c/*.c)

CORE_OBJ := $(CORE_SRC:%.c=$(B)/obj/%.o)
BIND_OBJ := $(BIND_SRC:%.c=$(B)/obj/%.o)
MAIN_OBJ := $(B)/obj/bindings/main.o
WORK_SO  := $(WORK_SRC:scripts/workloads/%.c=$(B)/workloads/%.so)
SPEC_BIN := $(SPEC_SRC:spec/c/%.c=$(B)/spec/%)

.PHONY: all
all: $(B)/libpmlua.so $(B)/libpmlua.a $(B)/lua/pmlua/core.so $(B)/pmlua $(WORK_SO)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(LUA_CFLAGS) -c $< -o $@

$(B)/libpmlua.a: $(CORE_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(B)/$(SONAME): $(CORE_OBJ) core/libpmlua.map
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=core/libpmlua.map -Wl,-z,defs -Wl,--as-needed \
	  $(CORE_OBJ) $(CORE_LIBS) -o $@

$(B)/libpmlua.so: $(B)/$(SONAME)
	ln -sf $(SONAME) $@

# The module for a stock lua5.4; it finds the library beside itself in the checkout, or in PREFIX/lib once installed.
$(B)/lua/pmlua/core.so: $(BIND_OBJ) $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN/../..:$$ORIGIN/../../../..' $(BIND_OBJ) -L$(B) -lpmlua -ldl -o $@

$(B)/pmlua: $(MAIN_OBJ) $(BIND_OBJ) $(B)/libpmlua.so
	$(CC) $(SAN) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../lib' -Wl,-E $(MAIN_OBJ) $(BIND_OBJ) -L$(B) -lpmlua $(LUA_LIBS) -ldl -o $@

$(B)/workloads/%.so: scripts/workloads/%.c $(B)/libpmlua.so
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) -shared -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../../../lib' $< -L$(B) -lpmlua -lm -o $@

# C specs see the internals, so they link the static library.
$(B)/spec/%: spec/c/%.c $(B)/libpmlua.a
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $< $(B)/libpmlua.a $(CORE_LIBS) -o $@

.PHONY: specs
specs: $(SPEC_BIN)

.PHONY: clean
clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)
