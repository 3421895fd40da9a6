/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/count_file.c - with PMLUA_COUNT=FILE counts are in the file however the process ends.
 *
 * The spec runs itself: with an argument it is the program that counts.
 */
#include "check.h"
#include "count.h"
#include "read/log/pml_count_read.h"
#include "sanitized.h"
#include "source/compiler/pml_count_file.h"

#include <dlfcn.h>
#include <glob.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define MANY 200u

static char folder[] = "/tmp/pmlua-count-XXXXXX";
static char file[64], self[4096];

static void count_and_leave(int signal) {
  add_doubles(100);
  _exit(signal == SIGTERM ? 0 : 1);
}

static void in_a_handler(void) {
  struct sigaction act = {.sa_handler = count_and_leave};
  sigaction(SIGTERM, &act, NULL);
  raise(SIGTERM);
}

static pthread_barrier_t barrier;

static void *at_once(void *unused) {
  (void)unused;
  pthread_barrier_wait(&barrier);
  add_doubles(1);
  pthread_barrier_wait(&barrier);
  return NULL;
}

static void many_threads(void) {
  pthread_barrier_init(&barrier, NULL, MANY);
  in_threads(MANY, at_once, NULL, 0);
}

static int three_more(void *unused) {
  (void)unused;
  add_doubles(3);
  exit(0);
}

static void *three_in_a_thread(void *unused) {
  add_doubles(3);
  return unused;
}

