/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/pml.h - pmlua's C interface: errors, clock, regions, events and event sets, software-defined events and
 * recorders, benchmarks, sections, plugins, profiles and traces. Lua in an application, and live questions to it, are
 * pmlua.h.
 *
 * Other headers of this folder are internal, though these headers include some of them for their inline functions.
 */
#ifndef PML_H
#define PML_H

#include "adapter/section/pml_section.h"
#include "adapter/section/pml_section_file.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_region.h"
#include "read/otf2/write/pml_otf2.h"
#include "record/pml_bench.h"
#include "record/pml_recorder.h"
#include "source/kernel/pml_counter.h"
#include "source/plugin/pml_plugin.h"
#include "source/pml_event.h"
#include "source/pml_eventset.h"
#include "source/sde/pml_sde.h"
#include "substrate/profile/pml_profile.h"

#endif
