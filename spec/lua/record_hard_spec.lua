-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_hard_spec.lua - difficult programs under pmlua record: their output and exit status are the same as
-- without it, also with a trace, with counts of events, and with libc recorded.
--
-- Slow: compiles and runs some 20 programs, four times each.

local support = require "spec.core.support"

local command = support.build .. "/pmlua"
local dir = support.folder()

local program = support.C .. [[
#include <execinfo.h>
#include <ucontext.h>
#include <zlib.h>
extern char **environ;
static unsigned long work(int n) {
  unsigned long sum = 0;
  for (int i = 0; i < n; i++) sum = crc32(sum, (const unsigned char *)"pmlua", 5);
  return sum;
}
__attribute__((constructor)) static void before_main(void) { work(3); }
static void at_exit(void) { printf("at exit %lx\n", work(4)); }
static int ended(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
static int with_threads(int n, void *(*run)(void *), void *arg) {
  pthread_t thread[64];
  intptr_t sum = 0;
  for (int i = 0; i < n; i++) pthread_create(&thread[i], NULL, run, arg);
  for (int i = 0; i < n; i++) {
    void *result;
    pthread_join(thread[i], &result);
    sum += (intptr_t)result;
  }
  return (int)sum;
}
static void *storms(void *arg) { (void)arg; return (void *)(intptr_t)(work(5000) & 0xff); }
static int storm(void) { return with_threads(64, storms, NULL); }
static volatile int stop;
static void *works(void *arg) { (void)arg; while (!stop) work(10); return NULL; }
/* The children of a process whose other threads are anywhere. */
static int forks(void) {
  pthread_t thread[6];
  int good = 0;
  for (int i = 0; i < 6; i++) pthread_create(&thread[i], NULL, works, NULL);
  for (int i = 0; i < 25; i++) {
    pid_t pid = fork();
    if (pid == 0) _exit(work(100) == 0);
    good += ended(pid) == 0;
  }
  stop = 1;
  for (int i = 0; i < 6; i++) pthread_join(thread[i], NULL);
  return good;
}
static void *forks_once(void *arg) {
  pid_t pid = fork();
  (void)arg;
  if (pid == 0) _exit(work(50) != 0 ? 4 : 0);
  return (void *)(intptr_t)ended(pid);
}
static int forks_from_threads(void) { return with_threads(16, forks_once, NULL); }
static int clones(void *arg) { *(unsigned long *)arg = work(10); return 8; }
static int spawns(void) {
  char *const words[] = {"sh", "-c", "exit 2", NULL};
  size_t bytes = 1 << 18;
  char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned long sum = 0;
  int all = 0;
  for (int i = 0; i < 5; i++) {
    pid_t pid = vfork();
    if (pid == 0) execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
    all += ended(pid);
    pid = vfork();
    if (pid == 0) _exit(6);
    all += ended(pid);
    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ) == 0) all += ended(pid);
  }
  all += ended(clone(clones, stack + bytes, SIGCHLD | CLONE_VM | CLONE_VFORK, &sum));
  return sum == work(10) ? all : -1;
}
static ucontext_t home, away[3];
static void gives_way(int which) {
  for (int i = 0; i < 50; i++) {
    work(2);
    swapcontext(&away[which], &home);
  }
}
static int contexts(void) {
  volatile int again = 0;
  for (int k = 0; k < 3; k++) {
    getcontext(&away[k]);
    away[k].uc_stack.ss_sp = malloc(1 << 17);
    away[k].uc_stack.ss_size = 1 << 17;
    away[k].uc_link = &home;
    makecontext(&away[k], (void (*)(void))gives_way, 1, k);
  }
  for (int i = 0; i < 51; i++)
    for (int k = 0; k < 3; k++) swapcontext(&home, &away[k]);
  getcontext(&home);
  work(2);
  if (again++ < 5) setcontext(&home);
  return again;
}
static volatile sig_atomic_t came;
static void interrupts(int sig) { (void)sig; came++; work(2); }
static int signals(void) {
  stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  struct sigaction action = {.sa_handler = interrupts, .sa_flags = SA_ONSTACK | SA_RESTART};
  struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
  sigaltstack(&other, NULL);
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  unsigned long sum = 0;
  for (int i = 0; i < 400 || (came < 20 && i < 1000000); i++) sum = work(500);
  setitimer(ITIMER_REAL, &never, NULL);
  return sum == work(500) && came >= 20;
}
static void *never_ends(void *arg) {
  int old;
  pthread_setcanceltype(arg != NULL ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, &old);
  for (;;) {
    work(3);
    if (arg == NULL) pthread_testcancel();
  }
}
static int cancels(void) {
  int good = 0;
  for (int i = 0; i < 400; i++) { /* most of them so soon that pmlua is still making what it needs for the thread */
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, never_ends, i % 2 ? &good : NULL);
    usleep(i % 20 == 0 ? 1000 : i);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    good += result == PTHREAD_CANCELED;
  }
  return good;
}
/* Threads that a handler leaves at any moment of crc32(), which keeps nothing: most in their first calls. */
static __thread sigjmp_buf out;
static __thread volatile sig_atomic_t armed;
static volatile int is_out;
static void jumps(int sig) { (void)sig; if (armed) siglongjmp(out, 1); }
static void *is_left(void *arg) {
  if (sigsetjmp(out, 1) == 0) {
    armed = 1;
    for (;;) crc32(0, (const unsigned char *)"abc", 3);
  }
  armed = 0;
  is_out = 1;
  return arg;
}
static int leaves_anywhere(void) {
  struct sigaction action = {.sa_handler = jumps};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 400; i++) {
    pthread_t thread;
    is_out = 0;
    pthread_create(&thread, NULL, is_left, NULL);
    for (usleep(i / 4); !is_out; usleep(10)) pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
  }
  return work(3) != 0;
}
static int leaves(const void *a, const void *b) { (void)a, (void)b; work(1); pthread_exit((void *)5); }
static void *sorts(void *arg) {
  char text[] = "cba";
  (void)arg;
  work(1);
  qsort(text, 3, 1, leaves); /* of libc: recorded in one of the ways */
  return NULL;
}
static int thread_ends_inside(void) { return with_threads(32, sorts, NULL); }
static void *loads(void *arg) {
  intptr_t good = 0;
  (void)arg;
  for (int i = 0; i < 50; i++) {
    void *plug = dlopen("./libplug.so", RTLD_NOW);
    int (*function)(int) = (int (*)(int))dlsym(plug, "plug");
    good += function(i) == i + 1;
    dlclose(plug);
  }
  return (void *)good;
}
static int loading(void) { return with_threads(5, loads, NULL); }
/* Where frames are, in their files. If fewer are wanted, these are the first; the first of all is another line here. */
static void show_frames(int most) {
  void *at[64], *first[64];
  int n = backtrace(at, most);
  for (int k = 1; k <= n; k++)
    if (backtrace(first, k) != k || memcmp(first + 1, at + 1, (size_t)(k - 1) * sizeof *at) != 0) printf("%d others\n", k);
  char **line = backtrace_symbols(at, n);
  for (int i = 0; i < n; i++) printf("%.*s\n", (int)strcspn(line[i], " "), line[i]);
  free(line);
}
static void *allocates(void *of, unsigned n, unsigned bytes) {
  z_stream inner = {.zalloc = allocates};
  if (of != NULL) deflateInit(&inner, 1);
  show_frames(64);
  show_frames(4);
  return NULL;
}
static int orders(const void *a, const void *b) { (void)a, (void)b; allocates("", 1, 1); return 0; }
static int frames(void) {
  z_stream outer = {.zalloc = allocates, .opaque = ""};
  deflateInit(&outer, 1);
  qsort((char[2]){0}, 2, 1, orders);
  return 0;
}
int main(int argc, char **argv) {
  static const struct { const char *name; int (*run)(void); } all[] = {
      {"storm", storm}, {"forks", forks}, {"forks_from_threads", forks_from_threads}, {"spawns", spawns},
      {"contexts", contexts}, {"signals", signals}, {"cancels", cancels}, {"thread_ends_inside", thread_ends_inside},
      {"loading", loading}, {"leaves_anywhere", leaves_anywhere}, {"frames", frames}};
  atexit(at_exit);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    if (argc < 2 || strcmp(all[i].name, argv[1]) != 0) continue;
    printf("%d\n", all[i].run());
    return 6;
  }
  return 99;
}
]]

