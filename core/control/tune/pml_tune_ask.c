/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_ask.c - requests of settings, and writing the effective value. */
#include "base/pml_array.h"
#include "base/pml_error.h"
#include "base/text/pml_locale.h"
#include "control/tune/pml_tune_control_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* --- writing; with the control file's lock --- */

/* No other process may have it: it would restore our value. Then the present value is the one to restore. */
static int hold(struct pml__control *x) {
  if (x->held) return 0;
  if (flock(x->fd, LOCK_EX | LOCK_NB) < 0) return errno == EWOULDBLOCK ? -EBUSY : -errno;
  int err = pml__control_read(x->fd, x->in_force);
  ssize_t n = err < 0 ? err : pread(x->fd, x->slot->text, sizeof x->slot->text - 1, 0);
  if (n < 0) return err < 0 ? err : -errno;
  x->slot->text[n] = '\0';
  x->slot->n = (uint32_t)strlen(x->slot->text);
  if (x->slot->n == sizeof x->slot->text - 1) return -EFBIG; /* no setting of the kernel's, and no room to keep it */
  x->held = true;
  return 0;
}

/* The kernel's value, for a request that cannot be set now. */
static bool is_no_value(const char *text) {
  return text[0] == '<' || text[0] == '\0';
}

static void tell_other(struct pml__control *x, const char *text) {
  char now[PML__CONTROL_TEXT];
  if (x->told_other || pml__control_read(x->fd, now) < 0 || strcmp(now, text) == 0) return;
  x->told_other = true;
  pml__notes_say(&x->of->notes, "%s: wrote %s, read back %s", x->path, text, now);
}

static int write_text(struct pml__control *x, const char *text) {
  char line[PML__CONTROL_TEXT + 1];
  int n = snprintf(line, sizeof line, "%s\n", text);
  atomic_fetch_add_explicit(&x->of->writes, 1, memory_order_relaxed);
  if (!is_no_value(x->slot->text)) atomic_store_explicit(&x->slot->changed, true, memory_order_release);
  int err = pml__guard_write(x->fd, x->truncate, line, (size_t)n);
  if (err == 0) tell_other(x, text);
  return err;
}

int pml__control_put_back(struct pml__control *x) {
  if (is_no_value(x->slot->text)) return 0;
  atomic_fetch_add_explicit(&x->of->writes, 1, memory_order_relaxed);
  int err = pml__guard_write(x->fd, x->truncate, x->slot->text, x->slot->n);
  if (err == 0) atomic_store(&x->slot->changed, false);
  return err;
}

static const struct pml__control_request *wanted(const struct pml__control *x) {
  if (x->n == 0) return NULL;
  const struct pml__control_request *best = &x->request[x->n - 1];
  for (size_t i = 0; x->of->options.highest && i < x->n; i++)
    if (pml__strtod(x->request[i].text, NULL) > pml__strtod(best->text, NULL)) best = &x->request[i];
  return best;
}

static int apply(struct pml__control *x, pml_region_t region) {
  const struct pml__control_request *r = wanted(x);
  char saved[PML__CONTROL_TEXT];
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
      err = r != NULL ? write_text(x, text) : pml__control_put_back(x);
    if (err == 0) memcpy(x->in_force, text, strlen(text) + 1);
  }
  x->refused = err < 0;
  return err;
}

/* --- asking --- */

static size_t find(const struct pml__control *x, uint64_t owner) {
  size_t i = x->n;
  while (i > 0 && x->request[i - 1].owner != owner) i--;
  return i == 0 ? x->n : i - 1;
}

static void take_out(struct pml__control *x, size_t i) {
  memmove(&x->request[i], &x->request[i + 1], (--x->n - i) * sizeof x->request[0]);
}

int pml__control_ask(struct pml__control *x, uint64_t owner, const char *text, pml_region_t region) {
  int err = 0;
  pml__mutex_take(&x->lock);
  size_t i = find(x, owner);
  if (i < x->n) take_out(x, i);
  if (!PML__ARRAY_ROOM(x->request, x->room, x->n + 1)) {
    err = -ENOMEM;
    atomic_fetch_add_explicit(&x->of->refused, 1, memory_order_relaxed);
  }
  if (err == 0) {
    struct pml__control_request *r = &x->request[x->n++];
    r->owner = owner;
    snprintf(r->text, sizeof r->text, "%s", text);
    err = apply(x, region);
  }
  pml__mutex_leave(&x->lock);
  return err;
}

int pml__control_leave(struct pml__control *x, uint64_t owner, pml_region_t region) {
  int err = -ENOENT;
  pml__mutex_take(&x->lock);
  size_t i = find(x, owner);
  if (i < x->n) {
    take_out(x, i);
    err = apply(x, region);
  }
  pml__mutex_leave(&x->lock);
  return err;
}

void pml__control_tell(struct pml__control *x, int err) {
  const struct pml__control_request *r = wanted(x);
  const char *text = r != NULL ? r->text : x->value, *why = pml_error_text(err);
  if (!x->held && err == -EBUSY) why = "another process, or another tuner of this one, uses it";
  atomic_fetch_add_explicit(&x->of->refused, 1, memory_order_relaxed);
  if (x->told_refused) return;
  x->told_refused = true;
  pml__notes_say(&x->of->notes, "%s: %s: the kernel refused '%s': %s; it stays '%s'", x->path, pml_error_name(err),
                 text, why, x->in_force);
}

int pml__control_settle(struct pml__control *x, pml_region_t region) {
  int err = 0;
  pml__mutex_take(&x->lock);
  if (x->refused) err = apply(x, region);
  if (err < 0) pml__control_tell(x, err);
  pml__mutex_leave(&x->lock);
  return err;
}
