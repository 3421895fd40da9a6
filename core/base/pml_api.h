/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_api.h - visibility, version and branch hints; included by every header. */
#ifndef PML_API_H
#define PML_API_H

/* The version: the build, the packages and the pages take it from these three lines. */
#define PML_VERSION_MAJOR 1
#define PML_VERSION_MINOR 0
#define PML_VERSION_PATCH 0
#define PML__TEXT(number) #number
#define PML__DOTTED(major, minor, patch) PML__TEXT(major) "." PML__TEXT(minor) "." PML__TEXT(patch)
#define PML_VERSION PML__DOTTED(PML_VERSION_MAJOR, PML_VERSION_MINOR, PML_VERSION_PATCH)
#define PML__SUFFIXED(library, major) library ".so." PML__TEXT(major)
#define PML__SONAME(library) PML__SUFFIXED(library, PML_VERSION_MAJOR)

#ifdef __cplusplus
#define PML_BEGIN_DECLS extern "C" {
#define PML_END_DECLS }
#else
#define PML_BEGIN_DECLS
#define PML_END_DECLS
#endif

/*
 * Functions with the name of a struct. C++ would hide the type, so there the function has another identifier, and the
 * symbol of C; a macro, which leaves the type alone, calls it by the common name.
 */
#ifdef __cplusplus
#define PML_NAMESAKE(name) __asm__(#name)
#define pml_event_part(...) pml_event_part_of_c(__VA_ARGS__)
#define pml_event_pmu_traits(...) pml_event_pmu_traits_of_c(__VA_ARGS__)
#define pml_eventset_event(...) pml_eventset_event_of_c(__VA_ARGS__)
#define pml_otf2_location(...) pml_otf2_location_of_c(__VA_ARGS__)
#define pml_otf2_metric(...) pml_otf2_metric_of_c(__VA_ARGS__)
#define pml_otf2_stats(...) pml_otf2_stats_of_c(__VA_ARGS__)
#define pml_plugin_series(...) pml_plugin_series_of_c(__VA_ARGS__)
#define pml_profile_stats(...) pml_profile_stats_of_c(__VA_ARGS__)
#define pml_recorder_options(...) pml_recorder_options_of_c(__VA_ARGS__)
#define pml_sde_info(...) pml_sde_info_of_c(__VA_ARGS__)
#define pml_sde_library(...) pml_sde_library_of_c(__VA_ARGS__)
#define pml_section_report(...) pml_section_report_of_c(__VA_ARGS__)
#define pml_stream_lost(...) pml_stream_lost_of_c(__VA_ARGS__)
#define pml_stream_metrics(...) pml_stream_metrics_of_c(__VA_ARGS__)
#else
#define PML_NAMESAKE(name)
#endif

/*
 * The library is built with -fvisibility=hidden. It exports what carries PML_API, for its users, and what carries
 * PML__SHARED, for the parts of this same build (bindings, command, preloaded libraries, drop-ins, generated wrappers):
 * that changes without notice, and has the version PMLUA_PRIVATE.
 */
#define PML_API __attribute__((visibility("default")))
#define PML__SHARED __attribute__((visibility("default")))
#ifdef __cplusplus
#define PML_THREAD_LOCAL __thread
#else
#define PML_THREAD_LOCAL _Thread_local
#endif
#define PML_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define PML_LIKELY(x) __builtin_expect(!!(x), 1)
#define PML_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
