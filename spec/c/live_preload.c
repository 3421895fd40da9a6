/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/live_preload.c - a program that was never changed is asked, because libpmlua-live.so was preloaded.
 *
 * The programs are compiled here, by the compiler that compiled this. Each says what it sees of itself in a line, and
 * ends when its input does.
 */
#include "check.h"
#include "live.h"

#define PROLOGUE                                                                                                       \
  "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n"                                                     \
  "#pragma weak papi_sde_init\n#pragma weak papi_sde_register_counter\n"                                               \
  "void *papi_sde_init(const char *);\n"                                                                               \
  "int papi_sde_register_counter(void *, const char *, int, int, void *);\n"                                           \
  "static long long x = 42;\n"                                                                                         \
  "static void tell(void) { if (papi_sde_init) papi_sde_register_counter(papi_sde_init(\"APP\"), \"X\", 16, 0, &x); "  \
  "}\n"                                                                                                                \
  "static int maps(const char *what) { char l[512]; int n = 0; FILE *f = fopen(\"/proc/self/maps\", \"r\");\n"         \
  "  while (fgets(l, sizeof l, f)) n += strstr(l, what) != 0; fclose(f); return n > 0; }\n"

static const char plain[] = PROLOGUE "int main(void) { int before = maps(\"-embed\"); tell();\n"
                                     "  printf(\"%d%d\\n\", before, maps(\"-embed\")); fflush(stdout);\n"
                                     "  return getchar() != EOF; }\n";
static const char silent[] = PROLOGUE "int main(void) { printf(\"%d%d\\n\", maps(\"liblua\"), maps(\"embed\"));\n"
                                      "  fflush(stdout); return getchar() != EOF; }\n";
/* Its child registers nothing more. */
static const char forking[] = PROLOGUE "int main(void) { tell(); int pid = fork(); if (!pid) { pause(); }\n"
                                       "  printf(\"%d\\n\", pid); fflush(stdout); return getchar() != EOF; }\n";
/* An incompatible Lua of the program: a call of it by mistake ends the program. */
static const char other[] =
    PROLOGUE "#define F(n) void n(void) { _exit(99); }\n"
             "F(lua_newstate) F(luaL_newstate) F(lua_close) F(luaL_openlibs) F(lua_pcallk) F(lua_callk) F(lua_settop)\n"
             "F(lua_gettop) F(lua_pushcclosure) F(lua_pushstring) F(lua_getfield) F(lua_setfield) F(luaL_setfuncs)\n"
             "F(lua_createtable) F(lua_sethook) F(lua_newuserdatauv) F(luaL_checklstring) F(lua_getallocf)\n"
             "int main(void) { tell(); printf(\"own\\n\"); fflush(stdout); return getchar() != EOF; }\n";
/* The same Lua as ours, used by itself. */
static const char user[] = PROLOGUE
    "void *luaL_newstate(void); void lua_close(void *); void lua_pushinteger(void *, long long);\n"
    "long long lua_tointegerx(void *, int, int *);\n"
    "int main(void) { void *L = luaL_newstate(); lua_pushinteger(L, 7); tell();\n"
    "  printf(\"%lld\\n\", lua_tointegerx(L, -1, 0)); lua_close(L); fflush(stdout); return getchar() != EOF; }\n";

static char dir[64], preload[512], runtime[64];

static bool build(const char *name, const char *source, const char *flags) {
  char command[512];
  snprintf(command, sizeof command, "${CC:-cc} -rdynamic -x c - -o %s/%s %s 2>/dev/null", dir, name, flags);
  FILE *cc = popen(command, "w");
  if (cc == NULL) return false;
  fputs(source, cc);
  return pclose(cc) == 0;
}

struct program {
  pid_t pid;
  int in;
  char said[64];
};

