/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/log/pml_log.h - a process's log: one file with its measurements, which survives however the process ends.
 * Internal.
 *
 * The file is mapped shared and grows in extents (pml_growable.h); a directory at its beginning says what each is. Its
 * format is defined in docs/log.md. A thread writes its own records in place; readers take them while they are written,
 * after the process ended, or cut short.
 *
 * In a child, shared mappings belong to the parent. Therefore a child makes a separate log, and hot paths find the
 * memory that they write to through memory that the kernel clears in each child: see pml__log_extent().
 */
#ifndef PML_LOG_H
#define PML_LOG_H

#include "base/pml_process.h"
#include "base/pml_region.h"
#include "record/log/pml_growable.h"
#include "record/log/pml_log_format.h"

#include <stdbool.h>
#include <stddef.h>

#define PML__LOG_CHILDREN_EXTENTS 32u

struct pml__log_part;
struct pml__log_last;

struct pml__log {
  struct pml__log_head *head;
  struct pml__growable file;
  struct pml__lock lock; /* guards what follows, and the writing of entries and definitions */
  uint64_t end;          /* of the file */
  struct pml__log_entry *directory, *definitions;
  uint32_t used; /* entries of the current directory */
  char *room;    /* the current extent of definitions */
  struct pml__log_part *parts, *unused;
  struct pml__log_last *last;                                    /* NULL: moved-out extents stay */
  bool sealed;                                                   /* atomic */
  struct pml__log_children *children[PML__LOG_CHILDREN_EXTENTS]; /* atomic, from the first one on; the last has room */
};

/* Metadata of the owning process at the beginning of the log. */
struct pml__log_process {
  const char *name; /* file name without its extension; NULL: [rankN.]HOST.PID */
  int rank, size;   /* -1: not known */
  uint64_t started_ns, started_ticks;
};

/*
 * pml__log_open - make a log in the folder @folder, an absolute path: NAME.pmlog, or, if there is one, NAME.2.pmlog and
 * so on. Existing files are not overwritten, and links not followed. It stays mapped until the process ends, and in
 * children, which must not use it. Without @folder (NULL) the log is in memory and has no name.
 * Returns 0, -errno or -ENOMEM; *@log is NULL on failure. Not async-signal-safe.
 */
int pml__log_open(struct pml__log **log, const char *folder, const struct pml__log_process *process);

/*
 * pml__log_abandon - in a child: unmap its parent's log, and leave the heap memory alone, because threads of the parent
 * may have been changing it. pml__log_close - stop writing; the file remains. Only if no other part of the process uses
 * the log.
 */
void pml__log_abandon(struct pml__log *log);
void pml__log_close(struct pml__log *log);

/*
 * pml__log_share - let other parts of the process also write into @log, which must then stay open. NULL: no log is
 * shared, as in a child that has not made its own yet. pml__log_shared - that log, or NULL.
 */
void pml__log_share(struct pml__log *log);
struct pml__log *pml__log_shared(void);

/*
 * pml__log_seal - from now on no system call is made for the log: it does not grow. For a process that revokes its
 * right to system calls. One store; async-signal-safe.
 */
static inline void pml__log_seal(struct pml__log *log) {
  __atomic_store_n(&log->sealed, true, __ATOMIC_RELAXED);
}
static inline bool pml__log_is_sealed(const struct pml__log *log) {
  return __atomic_load_n(&log->sealed, __ATOMIC_RELAXED);
}

/*
 * pml__log_extent - @bytes of the file, zeroed, aligned to 4096; NULL: no room, which the head says from now on.
 * @behind: this many bytes behind it are private memory, zeroed, that the kernel clears in each child: there is what a
 * hot path looks at before it writes. @bytes is a multiple of 4096 then.
 * @entry: the extent's, to be given to pml__log_commit() or pml__log_free().
 * A lock and some system calls. Thread-safe.
 */
void *pml__log_extent(struct pml__log *log, enum pml__log_kind kind, uint32_t key, uint64_t owner, size_t bytes,
                      size_t behind, struct pml__log_entry **entry);

/*
 * pml__log_child - an entry for a child that the calling thread is about to fork, with its parent and the time; NULL:
 * no room, or not now. @grows: there may be more room; only in the process that writes the log. Never waits for a lock,
 * allocates nothing: async-signal-safe. The rest of the entry is the child's, while it has the log mapped.
 */
struct pml__log_child *pml__log_child(struct pml__log *log, bool grows, int parent);

/* pml__log_commit - the first @bytes of an extent are whole. One store. */
static inline void pml__log_commit(struct pml__log_entry *entry, uint64_t bytes) {
  __atomic_store_n(&entry->committed, bytes, __ATOMIC_RELEASE);
}

