/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_patient.h - reading of events with a time limit. */
#ifndef PML_SDE_PATIENT_H
#define PML_SDE_PATIENT_H

#include "source/sde/pml_sde.h"

PML_BEGIN_DECLS

#define PML_SDE_HELPERS_MAX 16 /* callbacks under way at the same time */

/*
 * pml_sde_read_patiently - as pml_sde_read(), but for at most @timeout_ns when reading @ev runs code of its library: a
 * callback, a group with one in it, a recorder's comparator, or a handler of an overflow.
 *
 * Such an event is read by a helper thread, in which no signal arrives. Returns what pml_sde_read() does; -ETIMEDOUT
 * when it has not come back, and then at once for every reader, without another thread, until it does;
 * -EAGAIN when PML_SDE_HELPERS_MAX callbacks are under way; -errno when no thread can be started.
 * A helper that was given up ends by itself when the callback returns; its value is dropped. It is a reader all the
 * while: unregistering what hangs waits for it, unregistering anything else does not, but for the members of a group.
 * After fork() the child has no helpers; a callback that hung in the parent may be asked again.
 * Thread-safe; several threads may wait for one helper. Cost: that of pml_sde_read() for events that run no foreign
 * code, and that of starting a thread for those that do. Not async-signal-safe.
 */
PML__SHARED int pml_sde_read_patiently(struct pml_sde_event *ev, struct pml_value *v, uint64_t timeout_ns);

PML_END_DECLS

#endif
