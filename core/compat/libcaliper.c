/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/compat/libcaliper.c - libcaliper.so.2 for programs on machines without Caliper, under `pmlua record`.
 *
 * libpmlua-record.so has the functions for regions and attributes (adapter/foreign/pml_foreign_caliper.c). The
 * functions here start no measurement of Caliper: channels are never active, snapshots are empty, settings have no
 * effect. Caliper's C++ classes are missing.
 */
#include "base/pml_api.h"
#include "interface/caliper/pml_caliper.h"

#define NOTHING(name, parameters)                                                                                      \
  PML_API void cali_##name parameters;                                                                                 \
  void cali_##name parameters {}
#define RETURNS(result, name, parameters, what)                                                                        \
  PML_API result cali_##name parameters;                                                                               \
  result cali_##name parameters {                                                                                      \
    return what;                                                                                                       \
  }
typedef struct pml_caliper_value value;

RETURNS(const char *, caliper_version, (void), "2 (pmlua)")
RETURNS(const char *, get_current_region_or, (const char *other), other)

NOTHING(push_snapshot, (void))
NOTHING(channel_push_snapshot, (void))
NOTHING(find_all_in_snapshot, (void))
NOTHING(unpack_snapshot, (void))
RETURNS(size_t, channel_pull_snapshot, (void), 0)
RETURNS(value, find_first_in_snapshot, (void), (value){0})
RETURNS(value, get, (void), (value){0})
RETURNS(value, channel_get, (void), (value){0})

NOTHING(set_global_double_byname, (void))
NOTHING(set_global_int_byname, (void))
NOTHING(set_global_string_byname, (void))
NOTHING(set_global_uint_byname, (void))

NOTHING(config_preset, (void))
NOTHING(config_set, (void))
NOTHING(config_allow_read_env, (void))
RETURNS(void *, create_configset, (void), NULL)
NOTHING(delete_configset, (void))
NOTHING(configset_set, (void))

RETURNS(pml_caliper_id, create_channel, (void), PML_CALIPER_NO_ID)
NOTHING(delete_channel, (void))
NOTHING(activate_channel, (void))
NOTHING(deactivate_channel, (void))
RETURNS(int, channel_is_active, (void), 0)
NOTHING(channel_flush, (void))
NOTHING(flush, (void))
