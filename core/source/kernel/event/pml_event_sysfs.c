/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_sysfs.c - PMUs of /sys/bus/event_source/devices and their files. */
#include "source/kernel/event/pml_event_sysfs.h"

#include "base/pml_file.h"
#include "base/pml_process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOT_MAX 3072

/* The sysfs root and its cached contents; under the lock. A path is complete before @root points to it (forks). */
static struct pml__lock lock;
static char roots[2][ROOT_MAX] = {"/sys"};
static const char *root = roots[0];
static struct pml__core_pmu core[PML_EVENT_PARTS_MAX];
static unsigned ncore;
static bool core_known;

int pml_event_set_sysfs(const char *path) {
  if (!path) path = "/sys";
  if (strnlen(path, ROOT_MAX) == ROOT_MAX) return pml_fail(-ENAMETOOLONG, "the path of sysfs is too long");
  if (access(path, R_OK | X_OK) != 0) return pml_fail(-errno, "cannot read %.300s: %s", path, strerror(errno));
  pml__lock_take(&lock);
  char *other = roots[root == roots[0]];
  pml__copy(other, ROOT_MAX, path);
  core_known = false;
  __atomic_store_n(&root, other, __ATOMIC_RELEASE);
  pml__lock_leave(&lock);
  return 0;
}

/* ROOT/bus/event_source/devices/PMU/FILE; -ENAMETOOLONG, or -ENOENT for a name that would leave the folder. */
static int device_path(char *path, const char *pmu, const char *file) {
  if (pmu[0] == '.' || strchr(pmu, '/') || strstr(file, "..")) return -ENOENT;
  pml__lock_take(&lock);
  int n = snprintf(path, PML__PATH_MAX, "%s/bus/event_source/devices/%s/%s", root, pmu, file);
  pml__lock_leave(&lock);
  return n < 0 || n >= PML__PATH_MAX ? -ENAMETOOLONG : 0;
}

bool pml__sysfs_described(void) {
  pml__lock_take(&lock);
  bool described = strcmp(root, "/sys") != 0;
  pml__lock_leave(&lock);
  return described;
}

static int read_file(const char *path, char *buf, size_t size) {
  ssize_t n = pml__file_peek(path, buf, size);
  buf[strcspn(buf, "\n")] = '\0';
  if (n < 0) pml__event_note_shortage((int)n);
  return n < 0 ? (int)n : (size_t)n == size - 1 ? -EFBIG : 0;
}

int pml__sysfs_file(const char *pmu, const char *file, char *buf, size_t size) {
  char path[PML__PATH_MAX];
  int err = device_path(path, pmu, file);
  return err < 0 ? err : read_file(path, buf, size);
}

int pml__sysfs_read(const char *file, char *buf, size_t size) {
  char path[PML__PATH_MAX];
  pml__lock_take(&lock);
  int n = snprintf(path, sizeof path, "%s/%s", root, file);
  pml__lock_leave(&lock);
  return n < 0 || (size_t)n >= sizeof path ? -ENAMETOOLONG : read_file(path, buf, size);
}

static int visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

int pml__sysfs_names(const char *pmu, const char *folder, struct dirent ***names) {
  char path[PML__PATH_MAX];
  *names = NULL;
  if (device_path(path, pmu, folder) < 0) return 0;
  int n = scandir(path, names, visible, alphasort);
  if (n < 0) pml__event_note_shortage(-errno);
  return n < 0 ? 0 : n;
}

void pml__sysfs_names_free(struct dirent **names, int n) {
  if (n == 0) return;
  for (int i = 0; i < n; i++) free(names[i]);
  free(names);
}

int pml__sysfs_type(const char *pmu, uint32_t *type) {
  char text[32];
  uint64_t v;
  int err = pml__sysfs_file(pmu, "type", text, sizeof text);
  if (err < 0) return err;
  if (!pml__parse_u64(text, strlen(text), &v) || v > UINT32_MAX) return -EINVAL;
  *type = (uint32_t)v;
  return 0;
}

