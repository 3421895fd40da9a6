# SPDX-License-Identifier: BSD-3-Clause
# bindings/bindings.mk - the command, the Lua modules, and the library for applications.

EMBED_SONAME := libpmlua-embed.so.$(MAJOR)
CLANG_SRC := bindings/instrument/clang.c bindings/instrument/clang_table.c
BIND_SRC := $(filter-out bindings/command/main.c bindings/command/compiled.c bindings/embed/own_lua.c bindings/instrument/%,$(wildcard bindings/*.c bindings/*/*.c))
# Its own module, only where libclang's headers are: it opens libclang when it is asked.
CLANG_INC := $(patsubst %/clang-c/Index.h,%,$(lastword $(sort $(wildcard /usr/include/clang-c/Index.h /usr/lib/llvm-*/include/clang-c/Index.h))))
CLANG_SO := $(if $(CLANG_INC),$(B)/lua/pmlua/clang.so)
BIND_OBJ := $(BIND_SRC:%.c=$(B)/obj/%.o)
MAIN_OBJ := $(patsubst %,$(B)/obj/bindings/command/%.o,main compiled compiled_chunks)

$(B)/obj/bindings/%.o: ALLCFLAGS += -Ibindings

# Code looks for pmlua's Lua files in the folders above its own, and as installed: what is built elsewhere finds them so.
ELSEWHERE := $(if $(filter $(CURDIR)/%,$(abspath $(B))),,$(B)/share/pmlua)

all: $(B)/lua/pmlua/core.so $(B)/pmlua $(B)/libpmlua-embed.so $(B)/libpmlua-embed.a $(CLANG_SO)

# The rpaths find the library beside the file in the checkout, then where `make install` puts it.
$(B)/lua/pmlua/core.so: $(BIND_OBJ) | $(B)/libpmlua-read.so
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-rpath,'$$ORIGIN/../..:$$ORIGIN/../../..' $(BIND_OBJ) -L$(B) -lpmlua -lpmlua-read -lpthread -ldl -lm -o $@

$(B)/lua/pmlua/clang.so: $(CLANG_SRC) bindings/instrument/clang.h
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALLCFLAGS)) -Ibindings $(HARDEN) $(FORTIFY) $(LUA_CFLAGS) -isystem $(CLANG_INC) $(LDFLAGS) $(HARDEN_LD) -shared $(CLANG_SRC) -ldl -o $@

$(ELSEWHERE): | $$(@D)/.
	ln -sfn "$(CURDIR)" $@

# The command contains core/read instead of loading a library more. Sanitizers refer to functions that would be wrapped; their
# builds are not recorded, so libpmlua.so has no other heap there.
$(B)/pmlua: $(MAIN_OBJ) $(BIND_OBJ) $(READ_PARTS) | $(B)/libpmlua-read.so $(ELSEWHERE)
	$(CC) $(SAN) $(if $(SAN),,-pie) $(LDFLAGS) $(HARDEN_LD) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../lib' -Wl,-E $(if $(SAN),,$(MEMORY_WRAP)) $(MAIN_OBJ) $(BIND_OBJ) $(READ_PARTS) -L$(B) \
	  -lpmlua $(LUA_LIBS) -Wl,--as-needed $(CORE_LIBS) -o $@

# pmlua's Lua modules, compiled: the command need not compile those whose sources are the same. Where this system has Lua's
# library but not its interpreter, the command has none.
COMPILED_LUA := $(shell find lua -name '*.lua' ! -path 'lua/pmlua/meta/*' | LC_ALL=C sort)
$(B)/obj/bindings/command/compiled_chunks.c: bindings/command/compile.lua $(COMPILED_LUA)
	@mkdir -p $(@D)
	@release=$$($(LUA) -v 2>/dev/null); case $$release in \
	  "Lua 5.4"*) $(LUA) bindings/command/compile.lua $@ "$$release" lua $(COMPILED_LUA:lua/%=%);; \
	  *) echo "$(LUA) is not here: pmlua will compile its modules at each start"; echo 'const char compiled_chunks[16];' >$@;; esac