local plug = [[
#include <zlib.h>
int inner(int i);
int plug(int i) { return crc32(0, (const unsigned char *)&i, 4) != 0 ? inner(i) : -1; }
int inner(int i) { return i + 1; }
]]

--- Stands in for libc's, without a version.
local shout = [[
#include <stdio.h>
int puts(const char *text) { return printf("shout %s\n", text); }
]]

local shell = support.shell_of(dir, 60)

describe("pmlua record leaves alone", function()
  setup(function()
    local says = '#include <stdio.h>\nint main(void) { puts("a"); puts("b"); return 2; }\n'
    local files = { ["hard.c"] = program, ["plug.c"] = plug, ["shout.c"] = shout, ["says.c"] = says }
    support.compile(dir, files, "gcc -O1 -w hard.c -o hard -lz -lpthread -ldl && " ..
      "gcc -O1 -fPIC -shared plug.c -o libplug.so -lz && gcc -O1 -fPIC -shared -fno-builtin shout.c -o libshout.so && " ..
      "gcc -Wl,-z,lazy says.c -o says")
  end)

  local number = 0
  local cases = {
    storm = "64 threads", forks = "a program that forks while its threads work", forks_from_threads = "threads that fork",
    spawns = "vfork, posix_spawn and clone", contexts = "contexts", signals = "handlers on their own stack",
    cancels = "cancelled threads", thread_ends_inside = "threads that end inside a call",
    loading = "threads that load and unload a library", leaves_anywhere = "handlers that leave by siglongjmp anywhere",
    frames = "a program that prints the frames of its stack",
  }
  for case, what in pairs(cases) do
    it(what, function()
      local expected = { shell("./hard " .. case) }
      assert.equal(6, expected[1])
      for _, options in ipairs { "", "--trace", "--event page-faults", "--lib '*' --trace" } do
        number = number + 1
        local status, out, err = shell(("%s record %s -o r%d -- ./hard %s"):format(command, options, number, case))
        assert.same({ options, expected[1], expected[2] }, { options, status, out }, err)
        assert.truthy(err:find("crc32 +%d"), err)
      end
    end)
  end

  it("a library that replaces functions of libc", function()
    local expected = { shell("LD_PRELOAD=./libshout.so ./says") }
    assert.same({ 2, "shout a\nshout b\n" }, { expected[1], expected[2] })
    local status, out, err = shell("LD_PRELOAD=./libshout.so " .. command .. " record --lib libc -o shouted -- ./says")
    assert.same({ 2, expected[2] }, { status, out }, err)
  end)
end)