/* Core PMUs of a hybrid or big.LITTLE machine have a list of their cpus; elsewhere the only one is "cpu". */
bool pml__sysfs_is_core(const char *pmu) {
  char text[1024];
  return strcmp(pmu, "cpu") == 0 || pml__sysfs_file(pmu, "cpus", text, sizeof text) == 0;
}

bool pml__sysfs_is_family(const char *pmu) {
  size_t n = strlen(pmu);
  return n > 2 && n <= 56 && strchr(pmu, '*') == pmu + n - 1 && pmu[n - 2] == '_';
}

/* In the order of numbers; of more than there is room for, any. */
static void family_add(struct pml__family *family, uint32_t number) {
  if (++family->n > PML_EVENT_PARTS_MAX) return;
  unsigned i = family->n - 1;
  for (; i > 0 && family->number[i - 1] > number; i--) family->number[i] = family->number[i - 1];
  family->number[i] = number;
}

int pml__sysfs_family(const char *pmu, struct pml__family *family) {
  struct dirent **names = NULL;
  size_t stem = strlen(pmu) - 1;
  family->n = 0;
  pml__copy(family->stem, stem + 1, pmu);
  int n = pml__sysfs_names("", "", &names);
  for (int i = 0; i < n; i++) {
    const char *name = names[i]->d_name;
    if (strncmp(name, family->stem, stem) != 0) continue;
    const char *digits = name + stem;
    size_t length = strlen(digits);
    uint64_t number;
    bool plain = length > 0 && length < 8 && strspn(digits, "0123456789") == length && (*digits != '0' || !digits[1]);
    if (plain && pml__parse_u64(digits, length, &number)) family_add(family, (uint32_t)number);
  }
  pml__sysfs_names_free(names, n);
  return family->n ? 0 : -ENOENT;
}

void pml__sysfs_member(const struct pml__family *family, unsigned i, char pmu[64]) {
  (void)snprintf(pmu, 64, "%.55s%u", family->stem, (unsigned)family->number[i]);
}

static unsigned find_core_pmus(struct pml__core_pmu pmu[PML_EVENT_PARTS_MAX]) {
  struct dirent **names = NULL;
  unsigned found = 0;
  int n = pml__sysfs_names("", "", &names);
  for (int i = 0; i < n && found < PML_EVENT_PARTS_MAX; i++) {
    const char *name = names[i]->d_name;
    if (!pml__sysfs_is_core(name) || pml__sysfs_type(name, &pmu[found].type) < 0) continue;
    pml__copy(pmu[found++].name, sizeof pmu[0].name, name);
  }
  pml__sysfs_names_free(names, n);
  return found;
}

unsigned pml__core_pmus(struct pml__core_pmu pmu[PML_EVENT_PARTS_MAX]) {
  pml__lock_take(&lock);
  bool known = core_known;
  unsigned n = ncore;
  memcpy(pmu, core, sizeof core);
  pml__lock_leave(&lock);
  if (known) return n;

  int before = pml__event_shortage_reset(0);
  n = find_core_pmus(pmu);
  if (pml__event_shortage() < 0) return n; /* not all, perhaps: to be found again */
  (void)pml__event_shortage_reset(before);
  pml__lock_take(&lock);
  memcpy(core, pmu, sizeof core);
  ncore = n;
  __atomic_store_n(&core_known, true, __ATOMIC_RELEASE);
  pml__lock_leave(&lock);
  return n;
}

void pml__sysfs_pmu_of(uint32_t type, char pmu[64]) {
  struct dirent **names = NULL;
  int n = pml__sysfs_names("", "", &names);
  pmu[0] = '\0';
  for (int i = 0; i < n && !pmu[0]; i++) {
    uint32_t t;
    if (pml__sysfs_type(names[i]->d_name, &t) == 0 && t == type) pml__copy(pmu, 64, names[i]->d_name);
  }
  pml__sysfs_names_free(names, n);
}
