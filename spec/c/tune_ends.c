/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/tune_ends.c - what a tuned process leaves when it ends, however it does; and what cannot be set. */
#include "check.h"
#include "cpus_folder.h"

#include <sys/prctl.h>

static const struct pml_tune_rule slow = {.region = "solve", .frequency_hz = 1e9, .governor = "powersave"};

static int open_tune(struct pml_tune **t, const struct pml_tune_rule *r) {
  const struct pml_tune_options o = {.root = cpus_folder, .cpus = PML_TUNE_ALL};
  return pml_tune_open(t, r, 1, &o);
}

static bool is_slow(void) {
  return cpus_are(0, MAX, "1000000\n") && cpus_are(1, MIN, "1000000\n") && cpus_are(0, GOVERNOR, "powersave\n");
}

static bool is_back(void) {
  static const char *const file[] = {MAX, MIN, GOVERNOR};
  bool back = cpus_become(0, MAX, "3500000\n") && cpus_become(1, MIN, "800000\n") &&
              cpus_become(0, GOVERNOR, "schedutil\n") && cpus_become(1, GOVERNOR, "schedutil\n");
  for (unsigned i = 0; i < 6; i++) back = back && cpus_are_free(i / 3, file[i % 3]);
  return back;
}

static bool nobody_has_any(void) {
  static const char *const file[] = {MAX, MIN, GOVERNOR};
  bool none = true;
  for (unsigned i = 0; i < 6; i++) none = none && cpus_is_free(i / 3, file[i % 3]);
  return none;
}

enum end { BY_KILL, BY_TERM, BY_INT, BY_HUP, BY_ABORT, BY_CRASH, BY_QUICK_EXIT, BY_EXIT, BY_RETURN, BY_EXEC, ENDS };

static void die(enum end end, struct pml_tune *t) {
  static const int by[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGABRT, SIGSEGV};
  (void)prctl(PR_SET_DUMPABLE, 0);
  if (end < BY_QUICK_EXIT) {
    (void)signal(by[end], SIG_DFL);
    (void)raise(by[end]);
  }
  if (end == BY_QUICK_EXIT) _exit(0);
  if (end == BY_EXIT) exit(0);
  if (end == BY_RETURN) pml_tune_close(t), exit(0);
  if (end == BY_EXEC) (void)execl("/bin/sleep", "sleep", "30", (char *)NULL);
  _exit(9);
}

static pid_t tuned(enum end end, int word[2]) {
  (void)pipe2(word, 0);
  int told[2];
  (void)pipe2(told, 0);
  pid_t pid = fork();
  if (pid == 0) {
    struct pml_tune *t;
    char c;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int err = open_tune(&t, &slow);
    if (err == 0) (void)pml_section_start_label("solve");
    (void)!write(told[1], err == 0 ? "y" : "n", 1);
    (void)!read(word[0], &c, 1);
    die(end, t);
  }
  char c = 'n';
  (void)!read(told[0], &c, 1);
  close(told[0]), close(told[1]), close(word[0]);
  return c == 'y' ? pid : -1;
}

static void ends(void) {
  static const char *const name[ENDS] = {"kill -9", "SIGTERM", "SIGINT", "SIGHUP",  "abort",
                                         "a crash", "_exit",   "exit",   "a close", "exec"};
  for (enum end end = 0; end < ENDS; end++) {
    int word[2], status;
    pid_t pid = tuned(end, word);
    CHECK(pid > 0 && is_slow(), "a process tunes");
    (void)!write(word[1], "", 1);
    if (end != BY_EXEC) (void)waitpid(pid, &status, 0);
    bool at_once = cpus_are(0, MAX, "3500000\n") && cpus_are(1, GOVERNOR, "schedutil\n") && nobody_has_any();
    CHECK(end == BY_EXIT || end == BY_RETURN ? at_once : is_back(), "and ends by %s: all files have their old values",
          name[end]);
    if (end == BY_EXEC) (void)kill(pid, SIGKILL), (void)waitpid(pid, &status, 0);
    close(word[1]);
  }
}