$(B)/obj/bindings/command/compiled_chunks.o: $(B)/obj/bindings/command/compiled_chunks.c
	$(CC) $(ALLCFLAGS) -c $< -o $@

# For applications: the bindings with a Lua of their own, whose symbols nobody else sees: an application may have another
# Lua, or LuaJIT, whose functions have the same names. Where there is no static library of Lua, the shared one is used, and
# such applications are refused (embed/other_lua.c).
LUA_STATIC := $(wildcard $(shell pkg-config --variable=libdir lua5.4 2>/dev/null)/liblua5.4.a)
OWN_LUA_OBJ := $(if $(LUA_STATIC),$(B)/obj/bindings/embed/own_lua.o)
COMMA := ,
OWN_LUA_WRAP := $(foreach s,stdin stdout stderr dlopen dlerror,-Wl$(COMMA)--wrap=$(s))
# Exceptions of an application's functions end in it. Without a C++ compiler they go on to the application.
CXX_HERE := $(shell command -v $(CXX) 2>/dev/null)
GUARD_OBJ := $(if $(CXX_HERE),$(B)/obj/bindings/embed/guard.o)
$(B)/obj/bindings/embed/guard.o: bindings/embed/guard.cpp bindings/embed/guard.h | $$(@D)/.
	$(CXX) -std=c++17 $(OPT) $(CFLAGS) -Wall -Wextra -Werror $(SAN) -fPIC -fvisibility=hidden -Ibindings -c $< -o $@
	nm -u $@ | sed -n 's/^ *U \(_Z.*\|__cxa_.*\|__gxx_.*\)$$/--weaken-symbol=\1/p' | xargs objcopy $@
EMBED_LUA := $(if $(LUA_STATIC),$(OWN_LUA_OBJ) $(OWN_LUA_WRAP) $(LUA_STATIC),$(LUA_LIBS))
$(B)/obj/bindings/embed/own_lua.o: $(B)/obj/bindings/embed/own_lua_names.h
$(B)/obj/bindings/embed/own_lua.o: ALLCFLAGS += -I$(B)/obj/bindings/embed
$(B)/obj/bindings/embed/own_lua_names.h: $(LUA_STATIC) | $$(@D)/.
	nm -g --defined-only $(LUA_STATIC) | awk '$$3 ~ /^luaL?_/ { print "X(" $$3 ")" }' >$@
# The interface of pmlua.h.
$(B)/libpmlua-embed.map: core/base/pml_api.h | $$(@D)/.
	echo 'PMLUA_$(MAJOR) { global: pmlua_*; luaopen_pmlua_core; local: *; };' >$@
$(B)/$(EMBED_SONAME): $(BIND_OBJ) $(OWN_LUA_OBJ) $(GUARD_OBJ) $(B)/libpmlua-embed.map | $(B)/libpmlua-read.so
	$(CC) $(SAN) $(LDFLAGS) $(HARDEN_LD) -shared -Wl,-soname,$(EMBED_SONAME) -Wl,--version-script=$(B)/libpmlua-embed.map -Wl,-Bsymbolic \
	  -Wl,-rpath,'$$ORIGIN' $(BIND_OBJ) $(GUARD_OBJ) -L$(B) -lpmlua -lpmlua-read $(EMBED_LUA) -lpthread -ldl -lm -o $@

$(B)/libpmlua-embed.so: $(B)/$(EMBED_SONAME)
	ln -sf $(EMBED_SONAME) $@

# For programs that link statically, also Lua: one object, which hides all names except its interface.
$(B)/libpmlua-embed.a: $(BIND_OBJ) $(GUARD_OBJ)
	@rm -f $@
	ld -r $^ -o $(B)/obj/embed.o
	objcopy --wildcard --keep-global-symbol='pmlua_*' --keep-global-symbol=luaopen_pmlua_core $(B)/obj/embed.o
	ar rcs $@ $(B)/obj/embed.o

# For specs that see the internals.
$(B)/libpmlua_lua.a: $(BIND_OBJ)
	@rm -f $@
	ar rcs $@ $^

-include $(patsubst %.o,%.d,$(BIND_OBJ) $(MAIN_OBJ) $(OWN_LUA_OBJ))
