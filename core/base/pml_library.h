/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_library.h - checks of shared libraries that dlopen() would ignore, block on or crash with. */
#ifndef PML_LIBRARY_H
#define PML_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * pml__library_foreign - whether the loader, which says that there is no @file, has passed over one for another
 * machine:
 * @file is a path, or a name that is looked for in LD_LIBRARY_PATH. @text: a sentence with its place and machine.
 * Cost: a file is opened for each place.
 */
bool pml__library_foreign(const char *file, char *text, size_t size);

/*
 * pml__library_check - check that the loader can safely open the file at @path: it would block on a FIFO, and a
 * truncated library kills the process by a signal as soon as a missing page is touched. Returns 0, also for a file that
 * is not a library, because the loader reports that itself, or a negative code with the sentence "PATH: why".
 */
int pml__library_check(const char *path);

/*
 * pml__library_own - the path of @file in the folder preload of the build or of the installation that this code is part
 * of. Returns 0, or -ENOENT with a sentence.
 */
int pml__library_own(const char *file, char path[PATH_MAX]);

#endif
