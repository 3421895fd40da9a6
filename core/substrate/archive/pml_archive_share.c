/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/archive/pml_archive_share.c - the folder of processes that write an archive together. */
#include "substrate/archive/pml_archive_share.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/trace/pml_otf2_write.h"
#include "substrate/trace/pml_serialize.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(10000000000)
#define STEP_NS 2000000
#define TRIES 100 /* to lock a folder that other leaders remove meanwhile */
#define LOCK "lock"
#define PLAN "plan"
#define UNITING "uniting" /* from when the leader begins the archive itself until it is whole */

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  (void)remove(path);
  return 0;
}

static int remove_inside(const char *path, const struct stat *st, int type, struct FTW *at) {
  bool kept = at->level == 0 || (at->level == 1 && strcmp(path + at->base, LOCK) == 0);
  return kept ? 0 : remove_one(path, st, type, at);
}

static int remove_part(const char *path, const struct stat *st, int type, struct FTW *at) {
  bool kept = at->level == 1 && strcmp(path + at->base, UNITING) == 0;
  return kept ? 0 : remove_inside(path, st, type, at);
}

void pml__archive_remove(const char *path) {
  (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int cannot_share(const struct pml__archive_share *s, int err) {
  return pml_fail(err, "cannot work in the folder '%s': %s", s->dir, pml_error_text(err));
}

/* Whether @path still names the open file: the leader that held the lock before may have removed it. */
static bool names_still(const char *path, int fd) {
  struct stat named, opened;
  return lstat(path, &named) == 0 && fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

/* 0, -EBUSY: another leader has it, -EAGAIN: it was removed meanwhile, or -errno. */
static int lock_once(struct pml__archive_share *s, const char *path) {
  if (mkdir(s->dir, 0777) != 0 && errno != EEXIST) return -errno;
  int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) return errno == ENOENT ? -EAGAIN : -errno;
  int err = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno == EWOULDBLOCK ? -EBUSY : -errno;
  if (err == 0 && !names_still(path, fd)) err = -EAGAIN;
  if (err == 0)
    s->lock = fd;
  else
    close(fd);
  return err;
}

static int lock(struct pml__archive_share *s) {
  char path[sizeof s->dir + sizeof LOCK];
  int err = -EAGAIN;
  (void)snprintf(path, sizeof path, "%s/" LOCK, s->dir);
  for (int i = 0; i < TRIES && err == -EAGAIN; i++) err = lock_once(s, path);
  return err == -EAGAIN ? -EBUSY : err;
}

static void empty(const struct pml__archive_share *s) {
  (void)nftw(s->dir, remove_inside, 16, FTW_DEPTH | FTW_PHYS);
}

static int name_folder(struct pml__archive_share *s, const char *dir) {
  if ((size_t)snprintf(s->dir, sizeof s->dir, "%s/.making-traces", dir) < sizeof s->dir) return 0;
  return pml_fail(-ENAMETOOLONG, "the path of the trace's folder is too long: '%.200s...'", dir);
}

static void path_of_uniting(const struct pml__archive_share *s, char path[PATH_MAX]) {
  (void)snprintf(path, PATH_MAX, "%s/" UNITING, s->dir);
}

int pml__archive_share_uniting(const struct pml__archive_share *s) {
  char path[PATH_MAX];
  path_of_uniting(s, path);
  int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0) return cannot_share(s, -errno);
  close(fd);
  return 0;
}

void pml__archive_share_united(const struct pml__archive_share *s) {
  (void)nftw(s->dir, remove_part, 16, FTW_DEPTH | FTW_PHYS);
}

/* What a leader left that was killed before its archive was whole: libotf2 writes the anchor last, and at once. */
static void remove_cut(const struct pml__archive_share *s, const char *dir) {
  static const char *const ending[] = {".otf2", ".def", ""};
  char path[PATH_MAX];
  struct stat st;
  path_of_uniting(s, path);
  if (access(path, F_OK) != 0) return;
  for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
    (void)snprintf(path, sizeof path, "%s/" PML__OTF2_NAME "%s", dir, ending[i]);
    if (i == 0 && lstat(path, &st) == 0 && st.st_size > 0) return;
    pml__archive_remove(path);
  }
}

int pml__archive_share_open(struct pml__archive_share *s, const char *dir) {
  int named = name_folder(s, dir);
  if (named < 0) return named;
  int err = lock(s);
  if (err == -EBUSY) return pml_fail(err, "another process is writing this trace: it works in '%s'", s->dir);
  if (err < 0) return cannot_share(s, err);
  remove_cut(s, dir);
  empty(s);
  return 0;
}

/*
 * Removing the lock ends the leadership: from then on the folder may be another leader's, and is removed only if it is
 * empty. What a helper makes meanwhile is removed as its leader again.
 */
