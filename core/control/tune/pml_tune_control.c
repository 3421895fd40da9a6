/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_control.c - opening and closing of settings. */
#include "control/tune/pml_tune_control_private.h"

#include "base/pml_error.h"
#include "base/pml_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* --- all that are open, for the end --- */

static struct pml__lock open_lock;
static struct pml__controls *all_open;

static void at_exit(void) {
  if (!pml__lock_try(&open_lock)) return; /* the guard does it */
  for (struct pml__controls *k = all_open; k != NULL; k = k->next_open) pml__controls_restore(k);
  pml__lock_leave(&open_lock);
}

static void list(struct pml__controls *k) {
  static bool registered;
  pml__lock_take(&open_lock);
  if (!registered) registered = atexit(at_exit) == 0;
  k->next_open = all_open;
  all_open = k;
  pml__lock_leave(&open_lock);
}

static void unlist(struct pml__controls *k) {
  pml__lock_take(&open_lock);
  for (struct pml__controls **at = &all_open; *at != NULL; at = &(*at)->next_open) {
    if (*at != k) continue;
    *at = k->next_open;
    break;
  }
  pml__lock_leave(&open_lock);
}

/* --- opening --- */

int pml__controls_open(struct pml__controls **out, const struct pml__controls_options *o) {
  *out = NULL;
  struct pml__controls *k = calloc(1, sizeof *k);
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
  pml__notes_init(&k->notes, o->log);
  list(k);
  *out = k;
  return 0;
}

int pml__control_read(int fd, char text[PML__CONTROL_TEXT]) {
  ssize_t n = pread(fd, text, PML__CONTROL_TEXT - 1, 0);
  if (n < 0) return -errno;
  text[n] = '\0';
  text[strcspn(text, "\n")] = '\0';
  return 0;
}

static bool is_kernels(int fd) {
  struct statfs s;
  return fstatfs(fd, &s) == 0 && s.f_type == SYSFS_MAGIC;
}

/* The control file @made, or an existing one with the same file. */
static struct pml__control *append(struct pml__controls *k, struct pml__control *made) {
  for (struct pml__control *x = k->first; x != NULL; x = x->next)
    if (x->device == made->device && x->inode == made->inode) return x;
  *k->last = made;
  k->last = &made->next;
  k->n++;
  return made;
}

/* A lock is gone when each copy of its descriptor is closed, or one is unlocked: forked children may have copies, and
 * the guard has one, which outlives its process. */
static void let_go(struct pml__control *x) {
  if (x->held) (void)flock(x->fd, LOCK_UN);
  x->held = false;
}

static void free_control(struct pml__control *x) {
  let_go(x);
  if (x->fd >= 0) close(x->fd);
  pthread_mutex_destroy(&x->lock.mutex);
  free(x->request);
  free(x->path);
  free(x);
}

/* Open for writing if requested and permitted, otherwise for reading. */
static int open_file(struct pml__control *x) {
  struct stat st;
  bool dry = x->of->options.dry_run;
  int fd = open(x->path, (dry ? O_RDONLY : O_RDWR) | O_CLOEXEC), refused = fd < 0 ? errno : 0;
  if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS)) fd = open(x->path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  int err = fstat(fd, &st) < 0 ? -errno : pml__control_read(fd, x->value);
  x->device = st.st_dev;
  x->inode = st.st_ino;
  x->truncate = S_ISREG(st.st_mode) && !is_kernels(fd);
  memcpy(x->in_force, x->value, sizeof x->in_force);
  if (dry || refused != 0 || err < 0)
    close(fd);
  else
    x->fd = fd;
  if (refused != 0 && err == 0)
    pml__notes_say(&x->of->notes, "%s: %s: unchanged; tuning needs root", x->path, pml_error_name(-refused));
  return err;
}

int pml__controls_control(struct pml__controls *k, const char *path, struct pml__control **control) {
  size_t size = strlen(k->root) + strlen(path) + 2;
  struct pml__control *x = calloc(1, sizeof *x);
  char *whole = malloc(size);
  *control = NULL;
  if (x == NULL || whole == NULL) {
    free(x);
    free(whole);
    return pml_fail(-ENOMEM, "no memory for %s/%s", k->root, path);
  }
  snprintf(whole, size, "%s/%s", k->root, path);
  x->path = whole;
  x->of = k;
  x->fd = -1;
  pthread_mutex_init(&x->lock.mutex, NULL);
  int err = open_file(x);
  *control = err < 0 ? NULL : append(k, x);
  if (err == -EMFILE) pml_error_note(err, __func__, "%s: too many open files; raise the limit with ulimit -n", x->path);
  if (err < 0 && err != -EMFILE) pml_error_note(err, __func__, "%s: %s", x->path, pml_error_text(err));
  if (*control != x) free_control(x);
  return err;
}

int pml__controls_guard(struct pml__controls *k, bool guarded) {
  size_t i = 0;
  int *fd = calloc(k->n + 1, sizeof *fd);
  if (fd == NULL) return pml_fail(-ENOMEM, "no memory for %zu files", k->n);
  bool any = false;
  for (struct pml__control *x = k->first; x != NULL; x = x->next) {
    fd[i++] = x->fd;
    any = any || x->fd >= 0;
  }
  int err = pml__guard_start(&k->guard, fd, k->n, guarded && any);
  free(fd);
  i = 0;
  for (struct pml__control *x = k->first; err == 0 && x != NULL; x = x->next) {
    x->slot = pml__guard_slot(k->guard, i++);
    x->slot->truncate = x->truncate;
  }
  return err;
}

/* --- the end --- */

/*
 * A limit may be refused until another is back, so twice. Restored files are available to the next process immediately.
 */
void pml__controls_restore(struct pml__controls *k) {
  if (k->pid != getpid()) return;
  atomic_store(&k->ended, true);
  for (int pass = 0; pass < 2; pass++) {
    for (struct pml__control *x = k->first; x != NULL; x = x->next) {
      if (!pml__mutex_try(&x->lock)) continue;
      int err = x->held && atomic_load(&x->slot->changed) ? pml__control_put_back(x) : 0;
      x->n = 0;
      if (err < 0 && pass > 0) pml__control_tell(x, err);
      if (err == 0) let_go(x);
      pml__mutex_leave(&x->lock);
    }
  }
}

void pml__controls_close(struct pml__controls *k) {
  if (k == NULL || k->pid != getpid()) return;
  pml__controls_restore(k);
  unlist(k);
  pml__guard_stop(k->guard);
  for (struct pml__control *x = k->first, *next; x != NULL; x = next) {
    next = x->next;
    free_control(x);
  }
  pml__notes_free(&k->notes);
  free(k->root);
  free(k);
}

/* --- what there is to say --- */

const char *pml__controls_root(const struct pml__controls *k) {
  return k->root;
}
bool pml__controls_dry(const struct pml__controls *k) {
  return k->options.dry_run;
}
bool pml__control_is_writable(const struct pml__control *x) {
  return x->fd >= 0;
}
void pml__controls_stats(struct pml__controls *k, struct pml__controls_stats *s) {
  *s = (struct pml__controls_stats){atomic_load(&k->writes), atomic_load(&k->refused), k->n};
}

struct pml__notes *pml__controls_notes(struct pml__controls *k) {
  return &k->notes;
}