static bool run(struct program *p, const char *name) {
  int in[2], out[2];
  char path[128];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  if (pipe(in) != 0 || pipe(out) != 0) return false;
  p->pid = fork();
  if (p->pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    for (int fd = 3; fd < 64; fd++) close(fd);
    setenv("LD_PRELOAD", preload, 1);
    execl(path, name, (char *)NULL);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  p->in = in[1];
  struct pollfd wait = {.fd = out[0], .events = POLLIN};
  ssize_t n = poll(&wait, 1, LIVE_WAIT_S * 1000) == 1 ? read(out[0], p->said, sizeof p->said - 1) : 0;
  p->said[n > 0 ? n - 1 : 0] = '\0'; /* without its newline */
  close(out[0]);
  return n > 0;
}

static int ended(struct program *p) {
  int status = -1;
  close(p->in);
  waitpid(p->pid, &status, 0);
  return status;
}

static bool is_served(pid_t pid, const char *name) {
  char path[LIVE_PATH_MAX];
  snprintf(path, sizeof path, "%s/pmlua/%d.%s", runtime, (int)pid, name);
  int fd = -1;
  for (double until = live_now() + LIVE_WAIT_S; fd < 0 && live_now() < until; live_sleep_ms(5)) fd = live_connect(path);
  bool good = live_evals(fd, "pml.sde.find('APP::X'):read()", "42");
  close(fd);
  return good;
}

static bool is_gone(pid_t pid, const char *name) {
  char path[LIVE_PATH_MAX];
  snprintf(path, sizeof path, "%s/pmlua/%d.%s", runtime, (int)pid, name);
  return access(path, F_OK) != 0;
}

static void served(const char *name, const char *source, const char *flags, const char *said, const char *what) {
  struct program p = {.pid = 0};
  if (!build(name, source, flags)) {
    SKIP(what);
    return;
  }
  bool runs = run(&p, name);
  CHECK(runs && strcmp(p.said, said) == 0, "%s: it runs and sees what it should: %s", what, p.said);
  CHECK(is_served(p.pid, name), "%s: its counter is read from outside", what);
  CHECK(ended(&p) == 0 && is_gone(p.pid, name), "%s: it ends as it would, and its socket is gone", what);
}

static void left_alone(void) {
  struct program p;
  if (!build("silent", silent, "") || !run(&p, "silent")) {
    CHECK(false, "a program without events runs");
    return;
  }
  CHECK(strcmp(p.said, "00") == 0, "a program that registers nothing loads no Lua: %s", p.said);
  CHECK(is_gone(p.pid, "silent"), "and is not served");
  ended(&p);
}

static void with_child(void) {
  struct program p;
  if (!build("forking", forking, "") || !run(&p, "forking")) {
    CHECK(false, "a program that forks runs");
    return;
  }
  pid_t child = (pid_t)atoi(p.said);
  CHECK(child > 0 && is_served(child, "forking"), "the child of a served program is served");
  CHECK(is_served(p.pid, "forking"), "and so is its parent");
  if (child > 0) kill(child, SIGKILL);
  ended(&p);
}

static bool find_preload(void) {
  char exe[256];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n < 0) return false;
  exe[n] = '\0';
  *strrchr(exe, '/') = '\0';
  snprintf(preload, sizeof preload, "%s/../preload/libpmlua-live.so", exe);
  return access(preload, R_OK) == 0;
}

int main(void) {
  snprintf(runtime, sizeof runtime, "%s", live_runtime());
  snprintf(dir, sizeof dir, "%s", runtime);
  alarm(100);
  if (SANITIZED) {
    SKIP("a sanitized library cannot be preloaded into a program that is not");
    return check_done();
  }
  if (!CHECK(find_preload(), "the library is there: %s", preload)) return check_done();
  if (system("command -v ${CC:-cc} >/dev/null 2>&1") != 0) {
    SKIP("there is no C compiler here to build programs with");
    return check_done();
  }
  signal(SIGPIPE, SIG_IGN);
  served("weak", plain, "", "01", "a program without libsde");
  served("linked", plain, "-Wl,--no-as-needed -lsde", "01", "a program linked with another libsde (libpapi-dev)");
  served("other", other, "", "own", "a program with another Lua");
  served("user", user, "-llua5.4", "7", "a program with the same Lua");
  left_alone();
  with_child();
  return check_done();
}
