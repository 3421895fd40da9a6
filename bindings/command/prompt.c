/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/prompt.c - Ctrl-C at a prompt, and the file of its history. */
#include "command/prompt.h"

#include "argument.h"
#include "command/editing.h"
#include "command/interrupt.h"
#include "pml.h"
#include "refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROMPT_MAX 256

static char first_prompt[PROMPT_MAX]; /* for a new input: the line may have continued the previous one */

static volatile sig_atomic_t pending; /* the line is to be cleared */

/* Mark the typed input as void, for the next check of the flag. */
static void on_signal(int sig) {
  (void)sig;
  lutil_interrupted = 1;
  pending = 1;
}

/*
 * readline restores the terminal on SIGINT, hands the signal to the handler that was there before, takes the terminal
 * again, and calls rl_signal_event_hook, which may change the line; but not where the signal came between two keys, as
 * while a word was completed. rl_event_hook is called while it waits for the next key, and then does it.
 */
static int clear_line(void) {
  if (!pending) return 0; /* another signal: a window of another size */
  pending = 0;
  editing_clear_line(first_prompt);
  return 0;
}

/* at_prompt(prompt): SIGINT sets the flag and clears the line; a read without readline ends with EINTR. */
static int l_at_prompt(lua_State *L) {
  const char *prompt = luaL_checkstring(L, 1);
  (void)interrupt_off(L);
  strncpy(first_prompt, prompt, sizeof first_prompt - 1);
  editing_at_prompt(clear_line);
  pending = 0;
  struct sigaction sa = {.sa_handler = on_signal};
  sigemptyset(&sa.sa_mask);
  sigaction(SIGINT, &sa, NULL);
  return 0;
}

/* Make the folders above @path, for the user alone. */
static int make_folders(char *path) {
  for (char *p = path + 1; *p != '\0'; p++) {
    if (*p != '/') continue;
    *p = '\0';
    int err = mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
    *p = '/';
    if (err < 0) return err;
  }
  return 0;
}

/* private_file(path): a file that only its user reads, made with the folders above it if it is not there. */
static int l_private_file(lua_State *L) {
  const char *name = lutil_string(L, 1);
  char path[PATH_MAX];
  size_t n = strlen(name);
  if (n >= sizeof path) return pml_pusherr(L, -ENAMETOOLONG, "sys.private_file");
  memcpy(path, name, n + 1);
  int err = make_folders(path);
  int fd = err == 0 ? open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600) : -1;
  struct stat st = {0};
  if (err == 0 && (fd < 0 || fstat(fd, &st) != 0)) err = -errno;
  if (err == 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid())) err = -EPERM;
  if (err == 0 && (st.st_mode & 077) != 0 && fchmod(fd, 0600) != 0) err = -errno;
  if (fd >= 0) close(fd);
  if (err < 0) err = pml_fail(err, "%s: %s", name, strerror(-err));
  return pml_pushdone(L, err, "sys.private_file");
}

void prompt_functions(lua_State *L) {
  static const luaL_Reg functions[] = {{"at_prompt", l_at_prompt}, {"private_file", l_private_file}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
