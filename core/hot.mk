# SPDX-License-Identifier: BSD-3-Clause
# core/hot.mk - sources with hot paths, by name. A stack protector takes 6 to 11 instructions of each
# (spec/data/instruction_costs.tsv), and FORTIFY's checked calls 2 to 12 of each reading of a group: these are compiled without.
# All other sources of the core, the bindings and the instrumenter have both. What reads a log, an archive or a text is not
# among these: spec/hot.lua, a part of `make layers`, checks it.

HOT := \
  $(addprefix core/adapter/arch/,pml_call.c) \
  $(addprefix core/adapter/intercept/,pml_intercept_events.c pml_intercept_instrumented.c) \
  $(addprefix core/adapter/mpi/shim/,clock.c collective.c communicator.c event.c file.c meet.c message.c neighbor.c \
    persistent.c probe.c process.c reduction.c request.c rma.c shim.c type.c wait.c window.c) \
  $(addprefix core/adapter/openmp/,pml_openmp.c pml_openmp_ompt.c pml_openmp_place.c) \
  $(addprefix core/adapter/section/,pml_section.c pml_section_events.c pml_section_log.c pml_section_thread.c) \
  $(addprefix core/adapter/wrap/,pml_wrap.c) \
  $(addprefix core/base/,pml_thread.c) \
  $(addprefix core/base/stream/,pml_stream.c pml_stream_deliver.c pml_stream_gpr.c pml_stream_metrics.c) \
  $(addprefix core/control/balance/,pml_balance.c pml_balance_event.c pml_balance_gpr.c) \
  $(addprefix core/control/tune/,pml_tune.c pml_tune_frame.c pml_tune_gpr.c pml_tune_guard.c) \
  $(addprefix core/record/,pml_buffer.c pml_buffer_gpr.c) \
  $(addprefix core/record/events/,pml_event_buffer.c pml_event_buffer_gpr.c pml_recording.c pml_recording_sums.c \
    pml_recording_sums_gpr.c pml_recording_values.c) \
  $(addprefix core/record/recorder/,pml_recorder.c pml_recorder_keep.c pml_recorder_lane.c pml_recorder_cache.c) \
  $(addprefix core/source/,pml_eventset_open.c) \
  $(addprefix core/source/base/,pml_eventset.c) \
  $(addprefix core/source/clock/,pml_eventset_clock.c) \
  $(addprefix core/source/kernel/,pml_counter.c pml_eventset_kernel.c pml_eventset_kernel_gpr.c pml_eventset_kernel_open.c \
    pml_group.c) \
  $(addprefix core/source/plugin/,pml_eventset_plugin.c pml_plugin_call.c pml_plugin_use.c) \
  $(addprefix core/source/sde/,pml_eventset_compiler.c pml_eventset_sde.c pml_eventset_sde_gpr.c pml_sde.c \
    pml_sde_body.c pml_sde_compiler.c pml_sde_counter.c pml_sde_group.c pml_sde_hook.c pml_sde_overflow.c \
    pml_sde_read.c pml_sde_reader.c pml_sde_register.c pml_sde_set.c) \
  $(addprefix core/substrate/flow/,pml_flow.c pml_flow_gpr.c pml_flow_label_gpr.c pml_flow_lane.c) \
  $(addprefix core/substrate/profile/,pml_profile.c pml_profile_gpr.c pml_profile_histogram.c pml_profile_tree.c) \
  $(addprefix core/substrate/scorep/,pml_scorep.c pml_scorep_callbacks.c pml_scorep_events.c pml_scorep_openmp.c) \
  $(addprefix core/read/otf2/write/,pml_otf2.c pml_otf2_mpi.c pml_otf2_openmp.c pml_otf2_series.c)
