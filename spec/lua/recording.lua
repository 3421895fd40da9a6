-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/recording.lua - helpers for the specs of pmlua record: a program with known calls of zlib, and readers of its results.

local support = require "spec.core.support"
local json = require "pmlua.json"

local M = { command = support.build .. "/pmlua" }

--- Performs the actions of its arguments, NAME or NAME:N, in order; `end` closes a block. Exits with 98 where the machine cannot,
--- and prints the fault.
local CALLS = support.C .. [[
#include <linux/filter.h>
#include <zlib.h>
static const unsigned char text[] = "pmlua";
static unsigned long sum, more, good;
static char **words;
static int in_child;
static volatile int rests;
static pthread_t busy_thread;
static void crc(long n) { while (n-- > 0) sum = crc32(sum, text, 5); }
static void adler(long n) { while (n-- > 0) more = adler32(more, text, 5); }
static void version(long n) { while (n-- >= 0) more += (unsigned char)zlibVersion()[0]; }
static void *calls(void *n) { crc(*(long *)n); return NULL; }
static void thread(long n) {
  pthread_t t;
  if (pthread_create(&t, NULL, calls, &n) == 0) pthread_join(t, NULL);
}
static void expect(int is, const char *what) { if (!is) dprintf(1, "wrong: %s\n", what); }
static void needs(int has) { if (!has) exit(98); }
static void forks(long n) { /* the child calls adler32 n times first */
  in_child = fork() == 0;
  if (in_child) adler(n);
}
static void waits(long status) {
  if (in_child) exit((int)status);
  wait(NULL);
}
static void sleeps(long ms) { usleep(1000 * (unsigned)ms); }
static void asks(long n) { /* until a line comes */
  char c = (char)n;
  if (write(1, "asks\n", 5) < 0 || read(0, &c, 1) < 0) _exit(2);
}
static void holds(long n) { for (char c = (char)n; read(0, &c, 1) > 0;) continue; }
static void prints(long n) { /* by one write, which strict seccomp allows */
  static char line[64];
  n = snprintf(line, sizeof line, "%lu %lu %lu\n", sum, more, good);
  if (write(1, line, (size_t)n) != n) exit(97);
}
static void exits(long status) { exit((int)status); }
static void leaves(long status) { _exit((int)status); }
static void thread_leaves(long status) { syscall(SYS_exit, (int)status); }
static void aborts(long n) { (void)n; abort(); }
static void faults(long n) { raise((int)(n + SIGSEGV)); }
static void is_killed(long n) { /* together with its parent, if n says so */
  if (n > 0) kill(getppid(), SIGKILL);
  raise(SIGKILL);
}
static void executes(long n) { (void)n; execl(words[0], words[0], "crc32:3", NULL); }
static void executes_true(long n) { (void)n; execl("/bin/true", "true", NULL); }
static void logs(long n) { /* so many logs of this process are there */
  char end[32];
  snprintf(end, sizeof end, ".%d.pmlog", (int)getpid());
  DIR *d = opendir(getenv("PMLUA_RECORD_DIR"));
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) n -= strstr(e->d_name, end) != NULL;
  if (d != NULL) closedir(d);
  expect(n == 0, "number of logs");
}
static void closes(long n) {
  for (int i = 3; i < 2000; i++) close(i);
  int fd = open("victim", O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (; n > 0; n--) (void)!dup(fd);
  expect(fd == 3, "first descriptor");
}
static void is_victim(long n) {
  struct stat st;
  expect(fstat(3, &st) == 0 && st.st_size == n, "the program's own file");
}
static void limit(int what, long most) {
  struct rlimit r = {(rlim_t)most, (rlim_t)most};
  needs(setrlimit(what, &r) == 0);
}
static void files(long n) { limit(RLIMIT_NOFILE, n); }
static void file_size(long n) { limit(RLIMIT_FSIZE, n << 20); }
static void addresses(long n) { limit(RLIMIT_AS, n << 20); }
static void data(long n) { limit(RLIMIT_DATA, n << 20); }
static void memory(long n) {
  char *p = malloc((size_t)n << 20);
  needs(p != NULL);
  free(memset(p, 1, (size_t)n << 20));
}
static void no_clock(long n) { needs(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == n); }
static void folder(long n) { needs(chdir("/") == n); }
static void root(long n) { needs(chroot("/proc") == 0 && chdir("/") == n); }
static void user(long n) { needs(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == n); }
static void user_unseen(long n) { needs(syscall(SYS_setuid, 65534) == n); }
static void strict(long n) { needs(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == n); }
static volatile int late; /* a thread whose first call comes after the filter */
static void *is_late(void *p) { for (late = 1; late < 2;) {} crc32(0, text, 5); for (late = 3; late;) {} return p; }
static void filter(long by_call) { /* write, exit and exit_group are left; all else is the end. 2: for all threads */
  struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof f / sizeof f[0], f};
  needs(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  pthread_t t;
  if (by_call == 2) for (pthread_create(&t, NULL, is_late, NULL); !late;) {}
  needs((by_call ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, by_call == 2 ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program)
                 : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) == 0);
  if (by_call == 2) for (late = 2; late == 2;) {}
}
static void *is_busy(void *p) { while (!rests) adler32(0, text, 5); return p; }
static void busy(long n) { (void)n; pthread_create(&busy_thread, NULL, is_busy, NULL); }
static void rest(long n) { rests = 1; if (busy_thread != 0) pthread_join(busy_thread, NULL); (void)n; }
static void page_faults(long least) { /* of a child that does nothing, the least of 20 */
  least = 1L << 40;
  for (int i = 0; i < 20; i++) {
    struct rusage r;
    pid_t p = fork();
    if (p == 0) _exit(0);
    wait4(p, NULL, 0, &r);
    if (r.ru_minflt < least) least = r.ru_minflt;
  }
  printf("faults %ld\n", least);
}

static const struct { const char *name; void (*does)(long n); } all[] = {
  {"crc32", crc}, {"adler32", adler}, {"zlibVersion", version}, {"thread", thread}, {"fork", forks}, {"wait", waits},
  {"sleep", sleeps}, {"ask", asks}, {"hold", holds}, {"print", prints}, {"exit", exits}, {"_exit", leaves},
  {"SYS_exit", thread_leaves}, {"abort", aborts}, {"segv", faults}, {"kill", is_killed}, {"exec", executes},
  {"true", executes_true}, {"logs", logs}, {"close", closes}, {"victim", is_victim}, {"files", files}, {"fsize", file_size},
  {"as", addresses}, {"data", data}, {"memory", memory}, {"tsc", no_clock}, {"chdir", folder}, {"chroot", root}, {"user", user},
  {"SYS_setuid", user_unseen}, {"strict", strict}, {"filter", filter}, {"busy", busy}, {"rest", rest}, {"faults", page_faults}};

/* What stands between one of these words and its "end" is done in a child, in n threads at once, n times, ... */
static const char *const blocks[] = {"child", "clone", "clone_vm", "bare", "_Fork", "vfork", "alone", "threads", "times",
  "handler", NULL};
struct block { char **from; pthread_barrier_t all; };
static char **acts(char **w);

static const char *block_of(const char *word, long *n) {
  size_t length = strcspn(word, ":");
  *n = word[length] ? atol(word + length + 1) : 0;
  for (int i = 0; blocks[i] != NULL; i++)
    if (strncmp(blocks[i], word, length) == 0 && blocks[i][length] == 0) return blocks[i];
  return NULL;
}
static int in_block(void *w) { acts(w); _exit(3); }
static void *in_thread(void *p) {
  struct block *b = p;
  acts(b->from);
  pthread_barrier_wait(&b->all);
  return NULL;
}
static char **handled;
static void handler(int s) { (void)s; acts(handled); }
static void threads(char **w, long n) {
  pthread_t t[1000];
  struct block b = {.from = w};
  pthread_barrier_init(&b.all, NULL, (unsigned)n);
  for (long i = 0; i < n; i++) pthread_create(&t[i], NULL, in_thread, &b);
  for (long i = 0; i < n; i++) pthread_join(t[i], NULL);
}
static void child(const char *how, char **w) {
  static char stack[1 << 18] __attribute__((aligned(16)));
  char c = 0;
  int status = 0, begun[2];
  pid_t p = -1;
  if (*how == 'a') needs(pipe(begun) == 0);
  if (strcmp(how, "clone") == 0) p = clone(in_block, stack + sizeof stack, SIGCHLD, w);
  else if (strcmp(how, "clone_vm") == 0) p = clone(in_block, stack + sizeof stack, SIGCHLD | CLONE_VM, w);
  else if (*how == 'v') p = vfork();
  else if (*how == 'b') p = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  else p = *how == '_' ? _Fork() : fork();
  if (*how == 'a' && p == 0) (void)!write(begun[1], &c, 1);
  if (p == 0) in_block(w);
  if (*how == 'a') expect(read(begun[0], &c, 1) == 1, "a child");
  else if (waitpid(p, &status, 0) == p && WIFEXITED(status) && WEXITSTATUS(status) == 3)
    __atomic_add_fetch(&good, 1, __ATOMIC_RELAXED);
}
static char **acts(char **w) {
  for (long n; *w != NULL; w++) {
    const char *block = block_of(*w, &n);
    if (strcmp(*w, "end") == 0) return w;
    if (block == NULL) {
      for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (strncmp(all[k].name, *w, strcspn(*w, ":")) == 0 && all[k].name[strcspn(*w, ":")] == 0) all[k].does(n);
      continue;
    }
    char **from = ++w;
    for (int depth = 1; depth > 0; w++) depth += strcmp(*w, "end") == 0 ? -1 : block_of(*w, &(long){0}) != NULL;
    w--;
    if (*block == 't' && block[1] == 'h') threads(from, n);
    else if (*block == 't') while (n-- > 0) acts(from);
    else if (*block == 'h') { handled = from; signal(SIGUSR1, handler); raise(SIGUSR1); }
    else child(block, from);
  }
  return w;
}
int main(int argc, char **argv) {
  words = argv;
  acts(argv + 1);
  return argc == 0;
}
]]

