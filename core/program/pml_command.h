/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_command.h - a child process that waits for its counters before it runs the program. */
#ifndef PML_COMMAND_H
#define PML_COMMAND_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

PML_BEGIN_DECLS

/*
 * The child is created by pml_command_spawn() and then blocks in read(2). A caller that opens counters for its pid
 * meanwhile (struct pml_target, inherit for its children) counts everything that follows: a few hundred instructions
 * and some page faults of pmlua-starter, execve(2), and the program from its first instruction; with
 * PML_EVENTSET_ON_EXEC only the program. The program has the caller's working directory, standard streams, signal mask
 * and process group: it gets an interrupt from the terminal as the caller does.
 *
 * Caller-allocated; its fields are used by the library. Only one user at a time.
 */
struct pml_command {
  pid_t pid; /* the child, until it is reaped; then 0 */
  int line;  /* local end of the socket on which the child waits, and which reports a failed execve(2); -1: started */
  int pidfd; /* -1: this kernel has no pidfds */
  bool done; /* reaped: @end is filled */
  struct pml_command_end {
    int status;                  /* exit status; -1 if a signal ended it */
    int signal;                  /* that signal, or 0 */
    uint64_t real_ns;            /* from start until the end was detected */
    uint64_t user_ns, system_ns; /* of the child and its awaited children */
    uint64_t maxrss_bytes;       /* the largest resident set of one of these */
    uint64_t maxrss_floor_bytes; /* resident set of pmlua-starter, which execve(2) passes on to the program: half a
                                    megabyte; a static program without a C library may have had less */
  } end;
  uint64_t started_ns, floor_bytes;
};

/* Settings of the child that differ from the caller's; NULL for none. The strings are read by the child only. */
struct pml_command_setting {
  char *const *envp;                  /* NULL-terminated */
  const char *input, *output, *error; /* files for the standard streams; output and error are made or emptied */
  bool bound; /* the program is killed (SIGKILL) when the calling thread ends, unless it is set-user-ID, or selects
                 another signal */
};

/*
 * pml_command_spawn - make a child that will become @argv (NULL-terminated; argv[0] is looked for in PATH).
 * pml_command_spawn_with - the same in another setting. A file that cannot be opened is reported by
 * pml_command_start(). Returns 0 or a negative code (-EAGAIN, -ENOMEM, -EMFILE: no process, no descriptor; -ENOENT:
 * pmlua-starter is not installed). *c is closed on failure. Pair with pml_command_close(), which kills a child that is
 * still there. Cost: two processes, half a millisecond. Not async-signal-safe.
 */
int pml_command_spawn(struct pml_command *c, char *const *argv);
PML__SHARED int pml_command_spawn_with(struct pml_command *c, char *const *argv,
                                       const struct pml_command_setting *setting);

/*
 * pml_command_start - let the child become its program, once.
 * Returns 0, -EALREADY, PML_ECLOSED, or why execve(2) or open(2) failed (-ENOENT, -EACCES, ...; the child is gone
 * then).
 */
PML__SHARED int pml_command_start(struct pml_command *c);

/*
 * pml_command_wait - wait for its end, at most @timeout_ms (-1: as long as it takes); again: the same answer.
 * Returns 0 with c->end filled, -ETIMEDOUT, -EINTR (a signal handler ran; the child is untouched), PML_EMODE (not
 * started, so it would not end) or PML_ECLOSED.
 */
PML__SHARED int pml_command_wait(struct pml_command *c, int timeout_ms);

/* pml_command_kill - send @sig (0: ask whether it is there). Returns 0, -ESRCH once it is reaped, -EINVAL. */
PML__SHARED int pml_command_kill(struct pml_command *c, int sig);

/* pml_command_close - kill (SIGKILL) and reap a child that is still there. Idempotent. */
PML__SHARED void pml_command_close(struct pml_command *c);

PML_END_DECLS

#endif
