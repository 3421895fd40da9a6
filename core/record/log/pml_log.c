/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/log/pml_log.c - log writer: head, directory, extents and definitions. */
#include "record/log/pml_log.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAMES_MAX 1000
#define MOVED_AT_ONCE 1024u /* extents that are being written while there are as many as there may be */

/* A mapped extent, followed by its private memory, if it has some. */
struct pml__log_part {
  struct pml__log_part *next;
  struct pml__log_entry *entry;
  char *mapped;
  size_t bytes, behind; /* whole pages */
};

/* Extents that were moved out, the oldest first. */
struct pml__log_moved {
  struct pml__log_moved *next;
  struct pml__log_entry *entry;
};
struct pml__log_last {
  size_t n, most, used, room; /* how many there are, and may be; of @moved */
  struct pml__log_moved *first, **end, moved[];
};

static size_t whole_pages(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

/* ---- extents, under the lock ---- */

static int map_part(struct pml__log *log, struct pml__log_part *p) {
  char *there = NULL;
  void *memory;
  if (p->behind > 0) {
    there = mmap(NULL, p->bytes + p->behind, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (there == MAP_FAILED) return -errno;
    /* Refused: children of fork() are noticed all the same. */
    (void)madvise(there + p->bytes, p->behind, MADV_WIPEONFORK);
  }
  int err = pml__growable_map(&log->file, log->end, p->bytes, there, &memory);
  if (err < 0) {
    if (p->behind > 0) (void)munmap(there, p->bytes + p->behind);
    return err;
  }
  p->mapped = memory;
  log->end += p->bytes;
  return 0;
}

static struct pml__log_part *make_part(struct pml__log *log, size_t bytes, size_t behind, int *err) {
  struct pml__log_part *p = calloc(1, sizeof *p);
  *err = -ENOMEM;
  if (p == NULL) return NULL;
  p->bytes = bytes;
  p->behind = behind;
  *err = map_part(log, p);
  if (*err < 0) {
    free(p);
    return NULL;
  }
  p->next = log->parts;
  log->parts = p;
  return p;
}

static struct pml__log_part *reuse(struct pml__log *log, size_t bytes, size_t behind) {
  struct pml__log_part **at = &log->unused;
  while (*at != NULL && ((*at)->bytes != bytes || (*at)->behind != behind)) at = &(*at)->next;
  struct pml__log_part *p = *at;
  if (p == NULL) return NULL;
  *at = p->next;
  memset(p->mapped, 0, p->bytes + p->behind);
  p->next = log->parts;
  log->parts = p;
  return p;
}

static struct pml__log_entry *take_entry(struct pml__log *log) {
  __atomic_store_n(&log->head->entries, log->head->entries + 1, __ATOMIC_RELEASE);
  return &log->directory[log->used++];
}

static void fill_entry(struct pml__log_entry *e, enum pml__log_kind kind, uint32_t key, uint64_t owner, uint64_t at,
                       uint64_t bytes, const void *memory) {
  e->key = key;
  e->owner = owner;
  e->at = at;
  e->bytes = bytes;
  e->committed = 0;
  e->address = (uintptr_t)memory;
  __atomic_store_n(&e->kind, kind, __ATOMIC_RELEASE);
}

/* The last entry of a directory is kept for the next one. */
static bool has_entry_here(const struct pml__log *log) {
  uint32_t most = PML__LOG_DIRECTORY / sizeof(struct pml__log_entry);
  if (log->directory == (void *)((char *)log->head + PML__LOG_ENTRIES_AT))
    most -= PML__LOG_ENTRIES_AT / (uint32_t)sizeof(struct pml__log_entry);
  return log->used < most - 1;
}

static bool has_entry(struct pml__log *log, int *err) {
  if (has_entry_here(log)) return true;
  uint64_t at = log->end;
  struct pml__log_part *p = make_part(log, whole_pages(PML__LOG_DIRECTORY), 0, err);
  if (p == NULL) return false;
  fill_entry(take_entry(log), PML__LOG_MORE, 0, 0, at, PML__LOG_DIRECTORY, p->mapped);
  log->directory = (struct pml__log_entry *)(void *)p->mapped;
  log->used = 0;
  return true;
}

/* An extent with private memory ends at a page boundary. */
static size_t offset(const struct pml__log_part *p, size_t bytes) {
  return p->behind > 0 ? p->bytes - bytes : 0;
}

static struct pml__log_part *extent(struct pml__log *log, enum pml__log_kind kind, uint32_t key, uint64_t owner,
                                    size_t bytes, size_t behind) {
  int err;
  struct pml__log_part *p = reuse(log, whole_pages(bytes), whole_pages(behind));
  if (p != NULL) {
    fill_entry(p->entry, kind, key, owner, p->entry->at, bytes, p->mapped + offset(p, bytes));
    return p;
  }
  if (pml__log_is_sealed(log)) return NULL;
  bool has = has_entry(log, &err);
  uint64_t at = log->end;
  if (has) p = make_part(log, whole_pages(bytes), whole_pages(behind), &err);
  if (p == NULL) {
    __atomic_store_n(&log->head->refused, -err, __ATOMIC_RELAXED);
    return NULL;
  }
  p->entry = take_entry(log);
  fill_entry(p->entry, kind, key, owner, at + offset(p, bytes), bytes, p->mapped + offset(p, bytes));
  return p;
}

void *pml__log_extent(struct pml__log *log, enum pml__log_kind kind, uint32_t key, uint64_t owner, size_t bytes,
                      size_t behind, struct pml__log_entry **entry) {
  int saved = errno;
  pml__lock_take(&log->lock);
  struct pml__log_part *p = extent(log, kind, key, owner, bytes, behind);
  pml__lock_leave(&log->lock);
  errno = saved;
  if (p == NULL) return NULL;
  *entry = p->entry;
  return p->mapped + offset(p, bytes);
}

void *pml__log_extent_now(struct pml__log *log, enum pml__log_kind kind, size_t bytes) {
  void *memory;
  if (pml__log_is_sealed(log) || !pml__lock_try(&log->lock)) return NULL;
  uint64_t at = log->end;
  bool has = has_entry_here(log) && pml__growable_map(&log->file, at, bytes, NULL, &memory) == 0;
  if (has) {
    log->end += bytes;
    fill_entry(take_entry(log), kind, 0, 0, at, bytes, memory);
  }
  pml__lock_leave(&log->lock);
  return has ? memory : NULL;
}

/* ---- moved-out extents ---- */

int pml__log_keep_last(struct pml__log *log, uint64_t bytes, uint64_t each) {
  size_t most = bytes / each > 4 ? (size_t)(bytes / each) : 4, room = most + MOVED_AT_ONCE;
  struct pml__log_last *last = calloc(1, sizeof *last + room * sizeof last->moved[0]);
  if (last == NULL) return -ENOMEM;
  last->most = most;
  last->room = room;
  last->end = &last->first;
  log->last = last;
  return 0;
}

/* An extent that is still being written stays, and is replaced next: its thread has no younger extent, so each thread's
 * oldest is replaced first. NULL: all are being written. */
static struct pml__log_moved *take_oldest(struct pml__log_last *last) {
  struct pml__log_moved **at = &last->first;
  while (*at != NULL && __atomic_load_n(&(*at)->entry->kind, __ATOMIC_ACQUIRE) == PML__LOG_FREE) at = &(*at)->next;
  struct pml__log_moved *m = *at;
  if (m == NULL) return NULL;
  *at = m->next;
  if (last->end == &m->next) last->end = at;
  last->n--;
  return m;
}

static void put_youngest(struct pml__log_last *last, struct pml__log_moved *m, struct pml__log_entry *entry) {
  m->entry = entry;
  m->next = NULL;
  *last->end = m;
  last->end = &m->next;
  last->n++;
}

/* A place in the file and an entry, which is not used yet. */
struct reserved {
  struct pml__log_entry *entry; /* NULL: no room, or as many as there may be */
  uint64_t at;
  bool goes; /* the previous contents are dropped */
};

/* Readers see that it goes before anything is written there. */
static struct reserved in_place_of_oldest(struct pml__log *log) {
  struct reserved r = {NULL, 0, true};
  struct pml__log_moved *m = take_oldest(log->last);
  if (m == NULL) return r;
  r.at = m->entry->at;
  __atomic_store_n(&m->entry->kind, PML__LOG_FREE, __ATOMIC_RELEASE);
  r.entry = take_entry(log);
  put_youngest(log->last, m, r.entry);
  return r;
}

static struct reserved at_the_end(struct pml__log *log, uint64_t bytes, int *err) {
  struct reserved r = {NULL, log->end, false};
  struct pml__log_last *last = log->last;
  *err = -ENOMEM;
  if (last != NULL && last->used == last->room) return r;
  r.entry = take_entry(log);
  if (last != NULL) put_youngest(last, &last->moved[last->used++], r.entry);
  log->end += whole_pages(bytes);
  return r;
}

static struct reserved reserve_locked(struct pml__log *log, uint64_t bytes, int *err) {
  const struct reserved none = {NULL, 0, false};
  bool full = log->last != NULL && log->last->n >= log->last->most;
  *err = 0;
  if (full && __atomic_load_n(&log->head->rank, __ATOMIC_RELAXED) >= 0) return none;
  if (!has_entry(log, err)) return none;
  struct reserved r = full ? in_place_of_oldest(log) : none;
  return r.entry != NULL ? r : at_the_end(log, bytes, err);
}

static struct reserved reserve(struct pml__log *log, uint64_t bytes, int *err) {
  pml__lock_take(&log->lock);
  struct reserved r = reserve_locked(log, bytes, err);
  pml__lock_leave(&log->lock);
  return r;
}

/* Threads write without the lock. After a failed write, the place and its entry stay unused. */
int pml__log_move_out(struct pml__log *log, const struct pml__log_entry *entry, const void *memory) {
  int saved = errno, err = 0;
  if (pml__log_is_sealed(log)) return -EPERM;
  struct reserved r = reserve(log, entry->bytes, &err);
  if (r.entry != NULL) err = pml__growable_write(&log->file, r.at, memory, entry->bytes);
  errno = saved;
  if (r.entry == NULL && err == 0) return -EDQUOT;
  if (err < 0) {
    __atomic_store_n(&log->head->refused, -err, __ATOMIC_RELAXED);
    return err;
  }
  r.entry->turn = entry->turn;
  r.entry->from = entry->at;
  fill_entry(r.entry, entry->kind, entry->key, entry->owner, r.at, entry->bytes, NULL);
  return r.goes;
}

struct pml__log_entry *pml__log_entry_of(struct pml__log *log, const void *memory) {
  pml__lock_take(&log->lock);
  const struct pml__log_part *p = log->parts;
  while (p != NULL && (p->entry == NULL || p->entry->address != (uintptr_t)memory)) p = p->next;
  pml__lock_leave(&log->lock);
  return p != NULL ? p->entry : NULL;
}

static struct pml__log_part *take_out(struct pml__log *log, const struct pml__log_entry *entry) {
  struct pml__log_part **at = &log->parts;
  while (*at != NULL && (*at)->entry != entry) at = &(*at)->next;
  struct pml__log_part *p = *at;
  if (p != NULL) __atomic_store_n(at, p->next, __ATOMIC_RELEASE);
  return p;
}

void pml__log_free(struct pml__log *log, struct pml__log_entry *entry) {
  pml__lock_take(&log->lock);
  struct pml__log_part *p = take_out(log, entry);
  __atomic_store_n(&entry->kind, PML__LOG_FREE, __ATOMIC_RELEASE);
  if (p != NULL) {
    p->next = log->unused;
    log->unused = p;
  }
  pml__lock_leave(&log->lock);
}

static void unmap(const struct pml__log_part *p) {
  (void)munmap(p->mapped, p->bytes + p->behind);
}

void pml__log_unmap(struct pml__log *log, const struct pml__log_entry *entry) {
  if (pml__log_is_sealed(log)) return;
  int saved = errno;
  pml__lock_take(&log->lock);
  struct pml__log_part *p = take_out(log, entry);
  pml__lock_leave(&log->lock);
  if (p != NULL) unmap(p);
  free(p);
  errno = saved;
}

/* ---- definitions ---- */

/* Where the next definition goes, with @kept bytes behind it; NULL: there is no room, as the head says. */
static char *room_for(struct pml__log *log, size_t bytes, size_t kept) {
  if (log->room == NULL || log->definitions->bytes - log->definitions->committed < bytes + kept) {
    size_t most = bytes + kept > PML__LOG_DEFINITIONS_BYTES ? whole_pages(bytes + kept) : PML__LOG_DEFINITIONS_BYTES;
    struct pml__log_part *p = extent(log, PML__LOG_DEFINITIONS, 0, 0, most, 0);
    if (p == NULL) return NULL;
    log->definitions = p->entry;
    log->room = p->mapped;
  }
  return log->room + log->definitions->committed;
}

int pml__log_define(struct pml__log *log, enum pml__log_what what, const void *fixed, size_t bytes,
                    const char *const *text, size_t n) {
  size_t all = sizeof(struct pml__log_definition) + bytes;
  for (size_t i = 0; i < n; i++) all += strlen(text[i]) + 1;
  all = (all + 7) & ~(size_t)7;
  if (all > UINT32_MAX) return -EFBIG;
  int saved = errno;
  pml__lock_take(&log->lock);
  char *at = room_for(log, all, what == PML__LOG_NOTE ? 0 : PML__LOG_NOTES_BYTES);
  int err = at == NULL ? -(pml__log_is_sealed(log) ? ENOSPC : log->head->refused) : 0;
  if (at != NULL) {
    struct pml__log_definition d = {what, (uint32_t)all};
    memcpy(at, &d, sizeof d);
    if (bytes > 0) memcpy(at + sizeof d, fixed, bytes);
    at += sizeof d + bytes;
    for (size_t i = 0; i < n; i++) at = stpcpy(at, text[i]) + 1;
    pml__log_commit(log->definitions, log->definitions->committed + all);
  }
  pml__lock_leave(&log->lock);
  errno = saved;
  return err;
}

int pml__log_region(struct pml__log *log, pml_region_t id) {
  struct pml_region_info info;
  int err = pml_region_describe(id, &info);
  if (err < 0) return err;
  const struct pml__log_region d = {id, info.line};
  return pml__log_define(log, PML__LOG_REGION, &d, sizeof d,
                         (const char *const[]){info.name, info.file, pml__region_kind(id)}, 3);
}

/* ---- life ---- */

/* The 22nd field; the second one, a name in parentheses, may have anything in it. */
static uint64_t birth(void) {
  char text[1024], path[32];
  (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pml__process_pid());
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = '\0';
  const char *at = strrchr(text, ')');
  for (int field = 2; at != NULL && field < 22; field++) at = strchr(at + 1, ' ');
  return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static void write_head(struct pml__log_head *h, const struct pml__log_process *process) {
  pml__process_command(h->command, sizeof h->command);
  (void)gethostname(h->host, sizeof h->host - 1);
  (void)pml_clock_init();
  (void)snprintf(h->clock, sizeof h->clock, "%s", pml__clock_name());
  h->version = PML__LOG_VERSION;
  h->pid = pml__process_pid();
  h->parent = pml__process_parent();
  h->rank = process->rank;
  h->size = process->size;
  h->born = birth();
  h->started_ns = process->started_ns;
  h->started_ticks = process->started_ticks;
  h->ticks_per_second = pml__clock.ticks_per_second;
  __atomic_store_n(&h->magic, PML__LOG_MAGIC, __ATOMIC_RELEASE);
}

void pml__log_single(void *memory, enum pml__log_kind kind, size_t bytes) {
  struct pml__log_head *h = memory;
  struct pml__log_entry *e = (struct pml__log_entry *)(void *)((char *)memory + PML__LOG_ENTRIES_AT);
  const struct pml__log_process process = {
      .rank = -1, .size = -1, .started_ns = pml_clock_realtime_ns(), .started_ticks = pml_clock_ticks()};
  fill_entry(e, kind, 0, 0, PML__LOG_DIRECTORY, bytes, (char *)memory + PML__LOG_DIRECTORY);
  h->entries = 1;
  write_head(h, &process);
}

/* Characters of a host name other than letters, digits and dashes become underscores. */
static void name_file(char *name, size_t size, int rank) {
  char host[65] = "", of_rank[32] = "";
  if (gethostname(host, sizeof host - 1) != 0 || *host == '\0') (void)snprintf(host, sizeof host, "host");
  for (char *c = host; *c != '\0'; c++)
    if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-", *c) == NULL) *c = '_';
  if (rank >= 0) (void)snprintf(of_rank, sizeof of_rank, "rank%d.", rank);
  (void)snprintf(name, size, "%s%s.%d", of_rank, host, (int)pml__process_pid());
}

static int make_file(struct pml__log *log, const char *folder, const char *name) {
  char file[NAME_MAX + 1], path[PATH_MAX + NAME_MAX + 2];
  int in = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), err = in < 0 ? -errno : -EEXIST;
  for (int i = 1; i <= NAMES_MAX && err == -EEXIST; i++) {
    int n =
        i == 1 ? snprintf(file, sizeof file, "%s.pmlog", name) : snprintf(file, sizeof file, "%s.%d.pmlog", name, i);
    if (n >= (int)sizeof file) return -ENAMETOOLONG;
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    pml__growable_end(&log->file);
    err = pml__growable_make(&log->file, in, file, path);
  }
  if (in >= 0) close(in);
  return err;
}

int pml__log_open(struct pml__log **out, const char *folder, const struct pml__log_process *process) {
  int saved = errno;
  struct pml__log *log = calloc(1, sizeof *log);
  void *head = NULL;
  char name[128];
  *out = NULL;
  if (log == NULL) return -ENOMEM;
  log->file.fd = -1;
  if (process->name == NULL) name_file(name, sizeof name, process->rank);
  int err = folder != NULL ? make_file(log, folder, process->name != NULL ? process->name : name)
                           : pml__growable_memory(&log->file);
  if (err == 0) err = pml__growable_map(&log->file, 0, PML__LOG_DIRECTORY, NULL, &head);
  if (err < 0 || head == NULL) {
    if (log->file.fd >= 0 && folder != NULL) (void)unlink(log->file.path);
    pml__growable_end(&log->file);
    free(log);
  } else {
    log->head = head;
    log->end = PML__LOG_DIRECTORY;
    log->directory = (struct pml__log_entry *)(void *)((char *)head + PML__LOG_ENTRIES_AT);
    write_head(log->head, process);
    *out = log;
  }
  errno = saved;
  return err;
}

static struct pml__log *shared; /* atomic */

void pml__log_share(struct pml__log *log) {
  __atomic_store_n(&shared, log, __ATOMIC_RELEASE);
}

struct pml__log *pml__log_shared(void) {
  pml__process_look();
  return __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
}

/* But what hot paths look at to know that they are in a child. */
static void unmap_all(const struct pml__log_part *p) {
  for (; p != NULL; p = p->next)
    if (p->behind == 0) unmap(p);
}

/* The lists of parts change by single stores, so a part that was being moved to the unused ones may stay mapped. */
void pml__log_abandon(struct pml__log *log) {
  unmap_all(log->parts);
  unmap_all(log->unused);
  pml__log_children_unmap(log);
  (void)munmap(log->head, PML__LOG_DIRECTORY);
  pml__growable_close(&log->file);
}

static void free_parts(struct pml__log_part *p) {
  for (struct pml__log_part *next; p != NULL; p = next) {
    next = p->next;
    free(p);
  }
}

void pml__log_close(struct pml__log *log) {
  if (!pml__log_is_sealed(log)) pml__log_abandon(log);
  free_parts(log->parts);
  free_parts(log->unused);
  free(log->last);
  free(log->file.path);
  free(log);
}

static bool is_kept(const struct pml__log_part *p, enum pml__log_kind kept) {
  return p->entry != NULL && p->entry->kind == (uint32_t)kept;
}

static void drop_parts(struct pml__log_part *p, enum pml__log_kind kept) {
  while (p != NULL) {
    struct pml__log_part *next = p->next;
    if (!is_kept(p, kept)) (void)munmap(p->mapped, p->bytes + p->behind);
    free(p);
    p = next;
  }
}

/* Newer parts come first, so that the directory of each is still there. */
void pml__log_remove(struct pml__log *log, enum pml__log_kind kept) {
  (void)unlink(log->file.path);
  pml__growable_end(&log->file);
  drop_parts(log->unused, kept);
  drop_parts(log->parts, kept);
  (void)munmap(log->head, PML__LOG_DIRECTORY);
  free(log->last);
  free(log);
}

static void end_as(struct pml__log *log, enum pml__log_ended how) {
  if (!pml__log_is_sealed(log)) log->head->ended_ns = pml_clock_realtime_ns();
  __atomic_store_n(&log->head->ended, how, __ATOMIC_RELEASE);
}

void pml__log_end(struct pml__log *log) {
  end_as(log, PML__LOG_ENDED_EXIT);
}

void pml__log_left(struct pml__log *log) {
  end_as(log, PML__LOG_ENDED_LEFT);
}

int pml__log_waited(const char *path, uint32_t waited, uint64_t ns) {
  struct pml__log_head h;
  int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -errno;
  int err = pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h && h.magic == PML__LOG_MAGIC ? 0 : PML_EFORMAT;
  bool silent = err == 0 && h.ended == PML__LOG_RUNNING;
  if (silent && (pwrite(fd, &waited, sizeof waited, offsetof(struct pml__log_head, waited)) < 0 ||
                 pwrite(fd, &ns, sizeof ns, offsetof(struct pml__log_head, ended_ns)) < 0))
    err = -errno;
  (void)close(fd);
  return err;
}
