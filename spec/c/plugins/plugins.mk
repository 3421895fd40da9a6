# SPDX-License-Identifier: BSD-3-Clause
# spec/c/plugins/plugins.mk - metric and substrate plugins to load.

PLUGINS := steps zero thrower sampler sampler_forks gauge_thread gauge_process gauge_host gauge_once gauge_seldom series_async series_event \
  $(addprefix bad_,unlike newer scopeless shared dumb failing nothing empty endless modeless refusing boasting hollow backwards timeless shuffled hanging cycle_a cycle_b undefined)
PLUGIN_SO := $(PLUGINS:%=$(B)/spec/plugins/lib%.so)
upper = $(shell echo $(1) | tr a-z A-Z)
$(B)/spec/plugins/libgauge_seldom.so: spec/c/plugins/gauge.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=gauge_seldom -DSCOPE=SCOREP_METRIC_PER_THREAD -DDELTA='(UINT64_C(1) << 40)')
$(B)/spec/plugins/libgauge_once.so: spec/c/plugins/gauge.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=gauge_once -DSCOPE=SCOREP_METRIC_ONCE)
$(B)/spec/plugins/libgauge_%.so: spec/c/plugins/gauge.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=gauge_$* -DSCOPE=SCOREP_METRIC_PER_$(call upper,$*))
$(B)/spec/plugins/libseries_async.so: spec/c/plugins/series.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=series_async -DKIND=SCOREP_METRIC_ASYNC)
$(B)/spec/plugins/libseries_event.so: spec/c/plugins/series.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=series_event -DKIND=SCOREP_METRIC_ASYNC_EVENT)
$(B)/spec/plugins/libbad_unlike.so: spec/c/plugins/bad.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=bad_of_another_name -DFAULT=UNLIKE)
$(B)/spec/plugins/libbad_undefined.so: spec/c/plugins/bad.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=bad_undefined -DFAULT=UNDEFINED -DNEEDS=nobody_has_this)
# Each is linked with the other: with an empty library of its name first.
$(B)/spec/plugins/libbad_cycle_b.so: spec/c/plugins/bad.c $(B)/scorep-config
	@mkdir -p $(@D)/empty && $(CC) -shared -Wl,-soname,libbad_cycle_a.so -x c /dev/null -o $(@D)/empty/libbad_cycle_a.so
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=bad_cycle_b -DFAULT=CYCLE_B -DNEEDS=cycle_a -DHAS=cycle_b) -L$(@D)/empty \
	  -Wl,--no-as-needed -lbad_cycle_a -Wl,-rpath,'$$ORIGIN',-soname,libbad_cycle_b.so
$(B)/spec/plugins/libbad_cycle_a.so: spec/c/plugins/bad.c $(B)/spec/plugins/libbad_cycle_b.so
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=bad_cycle_a -DFAULT=CYCLE_A -DNEEDS=cycle_b -DHAS=cycle_a) -L$(@D) \
	  -Wl,--no-as-needed -lbad_cycle_b -Wl,-rpath,'$$ORIGIN',-soname,libbad_cycle_a.so
$(B)/spec/plugins/libbad_%.so: spec/c/plugins/bad.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-DNAME=bad_$* -DFAULT=$(call upper,$*))
$(B)/spec/plugins/libthrower.so: spec/c/plugins/thrower.cpp $(B)/scorep-config
	$(call plugin_cc,$(CXX))
$(B)/spec/plugins/libsampler.so: spec/c/plugins/sampler.cpp $(B)/scorep-config
	$(call plugin_cc,$(CXX),-DNAME=sampler)
$(B)/spec/plugins/libsampler_forks.so: spec/c/plugins/sampler.cpp $(B)/scorep-config
	$(call plugin_cc,$(CXX),-DNAME=sampler_forks -DFORKS)
$(B)/spec/plugins/lib%.so: spec/c/plugins/%.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11)
$(B)/spec/plugins/lib%.so: scripts/plugins/%.c $(B)/scorep-config
	$(call plugin_cc,$(CC) -std=gnu11,-Wno-cast-function-type)
$(B)/spec/plugin $(B)/spec/plugin_bad $(B)/spec/plugin_threads $(B)/spec/cost $(B)/bench: | $(PLUGIN_SO)
$(B)/spec/plugin_watchpoint: | $(OWN_PLUGINS)

# Substrate plugins to load.
SUBSTRATES := writer nothing enters openmp worker thrower $(addprefix bad_,unlike newer unset refusing hollow future)
SUBSTRATE_SO := $(SUBSTRATES:%=$(B)/spec/plugins/libscorep_substrate_%.so)
substrate_cc = @mkdir -p $(@D) && $(1) $(OPT) $(CFLAGS) -Wall -Wextra -Werror -Wno-cast-function-type $(SAN) -fPIC -shared $(LDFLAGS) \
  -Icore/interface $(2) $< -lpthread -lm -o $@
SUBSTRATE_H := $(wildcard core/interface/scorep/*.h) spec/c/substrates/plugin.h
$(B)/spec/plugins/libscorep_substrate_bad_unlike.so: spec/c/substrates/bad.c $(SUBSTRATE_H)
	$(call substrate_cc,$(CC) -std=gnu11,-DNAME=bad_of_another_name -DFAULT=UNLIKE)
$(B)/spec/plugins/libscorep_substrate_bad_%.so: spec/c/substrates/bad.c $(SUBSTRATE_H)
	$(call substrate_cc,$(CC) -std=gnu11,-DNAME=bad_$* -DFAULT=$(call upper,$*))
$(B)/spec/plugins/libscorep_substrate_thrower.so: spec/c/substrates/thrower.cpp $(SUBSTRATE_H)
	$(call substrate_cc,$(CXX))
$(B)/spec/plugins/libscorep_substrate_%.so: spec/c/substrates/%.c $(SUBSTRATE_H)
	$(call substrate_cc,$(CC) -std=gnu11)
$(B)/spec/scorep $(B)/spec/cost $(B)/bench: | $(SUBSTRATE_SO)
