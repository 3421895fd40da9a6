/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/bench/bench_startup.c - what interception adds to the start of a program whose calls have no consumer, and to a
 * forked child that makes no call.
 *
 * The bench builds the program: 100 libraries of 1000 functions, each with 1000 slots for functions of the others. It
 * times a whole process, from its creation to its end, and takes the fastest of 21.
 */
#include "bench.h"

#include "base/pml_clock.h"

#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/wait.h>

#define LIBRARIES 100
#define FUNCTIONS 1000
#define LIMIT_NS 50e6
#define CHILD_NS 50e3
#define ROUNDS 21

#ifdef __aarch64__
#define CALL "bl"
#else
#define CALL "call"
#endif

static char folder[] = "/tmp/pmlua-startup-XXXXXX", program[64], preload[PATH_MAX + 64], results[96];

/* ---- building the program ---- */

static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *format, ...) {
  char command[PATH_MAX];
  va_list ap;
  va_start(ap, format);
  vsnprintf(command, sizeof command, format, ap);
  va_end(ap);
  return system(command) == 0;
}

static FILE *create(const char *name) {
  char path[96];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return fopen(path, "w");
}

/* Write a library whose 1000 calls go to functions of all other libraries, about ten to each. */
static bool write_library(int l) {
  char name[32];
  snprintf(name, sizeof name, "l%d.s", l);
  FILE *f = create(name);
  if (f == NULL) return false;
  fprintf(f, "  .text\n");
  for (int i = 0; i < FUNCTIONS; i++)
    fprintf(f, "  .globl l%d_function_%d\n  .type l%d_function_%d, %%function\nl%d_function_%d:\n  ret\n", l, i, l, i,
            l, i);
  fprintf(f, "  .type calls, %%function\ncalls:\n");
  for (int i = 0; i < FUNCTIONS; i++)
    fprintf(f, "  " CALL " l%d_function_%d%s\n", (l + 1 + i % (LIBRARIES - 1)) % LIBRARIES,
            (i * 7 + l * 13) % FUNCTIONS, strcmp(CALL, "call") == 0 ? "@PLT" : "");
  fprintf(f, "  ret\n  .section .note.GNU-stack, \"\", %%progbits\n");
  return fclose(f) == 0;
}

/* Some 40 ns of work in each call, because the time of an empty call depends on the layout of memory. */
static bool write_program(void) {
  FILE *f = create("main.c");
  if (f == NULL) return false;
  fprintf(f, "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <time.h>\n#include <unistd.h>\n"
             "void l0_function_0(void);\n"
             "static long long at(clockid_t c) { struct timespec t; clock_gettime(c, &t);\n"
             "  return t.tv_sec * 1000000000LL + t.tv_nsec; }\n"
             "static long long now(void) { return at(CLOCK_PROCESS_CPUTIME_ID); }\n"
             "int main(int argc, char **argv) {\n"
             "  if (argc < 2) return 0;\n"
             "  long n = atol(argv[1]); long long least = 1LL << 60;\n"
             "  if (argc > 2) for (long i = 0; i < n; i++) {\n"
             "    long long from = at(CLOCK_MONOTONIC);\n"
             "    pid_t p = fork();\n"
             "    if (p == 0) _exit(0);\n"
             "    waitpid(p, NULL, 0);\n"
             "    from = at(CLOCK_MONOTONIC) - from;\n"
             "    if (from < least) least = from; }\n"
             "  if (argc > 2) { printf(\"%%lld\\n\", least); return 0; }\n"
             "  unsigned sum = (unsigned)n;\n"
             "  for (int round = 0; round < 20; round++) {\n"
             "    long long from = now();\n"
             "    for (long i = 0; i < n; i++) {\n"
             "      for (int k = 0; k < 40; k++) sum = sum * 1664525u + 1013904223u;\n"
             "      l0_function_0(); }\n"
             "    from = now() - from;\n"
             "    if (from < least) least = from; }\n"
             "  if (sum == 1) puts(\"1\");\n"
             "  printf(\"%%lld\\n\", least); return 0; }\n");
  return fclose(f) == 0;
}

