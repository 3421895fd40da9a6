/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_trace.c - tracepoints, by their ids in tracefs. */
#include "source/kernel/event/pml_event_parsers.h"

#include "base/pml_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 512

const char *pml__tracefs(int *err) {
  static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
  *err = -ENOENT;
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/events", roots[i]);
    if (access(path, R_OK | X_OK) == 0) return roots[i];
    if (errno == EACCES || errno == EPERM) *err = -EACCES;
  }
  return NULL;
}

static int fail_tracefs(const char *name, int err) {
  if (err == -EACCES)
    return pml_fail(err,
                    "tracepoint \"%.200s\": tracefs is not readable by this user; as root: mount -o "
                    "remount,mode=755 /sys/kernel/tracing (and lower kernel.perf_event_paranoid to -1)",
                    name);
  return pml_fail(err,
                  "tracepoint \"%.200s\": tracefs is not mounted; as root: mount -t tracefs nodev "
                  "/sys/kernel/tracing",
                  name);
}

/* "subsys:event" of plain file names. */
static bool split(const char *base, char *subsys, const char **event) {
  const char *colon = strchr(base, ':');
  if (!colon || colon == base || !colon[1] || strchr(colon + 1, ':') || base[0] == '.' || colon[1] == '.') return false;
  pml__copy(subsys, (size_t)(colon - base) + 1, base);
  *event = colon + 1;
  return true;
}

int pml__trace_id(const char *path, uint64_t *id) {
  char text[32];
  ssize_t n = pml__file_peek(path, text, sizeof text);
  if (n < 0) {
    pml__event_note_shortage((int)n);
    return (int)n;
  }
  return pml__parse_u64(text, strcspn(text, "\n"), id) ? 0 : -EINVAL;
}

int pml__event_parse_trace(struct pml_event *ev, const char *base, const struct pml__mods *m) {
  char subsys[PML_EVENT_NAME_MAX], path[PATH_BYTES + PML_EVENT_NAME_MAX];
  const char *event;
  uint64_t id = 0;
  int err;
  if (!split(base, subsys, &event)) return PML__NOT_MINE;
  const char *root = pml__tracefs(&err);
  /* Unseen, it may be a tracepoint or not; in capitals it is rather a misspelt EVENT:UMASK. */
  if (!root) return isupper((unsigned char)base[0]) ? PML__NOT_MINE : fail_tracefs(base, err);
  (void)snprintf(path, sizeof path, "%s/events/%s/%s/id", root, subsys, event);
  err = pml__trace_id(path, &id);
  if (err == -EACCES || err == -EPERM) return fail_tracefs(base, -EACCES);
  if (err < 0) return PML__NOT_MINE;
  struct pml_event_part *part = pml__event_first(ev, "tracepoint");
  part->attr.type = PERF_TYPE_TRACEPOINT;
  part->attr.config = id;
  pml__mods_apply(m, &part->attr, false);
  return 0;
}

struct trace_walk {
  const struct pml__walk *w;
  const char *root;
  bool probed, available;
  const char *reason;
};

static int row(struct trace_walk *t, const char *name) {
  struct pml_event ev;
  struct pml__mods none = {0};
  memset(&ev, 0, sizeof ev);
  if (t->w->probe && !t->probed && pml__event_parse_trace(&ev, name, &none) == 0) {
    t->available = pml__event_probe(&ev.first.attr, -1, &t->reason);
    t->probed = true;
  }
  struct pml_event_info info = {.name = name, .description = "tracepoint of the kernel", .source = "tracepoint"};
  info.pmu = "tracepoint";
  info.available = t->available;
  info.reason = t->reason;
  return pml__walk_row(t->w, &info);
}

static int walk_file(struct trace_walk *t) {
  char path[PATH_BYTES], line[PML_EVENT_NAME_MAX];
  (void)snprintf(path, sizeof path, "%s/available_events", t->root);
  FILE *f = fopen(path, "re");
  if (!f) {
    pml__event_note_shortage(-errno);
    return 0;
  }
  int err = 0;
  while (!err && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    char subsys[PML_EVENT_NAME_MAX];
    const char *event;
    if (split(line, subsys, &event)) err = row(t, line);
  }
  (void)fclose(f);
  return err;
}

int pml__event_walk_trace(const struct pml__walk *w) {
  struct trace_walk t = {.w = w, .reason = ""};
  int err;
  t.root = pml__tracefs(&err);
  if (t.root) return walk_file(&t);
  if (!w->probe) return 0;
  t.reason = err == -EACCES ? "tracefs is not readable by this user"
                            : "tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing";
  t.probed = true;
  return row(&t, "sched:sched_switch");
}
