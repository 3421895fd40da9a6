/* SPDX-License-Identifier: BSD-3-Clause */
/* core/pml.h - all of pmlua's C interface. */
#ifndef PML_H
#define PML_H

#include "adapter/pml_command.h"
#include "adapter/pml_intercept.h"
#include "adapter/pml_probe.h"
#include "adapter/pml_section.h"
#include "adapter/pml_section_file.h"
#include "adapter/pml_workload.h"
#include "base/pml_api.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_region.h"
#include "base/pml_stream.h"
#include "base/pml_thread.h"
#include "source/pml_counter.h"
#include "source/pml_event.h"
#include "source/pml_eventset.h"
#include "source/pml_group.h"
#include "source/pml_plugin.h"
#include "source/pml_quantile.h"
#include "source/pml_rdpmc.h"
#include "source/pml_recorder.h"
#include "source/pml_samples.h"
#include "source/pml_sde.h"
#include "source/pml_sde_hook.h"
#include "source/pml_sde_patient.h"
#include "source/pml_sketch.h"
#include "source/pml_value.h"
#include "substrate/pml_otf2.h"
#include "substrate/pml_otf2_stream.h"
#include "substrate/pml_profile.h"

#endif