static void forked(void) {
  struct pml_tune *t;
  int status;
  CHECK(open_tune(&t, &slow) == 0 && waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD,
        "the process that guards is no child that wait() meets");
  (void)pml_section_start_label("solve");
  pid_t pid = fork();
  if (pid == 0) {
    pml_tune_close(t);
    exit(0);
  }
  (void)waitpid(pid, &status, 0);
  CHECK(is_slow(), "a forked child that ends puts nothing back");
  pid = fork();
  if (pid == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)pause();
    _exit(0);
  }
  (void)pml_section_stop_label("solve");
  pml_tune_close(t);
  CHECK(is_back() && open_tune(&t, &slow) == 0, "and a surviving one does not prevent tuning");
  (void)pml_section_start_label("solve");
  CHECK(is_slow(), "who tunes again");
  (void)pml_section_stop_label("solve");
  pml_tune_close(t);
  (void)kill(pid, SIGKILL);
  (void)waitpid(pid, &status, 0);
  cpus_put(0, MAX, "2222222");
  CHECK(cpus_are(0, MAX, "2222222\n"), "restored files have no owner");
  cpus_put(0, MAX, "3500000");
}

static void two_processes(void) {
  int word[2], status;
  struct pml_tune *t = NULL;
  pid_t pid = tuned(BY_KILL, word);
  CHECK(pid > 0 && open_tune(&t, &(struct pml_tune_rule){.region = "solve", .max_hz = 2e9}) == 0, "two processes tune");
  (void)pml_section_start_label("solve");
  CHECK(is_slow(), "and the second changes none of the first's files");
  (void)pml_section_stop_label("solve");
  CHECK(is_slow() && has_line(t, "/cpu0/" MAX ": EBUSY: the kernel refused '2000000': another process"),
        "which it tells");
  pml_tune_close(t);
  (void)!write(word[1], "", 1);
  (void)waitpid(pid, &status, 0);
  CHECK(is_back(), "the first puts back what it found");
  close(word[1]);
}

static void refusing(void) {
  struct pml_tune *t;
  struct pml_tune_stats s;
  cpus_seal(0, MAX, "3500000");
  cpus_stand_in(1, MAX, "/proc/self/coredump_filter"); /* which takes any number and keeps nine bits of it */
  CHECK(open_tune(&t, &slow) == 0, "a file that refuses to be written");
  for (int i = 0; i < 3; i++) {
    (void)pml_section_start_label("solve");
    CHECK(cpus_are(0, MIN, "1000000\n") && cpus_are(1, GOVERNOR, "powersave\n"), "keeps no other from being set");
    (void)pml_section_stop_label("solve");
  }
  pml_tune_stats(t, &s);
  size_t n = 0;
  while (pml_tune_line(t, n) != NULL) printf("# %s\n", pml_tune_line(t, n++));
  CHECK(has_line(t, "/cpu0/" MAX ": EPERM: the kernel refused '1000000'") && s.refused >= 3, "it is reported");
  CHECK(has_line(t, "/cpu1/" MAX ": wrote 1000000, read back"), "so is a file with another text");
  CHECK(n == 2, "each once");
  pml_tune_close(t);
  CHECK(cpus_are(0, MIN, "800000\n"), "and all others are restored");
}

static void bad_rule(const char *part, int want, const struct pml_tune_rule *r) {
  struct pml_tune *t;
  int err = open_tune(&t, r);
  bool told = strstr(pml_error_detail(err), part) != NULL;
  CHECK(err == want && t == NULL && told, "refused: %s", pml_error_detail(err));
  if (!told) printf("# %s\n", part);
}

static void bad(void) {
  struct pml_tune_rule r = {.region = "solve"};
  struct pml_tune *t;
  r.frequency_hz = 1.2;
  bad_rule("give 1e3 to 1e12", -EINVAL, &r);
  r = (struct pml_tune_rule){.region = "solve", .min_hz = 2e9, .max_hz = 1e9};
  bad_rule("the least frequency", -EINVAL, &r);
  r = (struct pml_tune_rule){.region = "", .threads = 1};
  bad_rule("needs the name of a region", -EINVAL, &r);
  const struct pml_tune_options nowhere = {.root = "/nowhere"}, empty = {.root = "/proc/self/fd"};
  CHECK(pml_tune_open(&t, &slow, 1, &nowhere) == -ENOENT && pml_tune_open(&t, &slow, 1, &empty) == -ENOENT &&
            pml_tune_open(&t, &slow, 0, NULL) == -EINVAL,
        "refused: a root without cpus, and no rules");
}

int main(void) {
  cpus_make(2);
  CHECK_EACH(pml_tune_allow, ends, forked, two_processes, bad, refusing, cpus_remove);
  return check_done();
}
