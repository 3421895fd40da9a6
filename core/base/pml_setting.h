/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_setting.h - pmlua's environment variables, including those hidden from the program. Internal. */
#ifndef PML_SETTING_H
#define PML_SETTING_H

#include "base/pml_api.h"

PML_BEGIN_DECLS

/*
 * pml__setting - the value of a PMLUA_ variable, from the environment, else from pml__settings_add(). NULL if it is not
 * set, or in a set-user-ID program. Not while another thread changes the environment.
 */
PML__SHARED const char *pml__setting(const char *name);

/*
 * pml__settings_add - @variables, "NAME=VALUE" with a NULL at the end, are settings that are not in the program's
 * environment. They stay the caller's and must never be freed. Call it before main, where no other thread runs.
 */
PML__SHARED void pml__settings_add(const char *const variables[]);

PML_END_DECLS

#endif
