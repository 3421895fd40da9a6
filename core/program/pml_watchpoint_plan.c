/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_watchpoint_plan.c - watchpoints of a program to be started. */
#include "program/pml_watchpoint_plan.h"

#include "base/pml_error.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "pmlplan1"

/* The bytes to watch of a variable that may be larger, or of unknown size: as many as are aligned. */
static uint32_t length_of(const struct pml_variable *v) {
  uint32_t n = v->bytes == 1 || v->bytes == 2 || v->bytes == 4 ? (uint32_t)v->bytes : 8;
  if (v->bytes == 0) n = 4;
  while (v->address % n != 0) n /= 2;
  return n;
}

static int describe(struct pml_watchpoint *p, const char *name, const struct pml_variable *v, uint32_t access,
                    bool content) {
  if (access == 0) access = v->function ? HW_BREAKPOINT_X : content ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
  if (content && access != HW_BREAKPOINT_W)
    return pml_fail(-EINVAL, "%.120s: contents are recorded at writes only; use w", name);
  *p = (struct pml_watchpoint){.address = v->address, .access = access};
  bool whole = content && v->content != PML_CONTENT_LONG_DOUBLE;
  p->length = access == HW_BREAKPOINT_X ? 0 : whole ? (uint32_t)v->bytes : length_of(v);
  p->content = content ? v->content : PML_CONTENT_NONE;
  (void)snprintf(p->name, sizeof p->name, "%s", name);
  (void)snprintf(p->type, sizeof p->type, "%s", v->type);
  return 0;
}

int pml_watchpoint_plan_add(struct pml_watchpoint_plan *p, const char *path, const char *name, uint32_t access,
                            bool content) {
  struct pml_variable v;
  struct stat st;
  if (p->points >= PML_WATCHPOINTS_MAX)
    return pml_fail(-ENOSPC, "%.160s is too many: the CPU's debug registers hold %d watchpoints", name,
                    PML_WATCHPOINTS_MAX);
  int err = pml_variable_find(path, name, content, &v);
  if (err < 0) return err;
  if (stat(path, &st) != 0) return pml_fail(-errno, "%.400s: %s", path, strerror(errno));
  err = describe(&p->point[p->points], name, &v, access, content);
  if (err == 0) err = pml_watchpoint_check(&p->point[p->points]);
  if (err < 0) return err;
  p->object[p->points].device = st.st_dev;
  p->object[p->points].inode = st.st_ino;
  p->points++;
  return 0;
}

int pml_watchpoint_plan_write(const struct pml_watchpoint_plan *p, const char *path) {
  struct pml_watchpoint_plan copy = *p;
  memcpy(copy.magic, MAGIC, sizeof copy.magic);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  int err = fd < 0 ? -errno : 0;
  if (err == 0 && write(fd, &copy, sizeof copy) != (ssize_t)sizeof copy) err = errno != 0 ? -errno : -EIO;
  if (fd >= 0 && close(fd) != 0 && err == 0) err = -errno;
  return err < 0 ? pml_fail(err, "%.400s: %s", path, strerror(-err)) : 0;
}

static bool ends(const char *text, size_t size) {
  return memchr(text, '\0', size) != NULL;
}

int pml_watchpoint_plan_read(struct pml_watchpoint_plan *p, const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return pml_fail(-errno, "%.400s: %s", path, strerror(errno));
  bool good = read(fd, p, sizeof *p) == (ssize_t)sizeof *p && memcmp(p->magic, MAGIC, sizeof p->magic) == 0;
  (void)close(fd);
  good = good && p->points <= PML_WATCHPOINTS_MAX && p->values <= PML_WATCHPOINT_VALUES_MAX;
  for (unsigned i = 0; good && i < p->points; i++)
    good = ends(p->point[i].name, sizeof p->point[i].name) && ends(p->point[i].type, sizeof p->point[i].type) &&
           pml_watchpoint_check(&p->point[i]) == 0;
  return good ? 0 : pml_fail(PML_EFORMAT, "%.400s is not a plan of watchpoints of this version", path);
}

struct placing {
  const struct pml_watchpoint_plan *plan;
  struct pml_watchpoint *point;
  size_t n;
};

/* The program itself has no name there. */
static int place(struct dl_phdr_info *info, size_t size, void *arg) {
  struct placing *g = arg;
  struct stat st;
  (void)size;
  const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
  if (stat(path, &st) != 0) return 0;
  for (unsigned i = 0; i < g->plan->points; i++) {
    if (g->plan->object[i].device != st.st_dev || g->plan->object[i].inode != st.st_ino) continue;
    g->point[g->n] = g->plan->point[i];
    g->point[g->n++].address += info->dlpi_addr;
    if (g->n == PML_WATCHPOINTS_MAX) return 1;
  }
  return 0;
}

size_t pml_watchpoint_plan_place(const struct pml_watchpoint_plan *p, struct pml_watchpoint *point) {
  struct placing g = {.plan = p, .point = point};
  (void)dl_iterate_phdr(place, &g);
  return g.n;
}