static bool make(void) {
  if (mkdtemp(folder) == NULL) return false;
  snprintf(program, sizeof program, "%s/main", folder);
  snprintf(results, sizeof results, "PMLUA_RECORD_DIR=%s/results", folder);
  for (int l = 0; l < LIBRARIES; l++)
    if (!write_library(l)) return false;
  return write_program() && run("cd %s && mkdir results && for l in l*.s; do cc -shared -Wl,-z,lazy $l -o "
                                "lib${l%%.s}.so || exit 1; done && "
                                "cc -O2 -o main main.c -L. -Wl,--no-as-needed $(ls l*.s | sed 's/\\(.*\\)[.]s/-l\\1/') "
                                "-Wl,-rpath,'$ORIGIN',--allow-shlib-undefined >/dev/null 2>&1",
                                folder);
}

static bool find_preload(void) {
  char self[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0) return false;
  self[n] = '\0';
  *strrchr(self, '/') = '\0';
  snprintf(preload, sizeof preload, "LD_PRELOAD=%s/preload/libpmlua-record.so", self);
  return access(preload + strlen("LD_PRELOAD="), R_OK) == 0;
}

/* ---- measuring ---- */

static double start_ns(char *const *environment) {
  char *arguments[] = {program, NULL};
  int status;
  pid_t pid;
  uint64_t from = pml_clock_ns();
  if (posix_spawn(&pid, program, NULL, NULL, arguments, environment) != 0) return 0;
  waitpid(pid, &status, 0);
  return (double)(pml_clock_ns() - from);
}

static double work_ns(const char *environment, const char *arguments) {
  char command[PATH_MAX + 256];
  long long ns = 0;
  snprintf(command, sizeof command, "env %s %s %s", environment, program, arguments);
  FILE *f = popen(command, "r");
  if (f == NULL) return 0;
  if (fscanf(f, "%lld", &ns) != 1) ns = 0;
  pclose(f);
  return (double)ns;
}

/* Other programs make a process slower, never faster. */
static double fastest(const double *v) {
  double least = v[0];
  for (int i = 1; i < ROUNDS; i++)
    if (v[i] < least) least = v[i];
  return least;
}

static void start_row(const char *figure, char *bind) {
  /* As pmlua record starts it: told the clock's rate. */
  char rate[128] = "PMLUA_CLOCK_RATE=", *without[] = {bind, NULL}, *with[] = {bind, preload, results, rate, NULL};
  pml__clock_tell(rate + strlen(rate), sizeof rate - strlen(rate));
  double a[ROUNDS], b[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    a[i] = start_ns(without);
    b[i] = start_ns(with);
  }
  struct bench_op op[2] = {{.ns = fastest(a), .instructions = -1}, {.ns = fastest(b), .instructions = -1}};
  if (op[0].ns > 0) bench_row(figure, &op[1], "the same without", &op[0], 1 + LIMIT_NS / op[0].ns, NULL, NULL);
}

/* @more: ns that the ratio may have beside @limit. */
static void program_row(const char *figure, const char *arguments, const char *lib, double limit, double more) {
  char with[2 * PATH_MAX];
  double a[ROUNDS], b[ROUNDS];
  snprintf(with, sizeof with, "%s %s PMLUA_RECORD_LIB=%s", preload, results, lib);
  for (int i = 0; i < ROUNDS; i++) {
    a[i] = work_ns("", arguments);
    b[i] = work_ns(with, arguments);
  }
  struct bench_op op[2] = {{.ns = fastest(a), .instructions = -1}, {.ns = fastest(b), .instructions = -1}};
  if (op[0].ns > 0) bench_row(figure, &op[1], "the same without", &op[0], limit + more / op[0].ns, NULL, NULL);
}

void bench_startup_rows(void) {
  static char lazy[] = "LANG=C", now[] = "LD_BIND_NOW=1";
  if (!find_preload())
    printf("%-34s libpmlua-record.so is not built\n", "start of an intercepted program");
  else if (!make())
    printf("%-34s the program cannot be built here\n", "start of an intercepted program");
  else {
    start_row("start, 100000 slots, bound late", lazy);
    start_row("start, 100000 slots, bound at once", now);
    program_row("calls without a consumer", "50000", "libnone", 1.01, 0);
    program_row("a child that calls _exit", "50 forks", "libm.so*", 1, CHILD_NS);
  }
  (void)run("rm -rf %s", folder);
}
