/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/command.c - what spec/core/command_spec.lua cannot see of a child that waits: streams, signals, descriptors.
 */
#include "check.h"
#include "program/pml_command.h"

#define PATIENCE_MS 60000

static char *const shell_true[] = {"sh", "-c", "exit 0", NULL};

static int descriptors(void) {
  int n = 0;
  for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

static void streams_are_files_where_that_is_asked_for(void) {
  struct pml_command c;
  char *const argv[] = {"sh", "-c", "read x; echo \"got $x\"; echo wrong >&2", NULL};
  char dir[] = "/tmp/pmlua-command-XXXXXX", in[64], out[64], err[64], text[16] = "";
  CHECK(mkdtemp(dir) != NULL, "there is a folder");
  snprintf(in, sizeof in, "%s/in", dir);
  snprintf(out, sizeof out, "%s/out", dir);
  snprintf(err, sizeof err, "%s/err", dir);
  FILE *f = fopen(in, "w");
  CHECK(f != NULL && fputs("7\n", f) >= 0 && fclose(f) == 0, "and a file");
  struct pml_command_setting setting = {.input = in, .output = out, .error = err};
  CHECK(pml_command_spawn_with(&c, argv, &setting) == 0, "a command with separate streams is forked");
  CHECK(pml_command_start(&c) == 0 && pml_command_wait(&c, PATIENCE_MS) == 0 && c.end.status == 0, "it runs");
  pml_command_close(&c);
  f = fopen(out, "r");
  CHECK(f != NULL && fgets(text, sizeof text, f) != NULL && strcmp(text, "got 7\n") == 0,
        "it read and wrote its files");
  if (f != NULL) fclose(f);
  f = fopen(err, "r");
  CHECK(f != NULL && fgets(text, sizeof text, f) != NULL && strcmp(text, "wrong\n") == 0, "both of them");
  if (f != NULL) fclose(f);
  setting.input = "/nowhere/at/all";
  CHECK(pml_command_spawn_with(&c, argv, &setting) == 0, "a command without its input is forked");
  CHECK(pml_command_start(&c) == -ENOENT, "start says that it is missing");
  pml_command_close(&c);
  CHECK(remove(in) == 0 && remove(out) == 0 && remove(err) == 0 && remove(dir) == 0, "the folder is removed");
}

static void a_child_killed_before_it_starts_is_seen_to_end(void) {
  struct pml_command c;
  CHECK(pml_command_spawn(&c, shell_true) == 0, "a command is forked");
  CHECK(pml_command_kill(&c, SIGKILL) == 0, "it is killed while it waits");
  CHECK(pml_command_start(&c) == 0, "start does not mind");
  CHECK(pml_command_wait(&c, PATIENCE_MS) == 0, "it ends");
  CHECK(c.end.status == -1 && c.end.signal == SIGKILL, "by the signal");
  pml_command_close(&c);
}

static volatile sig_atomic_t alarms;
static void on_alarm(int sig) {
  (void)sig;
  alarms = alarms + 1;
}

static void a_signal_ends_the_wait_but_not_the_child(void) {
  struct pml_command c;
  char *const argv[] = {"sleep", "60", NULL};
  struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &sa, NULL);
  CHECK(pml_command_spawn(&c, argv) == 0, "a command is forked");
  CHECK(pml_command_start(&c) == 0, "it starts");
  CHECK(pml_command_wait(&c, 1) == -ETIMEDOUT, "a wait has a limit");
  ualarm(50000, 50000); /* again and again: the first may be there before the wait is */
  CHECK(pml_command_wait(&c, PATIENCE_MS) == -EINTR, "a signal handler ends the wait, even with SA_RESTART");
  ualarm(0, 0);
  CHECK(alarms >= 1 && pml_command_kill(&c, 0) == 0, "and the child runs on");
  CHECK(pml_command_kill(&c, SIGTERM) == 0, "it gets the request to end");
  CHECK(pml_command_wait(&c, PATIENCE_MS) == 0 && c.end.signal == SIGTERM, "it ends by that");
  pml_command_close(&c);
}

static void start_without_a_pidfd(struct pml_command *c, const char *seconds) {
  char argument[8], *const argv[] = {"sleep", argument, NULL};
  snprintf(argument, sizeof argument, "%s", seconds);
  CHECK(pml_command_spawn(c, argv) == 0, "a command is forked");
  if (c->pidfd >= 0) close(c->pidfd);
  c->pidfd = -1; /* as on a kernel before 5.3 */
  CHECK(pml_command_start(c) == 0, "it starts");
}

static void without_a_pidfd_the_end_is_looked_for(void) {
  struct pml_command c;
  start_without_a_pidfd(&c, "60");
  CHECK(pml_command_wait(&c, 15) == -ETIMEDOUT, "a wait has a limit");
  CHECK(pml_command_kill(&c, SIGTERM) == 0 && pml_command_wait(&c, PATIENCE_MS) == 0 && c.end.signal == SIGTERM,
        "after which it continues");
  pml_command_close(&c);
  start_without_a_pidfd(&c, "0.2");
  CHECK(pml_command_wait(&c, PATIENCE_MS) == 0 && c.end.status == 0, "the end is seen");
  pml_command_close(&c);
}

static void closing_leaves_no_child_and_no_descriptor(void) {
  int before = descriptors();
  for (int i = 0; i < 20; i++) {
    struct pml_command c;
    char *const argv[] = {"sleep", "60", NULL};
    CHECK(pml_command_spawn(&c, argv) == 0, "a command is forked");
    if (i % 2 == 1) CHECK(pml_command_start(&c) == 0, "it starts (every second one)");
    pml_command_close(&c);
  }
  CHECK(descriptors() == before, "no descriptor is left");
  CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no child is left");
}

int main(void) {
  CHECK_EACH(streams_are_files_where_that_is_asked_for, a_child_killed_before_it_starts_is_seen_to_end,
             a_signal_ends_the_wait_but_not_the_child, without_a_pidfd_the_end_is_looked_for,
             closing_leaves_no_child_and_no_descriptor);
  return check_done();
}
