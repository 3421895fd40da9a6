/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/live/live_socket.h - sockets of running applications: folder, names, permissions.
 *
 * The folder is $XDG_RUNTIME_DIR/pmlua where that variable names a folder of ours, else /tmp/pmlua-UID; mode 0700. In
 * it, each application that can be asked has a socket PID.NAME, mode 0600. Failures are negative codes whose
 * pml_error_detail() names the file. Thread-safe.
 */
#ifndef LIVE_SOCKET_H
#define LIVE_SOCKET_H

#include "live/live_descriptor.h"

#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#define LIVE_NAME_MAX 32 /* bytes, without the zero */
#define LIVE_PATH_MAX sizeof((struct sockaddr_un *)0)->sun_path

/*
 * live_socket_folder - the folder, made if it is not there. -ENAMETOOLONG, -EPERM if it is a link, not ours or open to
 * others, or why it cannot be made.
 */
int live_socket_folder(char folder[LIVE_PATH_MAX]);

/* live_socket_name - @name as part of a file's name: [A-Za-z0-9_.-], others become _; NULL or "": the program's. */
void live_socket_name(char out[LIVE_NAME_MAX + 1], const char *name);

/*
 * live_socket_listen - a socket that listens as PID.NAME of this process, non-blocking, closed by exec. One of an
 * earlier process of that number, without a listener, is replaced. Returns 0; -EADDRINUSE if it has a listener,
 * and @d holds none. The caller closes it and unlinks @path.
 */
int live_socket_listen(struct live_descriptor *d, char path[LIVE_PATH_MAX], const char *name);

/* live_socket_clean - remove the sockets of the folder that have no listener any more. */
void live_socket_clean(const char *folder);

/* live_socket_admit - is the peer of a connection us, or root? 0 or -EPERM. */
int live_socket_admit(int fd);

#endif
