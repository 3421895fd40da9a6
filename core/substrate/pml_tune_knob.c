/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/pml_tune_knob.c - knobs: opening, asking, writing, putting back. */
#include "substrate/pml_tune_knob.h"

#include "base/pml_error.h"
#include "substrate/pml_tune_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

struct request {
  uint64_t owner;
  char text[PML__KNOB_TEXT];
};

struct pml__knob {
  struct pml__knobs *of;
  struct pml__knob *next;
  char *path;
  char value[PML__KNOB_TEXT];
  dev_t device;
  ino_t inode;
  int fd;        /* -1: it cannot be written */
  bool truncate; /* no file of the kernel */
  pthread_mutex_t lock;
  struct pml__guard_slot *slot;
  bool held;    /* no other process has it, and the slot what was there */
  bool refused; /* by the last write */
  bool told_refused, told_other;
  char in_force[PML__KNOB_TEXT]; /* written last; before the first, what is there */
  struct request *request;       /* [n] in the order of asking */
  size_t n, room;
};

struct pml__knobs {
  struct pml__knobs_options options;
  char *root;
  pid_t pid;
  struct pml__knob *first, **last;
  size_t n;
  struct pml__guard *guard;
  struct pml__notes notes;
  atomic_bool ended; /* nothing is written any more */
  _Atomic uint64_t writes, refused;
  struct pml__knobs *next_open;
};

/* --- all that are open, for the end --- */

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pml__knobs *all_open;

static void at_exit(void) {
  if (pthread_mutex_trylock(&open_lock) != 0) return; /* the guard does it */
  for (struct pml__knobs *k = all_open; k != NULL; k = k->next_open) pml__knobs_restore(k);
  pthread_mutex_unlock(&open_lock);
}

static void list(struct pml__knobs *k) {
  static bool registered;
  pthread_mutex_lock(&open_lock);
  if (!registered) registered = atexit(at_exit) == 0;
  k->next_open = all_open;
  all_open = k;
  pthread_mutex_unlock(&open_lock);
}

static void unlist(struct pml__knobs *k) {
  pthread_mutex_lock(&open_lock);
  for (struct pml__knobs **at = &all_open; *at != NULL; at = &(*at)->next_open) {
    if (*at != k) continue;
    *at = k->next_open;
    break;
  }
  pthread_mutex_unlock(&open_lock);
}

/* --- opening --- */

int pml__knobs_open(struct pml__knobs **out, const struct pml__knobs_options *o) {
  *out = NULL;
  struct pml__knobs *k = calloc(1, sizeof *k);
  char *root = strdup(o->root);
  if (k == NULL || root == NULL) {
    free(k);
    free(root);
    return pml_fail(-ENOMEM, "no memory for the files below %s", o->root);
  }
  k->options = *o;
  k->options.root = k->root = root;
  k->pid = getpid();
  k->last = &k->first;
  pml__notes_init(&k->notes);
  list(k);
  *out = k;
  return 0;
}

/* The first line of the file; -errno. */
static int read_line(int fd, char text[PML__KNOB_TEXT]) {
  ssize_t n = pread(fd, text, PML__KNOB_TEXT - 1, 0);
  if (n < 0) return -errno;
  text[n] = '\0';
  text[strcspn(text, "\n")] = '\0';
  return 0;
}

static bool is_kernels(int fd) {
  struct statfs s;
  return fstatfs(fd, &s) == 0 && s.f_type == SYSFS_MAGIC;
}

/* The knob @made, or the one that has its file already. */
static struct pml__knob *append(struct pml__knobs *k, struct pml__knob *made) {
  for (struct pml__knob *x = k->first; x != NULL; x = x->next)
    if (x->device == made->device && x->inode == made->inode) return x;
  *k->last = made;
  k->last = &made->next;
  k->n++;
  return made;
}

/* A lock is gone when each copy of its descriptor is closed, or one is unlocked: forked children may have copies. */
static void free_knob(struct pml__knob *x) {
  if (x->held) (void)flock(x->fd, LOCK_UN);
  if (x->fd >= 0) close(x->fd);
  pthread_mutex_destroy(&x->lock);
  free(x->request);
  free(x->path);
  free(x);
}

/* Open for writing where that is wanted and allowed, else for reading what is there. */
static int open_file(struct pml__knob *x) {
  struct stat st;
  bool dry = x->of->options.dry_run;
  int fd = open(x->path, (dry ? O_RDONLY : O_RDWR) | O_CLOEXEC), refused = fd < 0 ? errno : 0;
  if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS)) fd = open(x->path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  int err = fstat(fd, &st) < 0 ? -errno : read_line(fd, x->value);
  x->device = st.st_dev;
  x->inode = st.st_ino;
  x->truncate = S_ISREG(st.st_mode) && !is_kernels(fd);
  memcpy(x->in_force, x->value, sizeof x->in_force);
  if (dry || refused != 0 || err < 0)
    close(fd);
  else
    x->fd = fd;
  if (refused != 0 && err == 0)
    pml__notes_say(&x->of->notes, "%s: %s: it stays as it is; tuning takes root's rights", x->path,
                   pml_error_name(-refused));
  return err;
}