void pml__archive_share_close(struct pml__archive_share *s) {
  char path[sizeof s->dir + sizeof LOCK];
  (void)snprintf(path, sizeof path, "%s/" LOCK, s->dir);
  for (int round = 0; round < 10 && s->lock >= 0; round++) {
    empty(s);
    (void)unlink(path);
    close(s->lock);
    s->lock = -1;
    if (rmdir(s->dir) != 0) (void)lock(s);
  }
  if (s->lock >= 0) close(s->lock);
  s->lock = -1;
}

int pml__archive_share_await(struct pml__archive_share *s, const char *dir, uint64_t wait_ns) {
  char path[PATH_MAX];
  const struct timespec step = {.tv_nsec = STEP_NS};
  uint64_t since = pml_clock_ns();
  int err = name_folder(s, dir);
  if (err < 0) return err;
  (void)snprintf(path, sizeof path, "%s/" PLAN, s->dir);
  while (access(path, F_OK) != 0) {
    if (pml_clock_ns() - since > wait_ns) return pml_fail(-ETIMEDOUT, "no trace is being made in '%s'", dir);
    (void)nanosleep(&step, NULL);
  }
  return 0;
}

/* ---- claims ---- */

static void path_of(const struct pml__archive_share *s, uint32_t i, const char *ending, char path[PATH_MAX]) {
  (void)snprintf(path, PATH_MAX, "%s/%u%s", s->dir, i, ending);
}