/* The C library's own syscall() makes a bare child, as by an instruction of the program: the runtime cannot see it. */
static pid_t child_by(const char *way) {
  static char stack[1 << 16] __attribute__((aligned(64)));
  long (*unseen)(long, ...);
  if (strcmp(way, "forks") == 0) return fork();
  if (strcmp(way, "clones") == 0) return clone(three_more, stack + sizeof stack, SIGCHLD, NULL);
  if (strcmp(way, "untold") == 0) return _Fork();
  void *c = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *found = c != NULL ? dlsym(c, "syscall") : NULL;
  if (found == NULL) _exit(1);
  memcpy(&unseen, &found, sizeof found);
  return (pid_t)unseen(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void family(const char *way) {
  pthread_t t;
  add_doubles(10);
  pid_t child = child_by(way);
  if (child == 0) {
    if (strncmp(way, "bare", 4) != 0) (void)three_more(NULL);
    if (strcmp(way, "bare") != 0 && pthread_create(&t, NULL, three_in_a_thread, NULL) == 0) pthread_join(t, NULL);
    exit(0);
  }
  waitpid(child, NULL, 0);
  add_doubles(20);
  if (strcmp(way, "forks") != 0) _exit(0);
}

static void in_a_loop(void) {
  add_doubles(7);
  pml_count_self[PML_COUNT_UNDERWAY - PML_COUNT_ORIGIN]++;
  raise(SIGKILL);
}

static void *stays_in_a_loop(void *unused) {
  (void)unused;
  add_doubles(1);
  pml_count_self[PML_COUNT_UNDERWAY - PML_COUNT_ORIGIN]++;
  pthread_barrier_wait(&barrier);
  (void)pause();
  return NULL;
}

static void forks_beside_a_loop(void) {
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, stays_in_a_loop, NULL);
  pthread_barrier_wait(&barrier);
  pid_t child = fork();
  if (child == 0) {
    add_doubles(3);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static void becomes(const char *what) {
  add_doubles(10);
  char *argv[] = {self, (char *)(uintptr_t)what, NULL};
  execv(self, argv);
}

static const char *const ways[] = {"forks", "clones", "untold", "bare thread", "bare"};

static int program(const char *what) {
  static struct pml_count_module m;
  m = module_of("program.c", PML_COUNT_FINAL);
  uses(&m, DOUBLE_ADD);
  uses(&m, DOUBLE_LOAD);
  m.uncounted = 2;
  if (strcmp(what, "closes") == 0)
    for (int fd = 3; fd < 256; fd++) (void)close(fd);
  pml_count_module_begin(&m);
  if (strcmp(what, "handler") == 0) in_a_handler();
  if (strcmp(what, "many") == 0 || strcmp(what, "closes") == 0) many_threads();
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (strcmp(what, ways[i]) == 0) family(what);
  if (strcmp(what, "loop") == 0) in_a_loop();
  if (strcmp(what, "beside") == 0) forks_beside_a_loop();
  if (strcmp(what, "becomes") == 0) becomes("exit");
  if (strcmp(what, "exit") == 0 || strcmp(what, "_exit") == 0 || strcmp(what, "killed") == 0) add_doubles(1000);
  if (strcmp(what, "_exit") == 0) _exit(0);
  if (strcmp(what, "killed") == 0) raise(SIGKILL);
  pml_count_module_end(&m);
  return 0;
}

static void run_with(const char *what, const char *count) {
  pid_t child = fork();
  if (child == 0) {
    setenv("PMLUA_COUNT", count, 1);
    if (chdir(folder) != 0) _exit(1);
    execl(self, self, what, (char *)NULL);
    _exit(1);
  }
  (void)waitpid(child, NULL, 0);
}

static void run(const char *what) {
  (void)unlink(file);
  run_with(what, file);
}

static uint64_t flops_in(const char *path, bool *ended) {
  struct pml_counts *c;
  if (pml_count_read(path, &c) < 0) return UINT64_MAX;
  uint64_t n = c->event[PML_BYFL_FLOP_COUNT];
  if (ended != NULL) *ended = c->ended;
  pml_counts_free(c);
  return n;
}

static uint64_t underway_in(const char *path) {
  struct pml_counts *c;
  if (pml_count_read(path, &c) < 0) return UINT64_MAX;
  uint64_t n = c->underway;
  pml_counts_free(c);
  return n;
}

static void ends(const char *what, uint64_t expect, bool by_exit, const char *sentence) {
  bool ended = false;
  run(what);
  uint64_t n = flops_in(file, &ended);
  CHECK(n == expect && ended == by_exit, "%s (%llu)", sentence, (unsigned long long)n);
}

static void tells(void) {
  struct pml_counts *c;
  run("exit");
  if (!CHECK(pml_count_read(file, &c) == 0, "a file is read")) return;
  CHECK(c->at == PML_COUNT_AT_FINAL && c->modules == 1 && c->nparts == 1 && c->threads == 1, "it says what counted");
  CHECK(c->nparts == 1 && strcmp(c->part[0].name, "program.c") == 0 && c->part[0].uncounted == 2 && c->uncounted == 2,
        "and what it could not count");
  CHECK(strstr(c->command, "count_file exit") != NULL && c->pid > 0 && c->parent == getpid() && c->started_ns > 0,
        "whose counts they are, and of when");
  CHECK(c->event[PML_BYFL_LOAD_COUNT] == 8000 && c->cell[DOUBLE_LOAD] == 1000, "bytes and kinds of operation");
  pml_counts_free(c);
}

static uint64_t beside_underway;

static uint64_t beside(size_t *files) {
  char pattern[80];
  glob_t g;
  uint64_t n = UINT64_MAX;
  *files = 0;
  (void)snprintf(pattern, sizeof pattern, "%s.*", file);
  if (glob(pattern, 0, NULL, &g) != 0) return n;
  *files = g.gl_pathc;
  beside_underway = underway_in(g.gl_pathv[0]);
  n = flops_in(g.gl_pathv[0], NULL);
  for (size_t i = 0; i < g.gl_pathc; i++) (void)unlink(g.gl_pathv[i]);
  globfree(&g);
  return n;
}

static void families(void) {
  size_t files;
  run("forks");
  uint64_t parent = flops_in(file, NULL), child = beside(&files);
  CHECK(parent == 30 && child == 3 && files == 1, "parent and child have a file each, and what each of them counted");
  run("becomes");
  uint64_t before = flops_in(file, NULL), after = beside(&files);
  CHECK(before == 10 && after == 1000 && files == 1, "so have the programs before and after an exec");
  run("exit");
  run_with("killed", file);
  CHECK(flops_in(file, NULL) == 1000 && beside(&files) == 1000 && files == 1,
        "a file that is there is not written over");
}

static void untold_families(void) {
  for (unsigned i = 1; i < 4; i++) {
    size_t files;
    bool ended = true;
    run(ways[i]);
    uint64_t parent = flops_in(file, &ended), child = beside(&files);
    CHECK(parent == 30 && child == 3 && files == 1 && !ended, "so they have where no handler is told of it (%s)",
          ways[i]);
  }
  ends("bare", 30, false, "a child that was not noticed does not end its parent's counts");
}

static void loops(void) {
  size_t files;
  run("exit");
  CHECK(underway_in(file) == 0, "counts are whole where no thread was in a loop");
  run("loop");
  CHECK(flops_in(file, NULL) == 7 && underway_in(file) == 1, "and say so where one was");
  run("beside");
  uint64_t child = beside(&files);
  CHECK(underway_in(file) == 1 && child == 3 && files == 1 && beside_underway == 0,
        "a thread that is in a loop as the process exits counts; a child does not have its parent's threads");
}

static void refusals(void) {
  char path[96];
  struct pml_counts *c;
  run_with("exit", "beside"); /* relative: from where the program started */
  (void)snprintf(path, sizeof path, "%s/beside", folder);
  CHECK(flops_in(path, NULL) == 1000, "a relative name is from where the program began");
  int rc = truncate(path, 140000) == 0 ? pml_count_read(path, &c) : 0;
  CHECK(rc == PML_EFORMAT, "a file that was cut is refused: %s", pml_error_detail(rc));
  rc = truncate(path, 0) == 0 && truncate(path, (off_t)1 << 20) == 0 ? pml_count_read(path, &c) : 0;
  CHECK(rc == PML_EFORMAT, "and one of zeroes: %s", pml_error_detail(rc));
  (void)unlink(path);
  CHECK(pml_count_read(path, &c) == -ENOENT && pml_count_read(folder, &c) == -EISDIR &&
            pml_count_read("", &c) == -EINVAL,
        "so are a missing file, a folder, and an empty name");
  run_with("exit", "nowhere/counts"); /* one line on stderr, and it runs */
  CHECK(access("nowhere", F_OK) != 0, "where no file can be, none is");
}

static void reports(void) {
  char command[4300], text[8192];
  (void)snprintf(command, sizeof command, "PMLUA_COUNT=report '%s' exit 2>&1", self);
  FILE *p = popen(command, "r");
  size_t n = p != NULL ? fread(text, 1, sizeof text - 1, p) : 0;
  text[n] = '\0';
  int status = p != NULL ? pclose(p) : -1;
  CHECK(status == 0 && strstr(text, "counted by the compiler, at final, after optimisation; 1 thread\n") != NULL,
        "PMLUA_COUNT=report prints whose counts they are");
  CHECK(strstr(text, "   1000  flop_count_I ") != NULL && strstr(text, "   1000  fp_add_double ") != NULL &&
            strstr(text, "not counted: 2 places") != NULL,
        "the nine sums, the operations, and a note of uncounted code");
  (void)snprintf(command, sizeof command, "env -u PMLUA_COUNT '%s' exit 2>&1", self);
  p = popen(command, "r");
  CHECK(p != NULL && fread(text, 1, sizeof text, p) == 0 && pclose(p) == 0, "without it nothing is printed");
}

int main(int argc, char **argv) {
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n > 0 && argc == 2) return program(argv[1]);
  if (n <= 0 || mkdtemp(folder) == NULL) return 1;
  (void)snprintf(file, sizeof file, "%s/counts", folder);
  ends("exit", 1000, true, "a program that comes to its end leaves its counts");
  ends("_exit", 1000, false, "so does a process that leaves by _exit");
  ends("killed", 1000, false, "and a killed one");
  ends("handler", 100, false, "the first counted function may be a signal handler, which leaves");
  ends("many", MANY, true, "a file grows with the threads");
  ends("closes", MANY, true, "also where the program closes what it has open");
  tells();
  families();
  if (SANITIZED)
    SKIP("sanitizers do not know of children that no handler is told of");
  else
    untold_families();
  CHECK_EACH(loops, refusals, reports);
  (void)unlink(file);
  CHECK(rmdir(folder) == 0, "nothing else is left behind");
  return check_done();
}