--- How many definitions (-G) or events of an archive begin with each word; and the text.
local function printed(shell, folder, words, what)
  local _, out, complaints = shell(("otf2-print %s %s/traces.otf2"):format(what or "", folder))
  local n = {}
  for i, word in ipairs(words) do n[i] = select(2, out:gsub("\n" .. word .. "%f[%s]", "")) end
  return n, out, complaints
end

--- How the processes ended, with the calls of each: "exit 1", sorted.
function M.endings(all)
  local list = {}
  for i, p in ipairs(all.processes) do
    local calls = 0
    for _, path in ipairs(p.paths) do calls = calls + path.calls end
    list[i] = ("%s %d"):format(p.ended, calls)
  end
  table.sort(list)
  return table.concat(list, ", ")
end

--- A new folder with the program `calls`, and what one does there.
---@param before? string words before each command
function M.place(before)
  local dir = support.folder()
  local at = { dir = dir, shell = support.shell_of(dir, 120, before) }
  support.compile(dir, { ["calls.c"] = CALLS }, "gcc -O1 -w calls.c -o calls -lz -lpthread")

  --- Record a command: functions by their names, the whole recording, status, standard error, the command's own output.
  function at.recorded(arguments, environment)
    local status, out, err = at.shell(("%s %s record --json %s"):format(environment or "", M.command, arguments))
    local text = out:match "\n?({\n.*)$"
    if not text then error(err, 2) end
    local all = json.decode(text)
    return support.by(all.functions, "name"), all, status, err, out:sub(1, #out - #text)
  end

  local number = 0
  --- Record `./calls ACTS` into a new folder: calls of crc32, the whole recording, status, standard error, output, folder.
  function at.crc32(acts, options)
    number = number + 1
    local folder = "r" .. number
    local by_name, all, status, err, out = at.recorded(("--lib 'libz*' --sym crc32 %s -o %s -- ./calls %s"):format(options or "",
      folder, acts))
    return by_name.crc32 and by_name.crc32.calls or 0, all, status, err, out, folder
  end

  --- How often each function is in the trace of a folder.
  function at.traced(folder)
    local calls = {}
    local out = support.done(at.shell(("%s trace %s/traces.otf2 --json"):format(M.command, folder)))
    for _, row in ipairs(json.decode(out).regions) do calls[row.region] = row.calls end
    return calls
  end

  function at.printed(...) return printed(at.shell, ...) end

  return at
end

return M
