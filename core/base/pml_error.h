/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_error.h - error codes, their names and texts, and the last failure's sentence. */
#ifndef PML_ERROR_H
#define PML_ERROR_H

#include "base/pml_api.h"

PML_BEGIN_DECLS

/* Functions return 0 or a negative code: -errno, or one of these, all below -4095, the kernel's last errno. Each row:
 * name (Lua sees it as "ENAME"), text, remedy (NULL: the text of the failure has it). */
#define PML_ERROR_LIST(X)                                                                                              \
  X(PML_ENOPMU, -4096, "this machine has no hardware PMU",                                                             \
    "use software events or clocks (pmlua events), pmlua cc --count, pmlua stat --sim, or a host that exposes its "    \
    "PMU")                                                                                                             \
  X(PML_EPARANOID, -4097, "perf_event_paranoid forbids this event",                                                    \
    "run as root or with CAP_PERFMON, or lower kernel.perf_event_paranoid with sysctl")                                \
  X(PML_ECAP, -4098, "a capability is missing", "run with CAP_PERFMON (or CAP_SYS_ADMIN) or as root")                  \
  X(PML_ETOOMANY, -4099, "more events than the PMU has counters", "use fewer events, or request multiplexing")         \
  X(PML_EWATCHDOG, -4100, "the NMI watchdog holds a counter",                                                          \
    "disable it with sysctl kernel.nmi_watchdog=0, or use one event fewer")                                            \
  X(PML_ENOEVENT, -4101, "no such event", "list the events with pmlua events")                                         \
  X(PML_ESYNTAX, -4102, "the event name is malformed", "see pmlua help events for the grammar")                        \
  X(PML_ENOTHERE, -4103, "the PMU of this event is not on this machine", "choose an event of a PMU of this machine")   \
  X(PML_ENOSYMBOL, -4104, "no such symbol", "name a symbol of the program or its libraries, or an address")            \
  X(PML_ECLOSED, -4105, "the handle is closed", NULL)                                                                  \
  X(PML_EMODE, -4106, "the handle cannot do this", NULL)                                                               \
  X(PML_EFULL, -4107, "the buffer is full", "request a larger buffer, or drain it more often")                         \
  X(PML_EOTF2, -4108, "libotf2 reported an error", NULL)                                                               \
  X(PML_EFORMAT, -4109, "the input is malformed", NULL)                                                                \
  X(PML_ESCRIPT, -4110, "the script failed", NULL)                                                                     \
  X(PML_ELIMIT, -4111, "a limit was reached", "do less at a time, or allow more")                                      \
  X(PML_EPLUGIN, -4112, "a plugin failed", NULL)

#define PML_ERROR_ENUM(name, value, text, remedy) name = (value),
enum pml_error_code { PML_ERROR_LIST(PML_ERROR_ENUM) };
#undef PML_ERROR_ENUM

/*
 * pml_error_name - "ENOENT" for -ENOENT, "ENOPMU" for PML_ENOPMU, "EUNKNOWN" otherwise.
 * pml_error_text - one line without a full stop.
 * pml_error_remedy - the remedy, or NULL where the text says all.
 *
 * All return static storage (unknown errno texts come from the C library). Thread-safe.
 */
PML_API const char *pml_error_name(int err);
PML_API const char *pml_error_text(int err);
PML_API const char *pml_error_remedy(int err);

/*
 * pml_error_detail - the sentence that explains @err (with the event or file, and the remedy) if @err is the calling
 * thread's last failure, else pml_error_text(@err). Valid until the thread's next failure.
 */
PML_API const char *pml_error_detail(int err);

#define PML_FAILURE_BYTES 512u

/* A failure in its parts. Text and remedy are static, or in @room: a copy of the struct points into the original. */
struct pml_failure {
  int code;
  char place[48];     /* the function that refused; "" if only the code is known */
  const char *text;   /* what happened, without a full stop */
  const char *remedy; /* what to do about it; NULL: the text says all */
  char room[PML_FAILURE_BYTES];
};

/*
 * pml_error_failure - fill in @f with the calling thread's last failure if its code is @err; else the place is "" and
 * text and remedy come from the code. A failure without a remedy gets its code's remedy.
 */
PML_API void pml_error_failure(int err, struct pml_failure *f);

/*
 * pml_fail - remember the sentence of a failure, and the function that it is in, on this thread; return @err.
 * The sentence says what happened and, if there is something to do, a semicolon, a blank and what to do: the first
 * "; " outside of double quotes parts them.
 * A macro, so that compiler and analyzer see which value is returned; @err is evaluated twice.
 * Not for hot paths. At most 511 bytes are kept. Thread-safe, not async-signal-safe.
 */
#define pml_fail(err, ...) (pml_error_note((err), __func__, __VA_ARGS__), (err))
PML_API void pml_error_note(int err, const char *place, const char *fmt, ...) PML_PRINTF(3, 4);

PML_END_DECLS

#endif
