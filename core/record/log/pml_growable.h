/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/log/pml_growable.h - a growable file, mapped shared piece by piece. Internal.
 *
 * Writes to a piece are in the kernel's page cache immediately: SIGKILL, exec, _exit and a crash lose none of them. A
 * piece is allocated on the disk before it is mapped, so a full disk is an error instead of a SIGBUS; the limit on file
 * sizes is checked first, so there is no SIGXFSZ. One descriptor is kept, with a high number and closed by exec; before
 * each use it is compared with the file, in case the program closed it and opened another, and if it is gone the file
 * is opened again by its path.
 */
#ifndef PML_GROWABLE_H
#define PML_GROWABLE_H

#include <stdint.h>

/* Zeros, with @fd -1, are a file that was not made. */
struct pml__growable {
  char *path;
  uint64_t dev, ino;
  int fd; /* atomic */
};

/*
 * pml__growable_make - make the file @name in the opened folder @folder (AT_FDCWD: as open() finds it); nothing may
 * stand there, no link either. @path: the same file, absolute if the process may change its folder; copied. Returns 0,
 * -errno or -ENOMEM; call pml__growable_end() either way.
 */
int pml__growable_make(struct pml__growable *g, int folder, const char *name, const char *path);

/* pml__growable_memory - the same in memory (memfd_create): the file has no name and is gone when it is closed. */
int pml__growable_memory(struct pml__growable *g);

/*
 * pml__growable_map - allocate @bytes of the file from @at on and map them: at @there, replacing the mapping at that
 * address, or anywhere if @there is NULL. Returns 0 with *@memory set, or -errno. Thread-safe, if no two calls map the
 * same bytes.
 */
int pml__growable_map(struct pml__growable *g, uint64_t at, uint64_t bytes, void *there, void **memory);

/*
 * pml__growable_write - @bytes of @memory at @at, which are not mapped. Returns 0 or -errno. Thread-safe, if no two
 * write the same bytes.
 */
int pml__growable_write(struct pml__growable *g, uint64_t at, const void *memory, uint64_t bytes);

/* pml__growable_close - close the descriptor, if it still refers to this file; mappings stay. */
void pml__growable_close(struct pml__growable *g);

/* pml__growable_end - closes it, and frees what pml__growable_make() took. */
void pml__growable_end(struct pml__growable *g);

#endif
