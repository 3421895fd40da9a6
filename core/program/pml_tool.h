/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_tool.h - run a helper program to completion, without a shell, and capture its output. */
#ifndef PML_TOOL_H
#define PML_TOOL_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>

PML_BEGIN_DECLS

/*
 * gnuplot and Graphviz draw text from untrusted sources. They get their arguments by execve(2), no standard input, a
 * time limit, and, of the environment, only PATH, HOME, TMPDIR, LD_*, XDG_* and FONTCONFIG_*, with the locale C.UTF-8,
 * so that the user's terminal, font path or locale does not change a picture. A confined tool cannot start programs or
 * processes, nor open sockets (seccomp; x86-64 and arm64, elsewhere it runs unconfined), so commands injected into a
 * picture's text are not executed.
 */
struct pml_tool {
  char *const *argv;  /* NULL-terminated; argv[0] is searched in PATH */
  const char *folder; /* working directory; NULL: the current one */
  int timeout_ms;     /* the tool is killed after this time */
  bool confined;
};

/*
 * pml_tool_run - run the tool and wait. *@status is its exit status, or 128 + the signal that ended it. *@output is its
 * standard output and standard error, at most 16 MiB, NUL-terminated, allocated by malloc() and owned by the caller.
 * Returns 0, -ENOENT (no such program in PATH), -ETIMEDOUT, -EINTR (a signal handler ran: the tool was killed), -ENOMEM
 * or -errno; on failure *@output is NULL. Not async-signal-safe.
 */
PML__SHARED int pml_tool_run(const struct pml_tool *tool, int *status, char **output, size_t *length);

/* pml_tool_can_confine - whether this machine and kernel support confinement. */
PML__SHARED bool pml_tool_can_confine(void);

PML_END_DECLS

#endif