int pml__knobs_knob(struct pml__knobs *k, const char *path, struct pml__knob **knob) {
  struct pml__knob *x = calloc(1, sizeof *x);
  *knob = NULL;
  if (x == NULL || asprintf(&x->path, "%s/%s", k->root, path) < 0) {
    free(x);
    return pml_fail(-ENOMEM, "no memory for %s/%s", k->root, path);
  }
  x->of = k;
  x->fd = -1;
  pthread_mutex_init(&x->lock, NULL);
  int err = open_file(x);
  *knob = err < 0 ? NULL : append(k, x);
  if (err == -EMFILE) pml_error_note(err, "%s: too many open files; raise the limit with ulimit -n", x->path);
  if (err < 0 && err != -EMFILE) pml_error_note(err, "%s: %s", x->path, pml_error_text(err));
  if (*knob != x) free_knob(x);
  return err;
}

int pml__knobs_guard(struct pml__knobs *k, bool guarded) {
  size_t i = 0;
  int *fd = calloc(k->n + 1, sizeof *fd);
  if (fd == NULL) return pml_fail(-ENOMEM, "no memory for %zu files", k->n);
  bool any = false;
  for (struct pml__knob *x = k->first; x != NULL; x = x->next) {
    fd[i++] = x->fd;
    any = any || x->fd >= 0;
  }
  int err = pml__guard_start(&k->guard, fd, k->n, guarded && any);
  free(fd);
  i = 0;
  for (struct pml__knob *x = k->first; err == 0 && x != NULL; x = x->next) {
    x->slot = pml__guard_slot(k->guard, i++);
    x->slot->truncate = x->truncate;
  }
  return err;
}

/* --- writing; with the knob's lock --- */

/* Nobody else may have it: what he puts back would be ours. Then what is there is what comes back. */
static int hold(struct pml__knob *x) {
  if (x->held) return 0;
  if (flock(x->fd, LOCK_EX | LOCK_NB) < 0) return errno == EWOULDBLOCK ? -EBUSY : -errno;
  int err = read_line(x->fd, x->in_force);
  ssize_t n = err < 0 ? err : pread(x->fd, x->slot->text, sizeof x->slot->text - 1, 0);
  if (n < 0) return err < 0 ? err : -errno;
  x->slot->text[n] = '\0';
  x->slot->n = (uint32_t)strlen(x->slot->text);
  if (x->slot->n == sizeof x->slot->text - 1) return -EFBIG; /* no setting of the kernel's, and no room to keep it */
  x->held = true;
  return 0;
}

/* What the kernel has for a value that cannot be set now. */
static bool is_no_value(const char *text) {
  return text[0] == '<' || text[0] == '\0';
}

static void tell_other(struct pml__knob *x, const char *text) {
  char now[PML__KNOB_TEXT];
  if (x->told_other || read_line(x->fd, now) < 0 || strcmp(now, text) == 0) return;
  x->told_other = true;
  pml__notes_say(&x->of->notes, "%s: %s was written, and it says %s", x->path, text, now);
}

static int write_text(struct pml__knob *x, const char *text) {
  char line[PML__KNOB_TEXT + 1];
  int n = snprintf(line, sizeof line, "%s\n", text);
  atomic_fetch_add_explicit(&x->of->writes, 1, memory_order_relaxed);
  if (!is_no_value(x->slot->text)) atomic_store_explicit(&x->slot->changed, true, memory_order_release);
  int err = pml__guard_write(x->fd, x->truncate, line, (size_t)n);
  if (err == 0) tell_other(x, text);
  return err;
}

/* As it was, to the byte; a value that was none cannot be put back, and is not needed. */
static int write_saved(struct pml__knob *x) {
  if (is_no_value(x->slot->text)) return 0;
  atomic_fetch_add_explicit(&x->of->writes, 1, memory_order_relaxed);
  int err = pml__guard_write(x->fd, x->truncate, x->slot->text, x->slot->n);
  if (err == 0) atomic_store(&x->slot->changed, false);
  return err;
}

static const struct request *wanted(const struct pml__knob *x) {
  if (x->n == 0) return NULL;
  const struct request *best = &x->request[x->n - 1];
  for (size_t i = 0; x->of->options.highest && i < x->n; i++)
    if (strtod(x->request[i].text, NULL) > strtod(best->text, NULL)) best = &x->request[i];
  return best;
}

