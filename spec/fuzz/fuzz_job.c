/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_job.c - files of jobs and of event flows. The first byte is the file: 's' the summary of a job,
 * 'w' its waits, 'p' its call paths, 'r' what a rank leaves for the others, 'f' an event flow, 'k' how far a killed run
 * came, 'c' commands of a compiler. The others of a job are those of the corpus. Each is read and reported, or refused
 * in one line.
 *
 * Runs: 300
 */
#include "fuzz_lua.h"

#include <sys/stat.h>

static const char check[] =
    "local job, text = require 'pmlua.internal.report.job', require 'pmlua.internal.report.job_text'\n"
    "local parts, graph = require 'pmlua.internal.record.parts', require 'pmlua.internal.flow.graph'\n"
    "local killed, database = require 'pmlua.internal.experiment.killed', require 'pmlua.internal.wrap.database'\n"
    "local function line(err)\n"
    "  err = type(err) == 'table' and err:sentence() or err\n"
    "  assert(type(err) == 'string' and #err > 0 and not err:find '\\n', err)\n"
    "end\n"
    "local function report(dir)\n"
    "  local data, err = job.read(dir)\n"
    "  if not data then return line(err) end\n"
    "  for _, why in ipairs(data.damaged) do line(why) end\n"
    "  for _, o in ipairs { { threads = true }, { json = true } } do assert(utf8.len(text.format(data, o))) end\n"
    "  return 1 + #data.paths + #data.waits\n"
    "end\n"
    "local function draw(flow)\n"
    "  for _, g in ipairs(flow.graphs) do graph.key(g) end\n"
    "  return #flow:dot {} + #flow:skeleton {} + #flow:data().graphs\n"
    "end\n"
    "local function unite(dir)\n"
    "  local united, err = parts.finish(dir, line)\n"
    "  if not united then return err and line(err) end\n"
    "  report(dir)\n"
    "  return united.flow and draw(united.flow)\n"
    "end\n"
    "local function flow(dir)\n"
    "  local f, err = graph.read(dir .. '/flow.json')\n"
    "  if not f then return line(err) end\n"
    "  return draw(f) + (f:same(f) and 1 or 0)\n"
    "end\n"
    "local function commands(dir)\n"
    "  local all, err = database.read(dir .. '/compile_commands.json')\n"
    "  if not all then return line(err) end\n"
    "  return #all.cflags\n"
    "end\n"
    "local of = { f = flow, c = commands, r = unite, k = function(dir) return killed.known { path = dir } and 1 end }\n"
    "return function(dir, which) return (of[which] or report)(dir) or 0 end\n";

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
  static lua_State *L;
  size_t which = 0;
  if (L == NULL) {
    char path[100];
    L = fuzz_lua();
    fuzz_code(L, check);
    (void)snprintf(path, sizeof path, "%s/rank-0", fuzz_folder());
    PROMISE(mkdir(path, 0700) == 0, "there is a folder for a rank");
  }
  while (size > 0 && which + 1 < FILES && files[which].letter != data[0]) which++;
  put_job(&files[which], data + (size > 0), size - (size > 0));
  lua_pushvalue(L, 1);
  lua_pushstring(L, fuzz_folder());
  lua_pushlstring(L, &files[which].letter, 1);
  fuzz_call(L, 2, 1);
  PLANTED(files[which].letter == 'c' && lua_tointeger(L, -1) > 0 && lua_tointeger(L, -1) != 45);
  lua_settop(L, 1);
  return 0;
}
