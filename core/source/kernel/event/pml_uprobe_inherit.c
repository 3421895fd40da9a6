/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_uprobe_inherit.c - user-space probes inherited by threads and children. */
#include "source/kernel/event/pml_uprobe_inherit.h"

#include "base/pml_error.h"
#include "base/pml_map.h"
#include "base/pml_process.h"
#include "source/kernel/event/pml_event_parsers.h"
#include "source/kernel/event/pml_perf_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUP "pmlua_"
#define LINE_BYTES (PATH_MAX + 256)
#define AT_RETURN 1u /* in the config of a uprobe; above it the place of its semaphore */
#define REFERENCE_SHIFT 32
#define KEEPERS 64

/*
 * Siblings exchange their inherited events when the kernel switches between them. When one ends, the kernel no longer
 * finds an event of the other, takes the breakpoint away from it, and loses its calls. An event of all processes, never
 * enabled, keeps the breakpoints.
 */
static struct {
  struct pml__lock lock;
  uint64_t process;
  struct keeper {
    struct pml__perf_descriptor d;
    uint64_t id; /* the tracepoint; 0: free */
  } keeper[KEEPERS];
} all;

static bool keep(struct keeper *k, uint64_t id) {
  struct perf_event_attr a = {.size = sizeof a, .type = PERF_TYPE_TRACEPOINT, .config = id, .disabled = 1};
  bool opens = pml__perf_descriptor_open(&k->d, &a, -1, sched_getcpu(), -1) == 0;
  k->id = opens ? id : 0;
  return opens;
}

/* The same probe may be opened again; without a free keeper, it only counts as well as the kernel does. */
static void keep_breakpoints(uint64_t id) {
  struct keeper *unused = NULL;
  pml__lock_take(&all.lock);
  bool child = !pml__process_is(all.process), kept = false;
  all.process = pml__process();
  for (struct keeper *k = all.keeper; k < all.keeper + KEEPERS; k++) {
    if (child && k->id != 0) pml__perf_descriptor_close(&k->d), k->id = 0;
    kept = kept || k->id == id;
    if (k->id == 0) unused = k;
  }
  if (!kept && unused != NULL) (void)keep(unused, id);
  pml__lock_leave(&all.lock);
}

/* One write is one command: 0 or -errno. */
static int command(const char *root, const char *text) {
  char path[64];
  (void)snprintf(path, sizeof path, "%s/uprobe_events", root);
  int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return -errno;
  size_t n = strlen(text);
  int err = write(fd, text, n) == (ssize_t)n ? 0 : -errno;
  (void)close(fd);
  return err;
}

/* The name says all that is different, so that who defines the same probe again has that one. */
static void name_of(const struct perf_event_attr *attr, const char *file, char *name, size_t size) {
  (void)snprintf(name, size, GROUP "%d/p%llx_%llx_%llx", (int)getpid(),
                 (unsigned long long)pml__hash_text(PML__HASH, file), (unsigned long long)attr->probe_offset,
                 (unsigned long long)attr->config);
}

static int define(const char *root, const struct perf_event_attr *attr, char *name, size_t size) {
  char file[PATH_MAX], text[LINE_BYTES], reference[32] = "";
  if (realpath((const char *)(uintptr_t)attr->uprobe_path, file) == NULL) return -errno;
  name_of(attr, file, name, size);
  int fd = strpbrk(file, " \t\n#;:") == NULL ? -1 : open(file, O_PATH | O_CLOEXEC); /* the grammar has no such paths */
  if (fd >= 0) (void)snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
  uint64_t semaphore = attr->config >> REFERENCE_SHIFT;
  if (semaphore != 0) (void)snprintf(reference, sizeof reference, "(0x%llx)", (unsigned long long)semaphore);
  int n = snprintf(text, sizeof text, "%c:%s %s:0x%llx%s\n", attr->config & AT_RETURN ? 'r' : 'p', name, file,
                   (unsigned long long)attr->probe_offset, reference);
  int err = n < 0 || (size_t)n >= sizeof text ? -ENAMETOOLONG : command(root, text);
  if (fd >= 0) (void)close(fd);
  return err == -EEXIST ? 0 : err;
}

/* Remove the probes of this process, or of processes that have ended. Probes that still count are left. */
static void sweep(const char *root, bool own) {
  char path[64], line[LINE_BYTES], text[128];
  (void)snprintf(path, sizeof path, "%s/uprobe_events", root);
  FILE *f = fopen(path, "re");
  while (f != NULL && fgets(line, sizeof line, f) != NULL) {
    int pid = 0, length = 0;
    if (sscanf(line, "%*1[pr]:" GROUP "%d/p%*[0-9a-f_]%n", &pid, &length) != 1 || length < 2 || pid <= 0) continue;
    bool mine = pid == (int)getpid(), ended = kill(pid, 0) != 0 && errno == ESRCH;
    if ((own ? !mine : !ended) || (size_t)length >= sizeof text) continue;
    (void)snprintf(text, sizeof text, "-%.*s\n", length - 1, line + 1);
    (void)command(root, text);
  }
  if (f != NULL) (void)fclose(f);
}

int pml__uprobe_inherit(struct perf_event_attr *attr) {
  char name[96], path[192];
  int err;
  const char *root = pml__tracefs(&err);
  if (root == NULL) return err;
  sweep(root, false);
  err = define(root, attr, name, sizeof name);
  if (err < 0) return err;
  uint64_t id;
  (void)snprintf(path, sizeof path, "%s/events/%s/id", root, name);
  err = pml__trace_id(path, &id);
  if (err < 0) return err;
  attr->type = PERF_TYPE_TRACEPOINT;
  attr->config = id;
  attr->config1 = attr->config2 = 0;
  keep_breakpoints(id);
  return 0;
}

void pml__uprobe_release(void) {
  int err;
  const char *root = pml__tracefs(&err);
  pml__lock_take(&all.lock);
  for (struct keeper *k = all.keeper; k < all.keeper + KEEPERS; k++)
    if (k->id != 0) pml__perf_descriptor_close(&k->d);
  if (root != NULL) sweep(root, true);
  for (struct keeper *k = all.keeper; k < all.keeper + KEEPERS; k++)
    if (k->id != 0 && (!pml__process_is(all.process) || !keep(k, k->id))) k->id = 0; /* its definition is removed */
  pml__lock_leave(&all.lock);
}