static int apply(struct pml__knob *x, pml_region_t region) {
  const struct request *r = wanted(x);
  char saved[PML__KNOB_TEXT];
  if (atomic_load_explicit(&x->of->ended, memory_order_relaxed)) return 0;
  int err = 0;
  if (x->fd >= 0) err = hold(x);
  if (x->held)
    snprintf(saved, sizeof saved, "%.*s", (int)strcspn(x->slot->text, "\n"), x->slot->text);
  else
    memcpy(saved, x->value, sizeof saved);
  const char *text = r != NULL ? r->text : saved;
  if (err == 0 && strcmp(text, x->in_force) != 0) {
    if (x->of->options.dry_run)
      pml__notes_log(&x->of->notes, region, x->path, text);
    else if (x->fd >= 0)
      err = r != NULL ? write_text(x, text) : write_saved(x);
    if (err == 0) memcpy(x->in_force, text, strlen(text) + 1);
  }
  x->refused = err < 0;
  return err;
}

/* --- asking --- */

static size_t find(const struct pml__knob *x, uint64_t owner) {
  size_t i = x->n;
  while (i > 0 && x->request[i - 1].owner != owner) i--;
  return i == 0 ? x->n : i - 1;
}

static void take_out(struct pml__knob *x, size_t i) {
  memmove(&x->request[i], &x->request[i + 1], (--x->n - i) * sizeof x->request[0]);
}

int pml__knob_ask(struct pml__knob *x, uint64_t owner, const char *text, pml_region_t region) {
  int err = 0;
  pthread_mutex_lock(&x->lock);
  size_t i = find(x, owner);
  if (i < x->n) take_out(x, i);
  if (x->n == x->room) {
    size_t room = x->room * 2 + 8;
    struct request *more = realloc(x->request, room * sizeof *more);
    if (more == NULL) err = -ENOMEM;
    if (more != NULL) x->request = more, x->room = room;
  }
  if (err == 0) {
    struct request *r = &x->request[x->n++];
    r->owner = owner;
    snprintf(r->text, sizeof r->text, "%s", text);
    err = apply(x, region);
  }
  pthread_mutex_unlock(&x->lock);
  return err;
}

int pml__knob_leave(struct pml__knob *x, uint64_t owner, pml_region_t region) {
  int err = -ENOENT;
  pthread_mutex_lock(&x->lock);
  size_t i = find(x, owner);
  if (i < x->n) {
    take_out(x, i);
    err = apply(x, region);
  }
  pthread_mutex_unlock(&x->lock);
  return err;
}

static void tell_refused(struct pml__knob *x, int err) {
  const struct request *r = wanted(x);
  const char *text = r != NULL ? r->text : x->value, *why = pml_error_text(err);
  if (!x->held && err == -EBUSY) why = "another process, or tuner of this one, has it";
  atomic_fetch_add_explicit(&x->of->refused, 1, memory_order_relaxed);
  if (x->told_refused) return;
  x->told_refused = true;
  pml__notes_say(&x->of->notes, "%s: %s: '%s' was refused: %s; it stays '%s'", x->path, pml_error_name(err), text, why,
                 x->in_force);
}

int pml__knob_settle(struct pml__knob *x, pml_region_t region) {
  int err = 0;
  pthread_mutex_lock(&x->lock);
  if (x->refused) err = apply(x, region);
  if (err < 0) tell_refused(x, err);
  pthread_mutex_unlock(&x->lock);
  return err;
}

/* --- the end --- */

/* A limit may be refused until another is back, so twice. Who holds a knob now is the guard's. */
void pml__knobs_restore(struct pml__knobs *k) {
  if (k->pid != getpid()) return;
  atomic_store(&k->ended, true);
  for (int pass = 0; pass < 2; pass++) {
    for (struct pml__knob *x = k->first; x != NULL; x = x->next) {
      if (pthread_mutex_trylock(&x->lock) != 0) continue;
      int err = x->held && atomic_load(&x->slot->changed) ? write_saved(x) : 0;
      x->n = 0;
      if (err < 0 && pass > 0) tell_refused(x, err);
      pthread_mutex_unlock(&x->lock);
    }
  }
}

void pml__knobs_close(struct pml__knobs *k) {
  if (k == NULL || k->pid != getpid()) return;
  pml__knobs_restore(k);
  unlist(k);
  pml__guard_stop(k->guard);
  for (struct pml__knob *x = k->first, *next; x != NULL; x = next) {
    next = x->next;
    free_knob(x);
  }
  pml__notes_free(&k->notes);
  free(k->root);
  free(k);
}

/* --- what there is to say --- */

const char *pml__knobs_root(const struct pml__knobs *k) {
  return k->root;
}
bool pml__knobs_dry(const struct pml__knobs *k) {
  return k->options.dry_run;
}
bool pml__knob_is_writable(const struct pml__knob *x) {
  return x->fd >= 0;
}
void pml__knobs_stats(struct pml__knobs *k, struct pml__knobs_stats *s) {
  *s = (struct pml__knobs_stats){atomic_load(&k->writes), atomic_load(&k->refused), k->n};
}

struct pml__notes *pml__knobs_notes(struct pml__knobs *k) {
  return &k->notes;
}
