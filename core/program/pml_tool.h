/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_tool.h - run a helper program to completion, without a shell, and capture its output. */
#ifndef PML_TOOL_H
#define PML_TOOL_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>

PML_BEGIN_DECLS

/*
 * gnuplot and Graphviz draw text that others wrote. They get their arguments by execve(2), nothing on standard input,
 * a limit of time, and of the environment PATH, HOME, TMPDIR, LD_*, XDG_* and FONTCONFIG_* alone, with the locale
 * C.UTF-8: no terminal, font path or locale of the user's changes a picture. A confined tool can start no program and
 * no process and open no socket (seccomp; x86-64 and arm64, elsewhere it runs unconfined): what a script smuggles into
 * a picture stays text.
 */
struct pml_tool {
  char *const *argv;  /* NULL-terminated; argv[0] is looked for in PATH */
  const char *folder; /* where it runs; NULL: here */
  int timeout_ms;     /* then it is killed */
  bool confined;
};

/*
 * pml_tool_run - run it and wait. *@status is its exit status, or 128 + the signal that ended it. *@output is
 * malloc()ed and the caller's: what it wrote to standard output and standard error, NUL-terminated, at most 16 MiB of
 * it. Returns 0, -ENOENT (no such program in PATH), -ETIMEDOUT, -EINTR (a signal handler ran: the tool was killed),
 * -ENOMEM or -errno; on failure *@output is NULL. Not async-signal-safe.
 */
PML__SHARED int pml_tool_run(const struct pml_tool *tool, int *status, char **output, size_t *length);

/* pml_tool_can_confine - whether this machine and kernel confine. */
PML__SHARED bool pml_tool_can_confine(void);

PML_END_DECLS

#endif