bool pml__archive_claim(struct pml__archive *a, uint32_t i) {
  path_of(&a->share, i, ".claim", a->share.claim);
  int fd = open(a->share.claim, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  close(fd);
  return true;
}

void pml__archive_beat(const struct pml__archive *a) {
  (void)utimensat(AT_FDCWD, a->share.claim, NULL, 0);
}

void pml__archive_yield(const struct pml__archive *a) {
  (void)unlink(a->share.claim);
}

static bool same_time(struct timespec a, struct timespec b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool pml__archive_done(const struct pml__archive *a, uint32_t i) {
  char claim[PATH_MAX], part[PATH_MAX];
  struct stat st;
  const struct timespec step = {.tv_nsec = STEP_NS};
  struct timespec last = {0};
  uint64_t since = pml_clock_ns();
  path_of(&a->share, i, ".claim", claim);
  path_of(&a->share, i, "", part);
  while (access(part, F_OK) != 0) {
    if (stat(claim, &st) != 0) return false;
    if (!same_time(st.st_mtim, last)) since = pml_clock_ns();
    last = st.st_mtim;
    if (pml_clock_ns() - since > PATIENCE_NS) return false;
    (void)nanosleep(&step, NULL);
  }
  return true;
}

/* ---- the plan ---- */

static void serialize_clock(struct pml__serializer *c, struct pml__archive_clock *k) {
  pml__serialize_64(c, &k->started_ns);
  pml__serialize_64(c, &k->started_ticks);
  pml__serialize_real(c, &k->ns_per_tick);
  pml__serialize_list(c, (void **)&k->offset, &k->noffsets, sizeof *k->offset);
  for (size_t i = 0; i < k->noffsets; i++) {
    pml__serialize_64(c, &k->offset[i].ticks);
    pml__serialize_64(c, (uint64_t *)&k->offset[i].ns);
  }
  pml__serialize_list(c, (void **)&k->shift, &k->nshifts, sizeof *k->shift);
  for (size_t i = 0; i < k->nshifts; i++) {
    pml__serialize_64(c, &k->shift[i].ns);
    pml__serialize_64(c, (uint64_t *)&k->shift[i].by);
  }
}

/* The archive's communicators have the names and members. */
static void serialize_known(struct pml__serializer *c, struct pml__archive_comm *k) {
  pml__serialize_32(c, &k->is.number);
  pml__serialize_int(c, &k->is.rank);
  pml__serialize_32(c, &k->ref);
}

static void serialize_window(struct pml__serializer *c, struct pml__archive_window *w) {
  pml__serialize_32(c, &w->is.number);
  pml__serialize_32(c, &w->is.communicator);
  pml__serialize_32(c, &w->ref);
}

static void serialize_log(struct pml__serializer *c, struct pml__archive_process *p) {
  struct pml_archive_log *log = c->reads ? &p->planned : (struct pml_archive_log *)(uintptr_t)p->log;
  p->log = log;
  pml__serialize_text(c, (char **)(uintptr_t)&log->path);
  pml__serialize_list(c, (void **)(uintptr_t)&log->series, &log->nseries, sizeof *log->series);
  for (size_t i = 0; i < log->nseries; i++) pml__serialize_text(c, (char **)(uintptr_t)&log->series[i]);
}

static void serialize_process(struct pml__serializer *c, struct pml__archive_process *p) {
  serialize_log(c, p);
  pml__serialize_text(c, &p->name);
  pml__serialize_text(c, &p->host);
  pml__serialize_int(c, &p->pid);
  pml__serialize_int(c, &p->rank);
  pml__serialize_32(c, &p->index);
  pml__serialize_32(c, &p->keeper);
  serialize_clock(c, &p->own);
  pml__serialize_list(c, (void **)&p->delay, &p->ndelays, sizeof *p->delay);
  for (size_t i = 0; i < p->ndelays; i++) {
    pml__serialize_64(c, &p->delay[i].ticks);
    pml__serialize_64(c, &p->delay[i].ns);
  }
  pml__serialize_list(c, (void **)&p->comm, &p->ncomms, sizeof *p->comm);
  for (size_t i = 0; i < p->ncomms; i++) serialize_known(c, &p->comm[i]);
  pml__serialize_list(c, (void **)&p->window, &p->nwindows, sizeof *p->window);
  for (size_t i = 0; i < p->nwindows; i++) serialize_window(c, &p->window[i]);
}

static void serialize_comm(struct pml__serializer *c, struct pml__otf2_comm *k) {
  pml__serialize_text(c, &k->name);
  pml__serialize_bool(c, &k->self);
  pml__serialize_bool(c, &k->inter);
  for (int side = 0; side < 2; side++) {
    size_t n = k->n[side];
    pml__serialize_list(c, (void **)&k->member[side], &n, sizeof *k->member[side]);
    k->n[side] = (uint32_t)n;
    for (size_t i = 0; i < n; i++) pml__serialize_32(c, &k->member[side][i]);
  }
}

static void serialize_plan(struct pml__serializer *c, struct pml__archive *a) {
  size_t ncomms = a->mpi.ncomms;
  pml__serialize_64(c, &a->origin_ns);
  pml__serialize_32(c, &a->mpi.nranks);
  pml__serialize_list(c, (void **)&a->mpi.comm, &ncomms, sizeof *a->mpi.comm);
  a->mpi.ncomms = (uint32_t)ncomms;
  for (size_t i = 0; i < ncomms; i++) serialize_comm(c, &a->mpi.comm[i]);
  pml__serialize_list(c, (void **)&a->process, &a->nprocesses, sizeof *a->process);
  for (size_t i = 0; i < a->nprocesses; i++) serialize_process(c, &a->process[i]);
}

static void path_of_plan(const struct pml__archive *a, char path[PATH_MAX]) {
  (void)snprintf(path, PATH_MAX, "%s/" PLAN, a->share.dir);
}

int pml__archive_plan_write(struct pml__archive *a) {
  struct pml__serializer c;
  char path[PATH_MAX];
  path_of_plan(a, path);
  (void)pml__serialize_begin(&c, NULL);
  serialize_plan(&c, a);
  return pml__serialize_end(&c, path);
}

static bool are_ranks(const struct pml__archive *a, const struct pml__otf2_comm *c) {
  bool are = true;
  for (int side = 0; side < 2; side++)
    for (uint32_t i = 0; i < c->n[side]; i++) are &= c->member[side][i] < a->mpi.nranks;
  return are;
}

/* Whether the numbers in the plan are in range. Each job has a process here, except those that stand for others. */
static bool is_sound(const struct pml__archive *a) {
  bool sound = a->mpi.nranks <= (a->nprocesses + 1) * PML__ARCHIVE_RANKS_MAX;
  for (uint32_t i = 0; i < a->mpi.ncomms; i++) sound &= are_ranks(a, &a->mpi.comm[i]);
  for (size_t i = 0; i < a->nprocesses; i++) {
    const struct pml__archive_process *p = &a->process[i];
    sound &= p->keeper < a->nprocesses && (p->rank < 0 || p->index < a->mpi.nranks);
    for (size_t k = 0; p->rank >= 0 && k < p->ncomms; k++) sound &= p->comm[k].ref < a->mpi.ncomms;
  }
  return sound;
}

int pml__archive_plan_read(struct pml__archive *a) {
  struct pml__serializer c;
  char path[PATH_MAX];
  path_of_plan(a, path);
  int err = pml__serialize_begin(&c, path);
  if (err < 0) return err;
  serialize_plan(&c, a);
  err = pml__serialize_end(&c, path);
  if (err == 0 && !is_sound(a)) err = pml_fail(PML_EFORMAT, "%s: damaged; make the trace again", path);
  for (size_t i = 0; err == 0 && i < a->nprocesses; i++) a->process[i].clock = &a->process[a->process[i].keeper].own;
  if (err == 0) a->mpi.location = calloc((size_t)a->mpi.nranks + 1, sizeof *a->mpi.location);
  return err == 0 && a->mpi.location == NULL ? pml_fail(-ENOMEM, "no memory for %u ranks of a trace", a->mpi.nranks)
                                             : err;
}
