/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_job.c - files of jobs and of event flows. The first byte is the file: 's' the summary of a job, 'w'
 * its waits, 'p' its call paths, 'r' the part of one rank, 'f' an event flow, 'k' the progress of a killed run, 'c'
 * commands of a compiler. The job's other files come from the corpus. Each file is read and reported, or refused in one
 * line.
 *
 * Runs: 300
 */
#include "fuzz_lua.h"

#include <sys/stat.h>

static const struct file {
  char letter;
  const char *name, *seed; /* the seed is there beside other files of the job, too */
} files[] = {{'s', "job.pmlsum", "summary"},      {'w', "waits.json", "waits"}, {'p', "paths.json", NULL},
             {'r', "rank-0/part.json", NULL},     {'f', "flow.json", NULL},     {'k', "killed.json", NULL},
             {'c', "compile_commands.json", NULL}};
enum { JOB_FILES = 4, FILES = sizeof files / sizeof *files };

static void put_seed(const struct file *f) {
  static uint8_t bytes[8192];
  char path[100];
  (void)snprintf(path, sizeof path, "spec/fuzz/job/%s", f->seed);
  FILE *in = fopen(path, "r");
  PROMISE(in != NULL, "the target runs in the top folder");
  size_t n = fread(bytes, 1, sizeof bytes, in);
  fclose(in);
  fuzz_write(fuzz_folder(), f->name, bytes + 1, n - 1);
}

static void put_job(const struct file *now, const uint8_t *data, size_t size) {
  char path[100];
  for (size_t i = 0; i < FILES; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", fuzz_folder(), files[i].name);
    unlink(path);
    if (files[i].seed != NULL && &files[i] != now && now < &files[JOB_FILES]) put_seed(&files[i]);
  }
  fuzz_write(fuzz_folder(), now->name, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t which = 0;
  char path[100];
  (void)snprintf(path, sizeof path, "%s/rank-0", fuzz_folder());
  PROMISE(mkdir(path, 0700) == 0 || errno == EEXIST, "there is a folder for a rank");
  while (size > 0 && which + 1 < FILES && files[which].letter != data[0]) which++;
  put_job(&files[which], data + (size > 0), size - (size > 0));
  lua_State *L = fuzz_check("job");
  lua_pushstring(L, fuzz_folder());
  lua_pushlstring(L, &files[which].letter, 1);
  PLANTED(fuzz_reaches(L, 2));
  return 0;
}
