/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/cost_annotation.h - functions of other tools' interfaces, whose instructions cost.c counts, without a
 * consumer.
 */
#ifndef SPEC_COST_ANNOTATION_H
#define SPEC_COST_ANNOTATION_H

#include "annotation_client.h"

PATH(itt_task, itt_begin(&itt_domain, no_id, no_id, &itt_name); itt_end(&itt_domain))
PATH(itt_overlapped, itt_open(&itt_domain, some_id, no_id, &itt_name); itt_close(&itt_domain, some_id))
PATH(nvtx_range, nvtx_push(nvtx_label); nvtx_pop())
PATH(nvtx_registered, nvtx_push_ex(nvtx_in, &nvtx_event); nvtx_pop_in(nvtx_in))
PATH(caliper_region, cali_begin_region(caliper_label); cali_end_region(caliper_label))

#endif
