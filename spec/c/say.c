/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/say.c - a line on stderr: it arrives, is harmless without a reader, and is never written to another file. */
#include "base/text/pml_say.h"
#include "check.h"

/* The role of this program when it is executed again, with a pipe as its stderr: "other:FILE": descriptor 2 is another
 * file by then. */
static int say(const char *how) {
  char longest[1000] = "";
  if (*how == 'o') (void)dup2(open(how + strlen("other:"), O_WRONLY), STDERR_FILENO);
  if (*how == 'l') memset(longest, 'x', sizeof longest - 1);
  errno = EXDEV;
  pml__say("%s is %d%s", "six", 6, longest);
  return errno == EXDEV ? 0 : 1;
}

/* Run @how; @out gets the text from the pipe. Returns its status, or the signal that ended it + 128. */
static int run(const char *how, bool reader, char *out, size_t size) {
  int ends[2], status;
  if (pipe(ends) != 0) return -1;
  pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    (void)dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    if (!reader) kill(getpid(), SIGSTOP); /* until the other end is closed */
    execl("/proc/self/exe", "say", how, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  if (!reader) {
    (void)waitpid(child, &status, WUNTRACED);
    close(ends[0]);
    kill(child, SIGCONT);
  }
  ssize_t n, all = 0;
  while (reader && (n = read(ends[0], out + all, size - 1 - (size_t)all)) > 0) all += n;
  out[all] = '\0';
  if (reader) close(ends[0]);
  (void)waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
  char out[2000], path[] = "/tmp/pmlua-say-XXXXXX", how[64];
  if (argc == 2) return say(argv[1]);
  CHECK(run("plain", true, out, sizeof out) == 0 && strcmp(out, "pmlua: six is 6\n") == 0, "a line: %s", out);
  CHECK(run("long", true, out, sizeof out) == 0 && strlen(out) < 520 && strstr(out, "xxx\n") != NULL,
        "a long one is cut, and ends");
  CHECK(run("plain", false, out, sizeof out) == 0, "without a reader the program continues");
  int file = mkstemp(path);
  snprintf(how, sizeof how, "other:%s", path);
  CHECK(run(how, true, out, sizeof out) == 0 && out[0] == '\0' && lseek(file, 0, SEEK_END) == 0,
        "where number 2 is another file by now, nothing is written");
  close(file);
  unlink(path);
  return check_done();
}
