/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/cpus_folder.h - a folder with the files and formats of /sys/devices/system/cpu, for specs that change
 * settings. */
#ifndef CPUS_FOLDER_H
#define CPUS_FOLDER_H

#include "control/tune/pml_tune.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CPUS_FOLDER_STATES 3u
#define MAX "cpufreq/scaling_max_freq"
#define MIN "cpufreq/scaling_min_freq"
#define GOVERNOR "cpufreq/scaling_governor"

static char cpus_folder[256];

static inline void cpus_path(char path[512], unsigned cpu, const char *file) {
  snprintf(path, 512, "%s/cpu%u/%s", cpus_folder, cpu, file);
}

static inline void cpus_put(unsigned cpu, const char *file, const char *text) {
  char path[512];
  cpus_path(path, cpu, file);
  FILE *f = fopen(path, "w");
  if (f == NULL || fprintf(f, "%s\n", text) < 0 || fclose(f) != 0) perror(path), exit(1);
}

static inline const char *cpus_get(unsigned cpu, const char *file) {
  static char text[4][256];
  static unsigned next;
  char path[512], *t = text[next++ % 4];
  cpus_path(path, cpu, file);
  FILE *f = fopen(path, "r");
  size_t n = f != NULL ? fread(t, 1, 255, f) : 0;
  if (f != NULL) fclose(f);
  t[n] = '\0';
  return t; /* to the byte, with its newline */
}

static inline bool cpus_are(unsigned cpu, const char *file, const char *text) {
  return strcmp(cpus_get(cpu, file), text) == 0;
}

static inline bool cpus_become(unsigned cpu, const char *file, const char *text) {
  for (unsigned i = 0; i < 6000; i++) {
    if (cpus_are(cpu, file, text)) return true;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  return false;
}

static inline bool cpus_is_free(unsigned cpu, const char *file) {
  char path[512];
  cpus_path(path, cpu, file);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool is = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (fd >= 0) close(fd);
  return is;
}

/* Waits until the process that restored the file has also released its lock; before that the file is busy. At most a
 * minute. */
static inline bool cpus_are_free(unsigned cpu, const char *file) {
  for (unsigned i = 0; i < 6000; i++) {
    if (cpus_is_free(cpu, file)) return true;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  return false;
}

static inline bool has_line(struct pml_tune *t, const char *part) {
  const char *line;
  for (size_t i = 0; (line = pml_tune_line(t, i)) != NULL; i++)
    if (strstr(line, part) != NULL) return true;
  return false;
}

static inline void cpus_make_one(unsigned cpu) {
  static const char *const folder[] = {"", "cpufreq", "cpuidle", "cpuidle/state0", "cpuidle/state1", "cpuidle/state2"};
  static const char *const name[CPUS_FOLDER_STATES] = {"POLL", "C1", "C6"};
  char path[512], file[64];
  for (size_t i = 0; i < sizeof folder / sizeof folder[0]; i++) {
    cpus_path(path, cpu, folder[i]);
    if (mkdir(path, 0755) < 0 && errno != EEXIST) perror(path), exit(1);
  }
  cpus_put(cpu, "cpufreq/scaling_governor", "schedutil");
  cpus_put(cpu, "cpufreq/scaling_available_governors",
           "conservative ondemand userspace powersave performance schedutil");
  cpus_put(cpu, "cpufreq/cpuinfo_min_freq", "800000");
  cpus_put(cpu, "cpufreq/cpuinfo_max_freq", "3500000");
  cpus_put(cpu, "cpufreq/scaling_min_freq", "800000");
  cpus_put(cpu, "cpufreq/scaling_max_freq", "3500000");
  cpus_put(cpu, "cpufreq/scaling_setspeed", "<unsupported>");
  for (unsigned i = 0; i < CPUS_FOLDER_STATES; i++) {
    snprintf(file, sizeof file, "cpuidle/state%u/name", i);
    cpus_put(cpu, file, name[i]);
    snprintf(file, sizeof file, "cpuidle/state%u/disable", i);
    cpus_put(cpu, file, "0");
  }
}

/* Another file in its place; it is this process's own, because who writes a file holds it against all others. */
static inline void cpus_stand_in(unsigned cpu, const char *file, const char *other) {
  char path[512];
  cpus_path(path, cpu, file);
  if (unlink(path) < 0 || symlink(other, path) < 0) perror(path), exit(1);
}

/* A file that contains @text and refuses writes with EPERM. It exists as long as the process. */
static inline void cpus_seal(unsigned cpu, const char *file, const char *text) {
  char other[64];
  int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 || dprintf(fd, "%s\n", text) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0) perror("memfd"), exit(1);
  snprintf(other, sizeof other, "/proc/%d/fd/%d", (int)getpid(), fd);
  cpus_stand_in(cpu, file, other);
}

static inline int cpus_remove_one(const char *path, const struct stat *st, int flag, struct FTW *at) {
  (void)st, (void)flag, (void)at;
  return remove(path);
}

static inline void cpus_remove(void) {
  (void)nftw(cpus_folder, cpus_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void cpus_make(unsigned n) {
  strcpy(cpus_folder, "/tmp/pmlua-cpus-XXXXXX");
  if (mkdtemp(cpus_folder) == NULL) perror(cpus_folder), exit(1);
  for (unsigned i = 0; i < n; i++) cpus_make_one(i);
}

#endif