/*
 * pml__log_move_out - write the contents of extent @entry, at @memory, to a new extent, which is not mapped. The only
 * writer of @entry then empties it and uses it again: its memory is mapped and cached already, and does not grow with
 * the file. Writing 64 KiB takes some 10 us; mapping and touching as much takes ten times as long on some machines. The
 * caller stores an end mark at the beginning, calls pml__log_moved_out(), and clears the rest: if the process ends in
 * between, a reader finds each record once. Returns 0; 1 if it replaced an older extent; -EPERM if the log is sealed;
 * -EDQUOT at the limit of extents; another -errno, which is then stored in the head.
 */
int pml__log_move_out(struct pml__log *log, const struct pml__log_entry *entry, const void *memory);
static inline void pml__log_moved_out(struct pml__log_entry *entry) {
  __atomic_store_n(&entry->turn, entry->turn + 1, __ATOMIC_RELEASE);
#ifndef __SANITIZE_THREAD__                /* does not support fences; readers are other processes */
  __atomic_thread_fence(__ATOMIC_RELEASE); /* a reader that sees the cleared data sees the turn */
#endif
}

/*
 * pml__log_keep_last - limit moved-out extents to the last @bytes, in extents of @each, at least four. A new extent
 * then overwrites the oldest, even one of another thread; its directory entry is new, so the directory still grows, by
 * a thousandth of the bytes written. In an MPI rank no extent is overwritten, and at the limit no more are moved out,
 * because readers match the first send with the first receive. Call it once, before any extent is moved out. Returns 0
 * or -ENOMEM.
 */
int pml__log_keep_last(struct pml__log *log, uint64_t bytes, uint64_t each);

/* pml__log_unmap - unmap an extent, which stays in the file. Does nothing if the log is sealed. */
void pml__log_unmap(struct pml__log *log, const struct pml__log_entry *entry);
/* pml__log_entry_of - the entry of the extent that is mapped at @memory, or NULL. A lock and a search. */
struct pml__log_entry *pml__log_entry_of(struct pml__log *log, const void *memory);

/* pml__log_free - readers find the extent no more; its memory is given out again. */
void pml__log_free(struct pml__log *log, struct pml__log_entry *entry);

/*
 * pml__log_define - a definition: @bytes of @fixed, then @n texts. 0 or -errno. A lock. Thread-safe.
 * 8 KiB are reserved, so that the final notes of a process have room even on a full disk.
 */
int pml__log_define(struct pml__log *log, enum pml__log_what what, const void *fixed, size_t bytes,
                    const char *const *text, size_t n);

/* pml__log_region - define region @id. 0, or an error that may be ignored: readers show no name. As pml__log_define().
 */
int pml__log_region(struct pml__log *log, pml_region_t id);

/* pml__log_rank - of MPI, where it was not known at first. */
static inline void pml__log_rank(struct pml__log *log, int rank, int size) {
  __atomic_store_n(&log->head->rank, rank, __ATOMIC_RELAXED);
  log->head->size = size;
}

/* pml__log_epoch - sums of another epoch are of before a reset. One store. */
static inline void pml__log_epoch(struct pml__log *log, uint32_t epoch) {
  __atomic_store_n(&log->head->epoch, epoch, __ATOMIC_RELEASE);
}

/*
 * pml__log_single - the head of a log in @memory, of PML__LOG_DIRECTORY zeros: of this process, with one extent of
 * @bytes behind the head, which the caller writes. For what must not grow.
 */
void pml__log_single(void *memory, enum pml__log_kind kind, size_t bytes);

/* pml__log_remove - delete @log and its file. Extents of @kept stay mapped: their users unmap them. */
void pml__log_remove(struct pml__log *log, enum pml__log_kind kept);

/*
 * pml__log_end - the process ends by exit.
 * pml__log_left - by _exit. Async-signal-safe.
 * pml__log_waited - the process of the log at @path ended at @ns, as @waited says (see the head), unless the log says
 * that itself. By another process. Returns 0, -errno, or PML_EFORMAT.
 */
void pml__log_end(struct pml__log *log);
void pml__log_left(struct pml__log *log);
PML__SHARED int pml__log_waited(const char *path, uint32_t waited, uint64_t ns);

/* ---- pml_log.c for pml_log_child.c ---- */

/* Whole pages as an extent without waiting or allocation, of no part: the caller unmaps them. NULL: not now. */
void *pml__log_extent_now(struct pml__log *log, enum pml__log_kind kind, size_t bytes);
void pml__log_children_unmap(struct pml__log *log);

#endif
