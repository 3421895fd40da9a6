# SPDX-License-Identifier: BSD-3-Clause
# spec/c/intercept/intercept.mk - libraries and programs whose calls are intercepted or wrapped, linked in each way.

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
$(B)/spec/slots_pointed.so: $(B)/spec/slots_targets.so
$(SLOTS_VARIANTS:%=$(B)/spec/leaf_%.so): $(B)/spec/leaf_%.so: spec/c/intercept/slots_leaf.c $(B)/spec/libintercept.so $(INTERCEPT_H)
	$(call slots_build,$(SLOTS_$*))
$(patsubst %,$(B)/spec/intercept_%,slots bounds places identity pointers): $(SLOTS_SO) $(SLOTS_VARIANTS:%=$(B)/spec/leaf_%.so)

intercept_link = $(CC) $(ALLCFLAGS) -Wno-psabi $(LDFLAGS) $(1) $< -L$(B)/spec -lintercept -Wl,-rpath,'$$ORIGIN' $(B)/libpmlua.a $(CORE_LIBS)
$(B)/spec/intercept_%: spec/c/intercept_%.c $(B)/spec/libintercept.so $(B)/libpmlua.a $(INTERCEPT_H)
	$(call intercept_link,-Wl$(comma)-z$(comma)lazy) -o $@
# These run themselves again, linked in each other way.
$(patsubst %,$(B)/spec/intercept_%,calls slots identity): $(B)/spec/intercept_%: spec/c/intercept_%.c $(B)/spec/libintercept.so $(B)/libpmlua.a $(INTERCEPT_H)
	$(call intercept_link,-Wl$(comma)-z$(comma)lazy) -o $@
	$(call intercept_link,-Wl$(comma)-z$(comma)now$(comma)-z$(comma)relro) -o $@.now
	$(call intercept_link,-fno-plt) -o $@.noplt
	$(call intercept_link,-no-pie -fno-pie) -o $@.nopie
# Large, and with slots of addresses: one way does.
$(B)/spec/intercept_cache: spec/c/intercept_cache.c $(B)/spec/libintercept.so $(B)/libpmlua.a $(INTERCEPT_H)
	$(call intercept_link,-fno-plt) -o $@
comma := ,

# Wrappers of the same library, of the four kinds: in the program or shared, found by --wrap or by their names.
WRAPPED := lib_nothing lib_recursive lib_back lib_catch lib_throw lib_errno lib_two lib_mixed
wrap_flags := $(WRAPPED:%=-Wl,--wrap=%)
wrap_compile = $(CC) $(filter-out -MMD -MP -Wmissing-prototypes,$(ALLCFLAGS)) -Wno-psabi -fexceptions -c spec/c/wrap/wrappers.c
wrap_link = $(CC) $(filter-out -MMD -MP,$(ALLCFLAGS)) -Wno-psabi -fexceptions $(LDFLAGS) -rdynamic $(1) $< -L$(B)/spec -lintercept \
  -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..'
$(B)/spec/wrap_%: spec/c/wrap_%.c spec/c/wrap/wrappers.c core/adapter/wrap/pml_wrap.h $(INTERCEPT_H) $(B)/spec/libintercept.so $(B)/libpmlua.a $(B)/libpmlua-read.so
	$(wrap_compile) -DLINK_TIME -o $@.link.o
	$(wrap_compile) -o $@.run.o
	$(CC) $(SAN) $(LDFLAGS) -shared $(wrap_flags) $@.link.o -L$(B)/spec -lintercept -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' -L$(B) -lpmlua -o $(B)/spec/libpmlua-wrap-link.so
	$(CC) $(SAN) $(LDFLAGS) -shared $@.run.o -Wl,-rpath,'$$ORIGIN/..' -L$(B) -lpmlua -o $(B)/spec/libpmlua-wrap-run.so
	$(call wrap_link,$(wrap_flags) $@.link.o) $(B)/libpmlua.a $(CORE_LIBS) -o $@
	$(call wrap_link,$(wrap_flags) -L$(B)/spec -lpmlua-wrap-link) -L$(B) -lpmlua-read -lpmlua -lpthread -ldl -o $@.shared
	$(call wrap_link,$@.run.o) $(B)/libpmlua.a $(CORE_LIBS) -o $@.runtime
	$(call wrap_link) -L$(B) -lpmlua-read -lpmlua -lpthread -ldl -o $@.preload
