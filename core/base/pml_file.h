/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/pml_file.h - safe access to files with untrusted names or folders: reads never block, writes follow no
 * link.
 */
#ifndef PML_FILE_H
#define PML_FILE_H

#include "base/pml_api.h"

#include <linux/limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

PML_BEGIN_DECLS

/*
 * pml_file_open - open a regular file of at most @max_bytes to read; *@size is its size, if not NULL.
 * A FIFO is not waited for; FIFOs, devices, sockets and folders are refused. Files of /proc and /sys are regular and
 * have the size 0. Returns a descriptor (close-on-exec), or -errno with the sentence "PATH: why" (pml_error_detail).
 */
PML__SHARED int pml_file_open(const char *path, uint64_t max_bytes, uint64_t *size);

/* A file under construction. Caller-allocated; the fields are private, except @fd, which the caller writes to. */
struct pml_file {
  int fd;                            /* -1: closed */
  int folder;                        /* opened folder that both names are in; -1: @fd is what the user named */
  char name[NAME_MAX + 1];           /* that the file gets in the end */
  char temporary[NAME_MAX + 1 + 24]; /* that it has until then */
};

/*
 * pml_file_create - begin a file that will stand at @path, whole or not at all.
 * It is made under a random name in the folder of @path, exclusively, and moved there by pml_file_commit(): a link, a
 * FIFO or a device at @path is replaced, not opened.
 * Returns 0 or -errno with the sentence "PATH: why". Pair with pml_file_commit() or pml_file_discard().
 */
PML__SHARED int pml_file_create(struct pml_file *f, const char *path);

/*
 * pml_file_output - the same for an output path that the user named: an existing FIFO or device, and any path below
 * /dev or /proc, is opened directly, without a temporary file. A FIFO that no program has opened to read is waited for
 * at most 5 s (-ENXIO).
 */
PML__SHARED int pml_file_output(struct pml_file *f, const char *path);

/* pml_file_commit - close it and give it its name. Returns 0 or -errno; either way it is closed, and whole or gone. */
PML__SHARED int pml_file_commit(struct pml_file *f);

/* pml_file_discard - close it; nothing of it stays. Idempotent. */
PML__SHARED void pml_file_discard(struct pml_file *f);

/*
 * pml_file_new - create @path and open it to write; an existing file or link is an error (-EEXIST). Returns a
 * descriptor or -errno with the sentence "PATH: why".
 */
PML__SHARED int pml_file_new(const char *path);

/*
 * pml__file_read - read @n bytes at @offset, or from the descriptor's position if @offset is -1. Returns their
 * number, which is less than @n only at the end of the file, or -errno. pml__file_write - write all @n bytes; 0 or
 * -errno. Both continue after signals. Async-signal-safe.
 */
PML__SHARED ssize_t pml__file_read(int fd, void *to, size_t n, off_t offset);
PML__SHARED int pml__file_write(int fd, const void *bytes, size_t n);

/*
 * pml__file_peek - the first @size - 1 bytes at most of the file @path, such as one of /proc or /sys, with a zero after
 * them. Returns their number or -errno; @text is "" then. Does not wait for a FIFO. Async-signal-safe.
 */
ssize_t pml__file_peek(const char *path, char *text, size_t size);

/*
 * pml__file_high - duplicate @fd, close-on-exec, to a high number: programs expect low numbers for files that they
 * open, and a program that closes every descriptor may reuse a low number while pmlua still uses it. Returns the copy,
 * or -errno. Async-signal-safe; two system calls.
 */
PML__SHARED int pml__file_high(int fd);

PML_END_DECLS

#endif
