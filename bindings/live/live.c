/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live.c - lifecycle of the live service: start, stop, fork, exit. */
#include "live/live.h"

#include "base/pml_process.h"
#include "embed/locate.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (1u << 20)
#define EXIT_WAIT_SECONDS 0.5

static struct {
  struct pml__lock lock;
  bool starting; /* by a thread that does not hold the lock meanwhile */
  bool prepared; /* fork and exit are watched */
  struct live *live;
  struct live *left; /* by forks: their memory cannot be freed, as it may have been in use */
  struct stat err;   /* what stderr was at the start */
} service;

/* A child's. Its parent's connections end nevertheless: the service shuts them down before it closes. */
static void close_copies(struct live *l) {
  live__own_forget(l);
  live_descriptor_close(&l->listener, false);
  live_descriptor_close(&l->wake, false);
  live_descriptor_close(&l->woken, false);
  for (int i = 0; i < LIVE_CONNECTIONS; i++) live_descriptor_close(&l->socket[i], false);
}

/*
 * Data under this lock changes only by stores after which a child can continue, because a thread that held the lock
 * does not exist in the child. Watchers run first, because ours changes the data that it guards.
 */
void live__lock(void) {
  pml__process_look();
  pml__lock_take(&service.lock);
}

void live__unlock(void) {
  pml__lock_leave(&service.lock);
}

struct live *live__running(void) {
  return service.live;
}

double live__now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int live__wake_pair(struct live *l) {
  int fd[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) != 0)
    return pml_fail(-errno, "no socket to wake the service by: %s", strerror(errno));
  struct live_descriptor wake, woken; /* taken at once: they have no name to be known by */
  live_descriptor_take(&wake, fd[0]);
  live_descriptor_take(&woken, fd[1]);
  live_descriptor_lift(&wake);
  live_descriptor_lift(&woken);
  live_descriptor_close(&l->wake, false);
  live_descriptor_close(&l->woken, false);
  live_descriptor_move(&l->wake, &wake);
  live_descriptor_move(&l->woken, &woken);
  return 0;
}

bool live__wake(const struct live *l) {
  if (!live_descriptor_held(&l->wake)) return true;
  int fd = live_descriptor_get(&l->wake);
  if (fd < 0) return false;
  (void)send(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* full is as good */
  return true;
}

/*
 * If the program closed every descriptor, number 2 may be a data file by now. Write only to the stderr of the start, to
 * a terminal, or to a file in append mode.
 */
static bool is_stderr(void) {
  struct stat st;
  if (fstat(STDERR_FILENO, &st) != 0) return false;
  if (st.st_dev == service.err.st_dev && st.st_ino == service.err.st_ino) return true;
  return isatty(STDERR_FILENO) || (S_ISREG(st.st_mode) && (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0);
}

/* stderr's lock is the application's, and the reader of its stderr may be slow. */
void live__say(const char *fmt, ...) {
  char line[1024] = "pmlua: ";
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line + 7, sizeof line - 8, fmt, ap);
  va_end(ap);
  if (n < 0) return;
  size_t length = 7 + ((size_t)n < sizeof line - 8 ? (size_t)n : sizeof line - 9);
  line[length++] = '\n';
  if (!is_stderr() || write(STDERR_FILENO, line, length) < 0) return; /* nowhere else to report */
}

void live__wait(struct live *l, double until) {
  struct timespec t = {.tv_sec = (time_t)until, .tv_nsec = (long)((until - floor(until)) * 1e9)};
  live__lock();
  while (!atomic_load(&l->stopping) && pml__lock_wait(&service.lock, &l->stopped, &t) == 0) continue;
  live__unlock();
}

/* --- starting --- */

void live__free(struct live *l) {
  if (l == NULL) return;
  live_descriptor_close(&l->listener, true); /* a child that was forked in the meantime may have a copy */
  live_descriptor_close(&l->wake, false);
  live_descriptor_close(&l->woken, false);
  pthread_cond_destroy(&l->stopped);
  free(l->rules_file);
  free(l->mail.file);
  free(l);
}

static struct live *new_live(const char *name, bool inherited) {
  struct live *l = calloc(1, sizeof *l);
  if (l == NULL) return NULL;
  live_socket_name(l->name, name);
  l->inherited = inherited;
  l->since = live__now();
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&l->stopped, &monotonic);
  pthread_condattr_destroy(&monotonic);
  l->rules.due = l->rules.look = HUGE_VAL;
  live_descriptor_none(&l->listener);
  live_descriptor_none(&l->wake);
  live_descriptor_none(&l->woken);
  for (int i = 0; i < LIVE_CONNECTIONS; i++) live_descriptor_none(&l->socket[i]);
  if (inherited || live__wake_pair(l) == 0) return l;
  live__free(l);
  return NULL;
}

static int start_thread(struct live *l) {
  pthread_attr_t attr;
  sigset_t all, before;
  if (pthread_attr_init(&attr) != 0) return pml_fail(-ENOMEM, "live: out of memory for a thread");
  pthread_attr_setstacksize(&attr, STACK_BYTES);
  sigfillset(&all); /* the application's handlers never run on our thread */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int err = -pthread_create(&l->thread, &attr, live__main, l);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  return err == 0 ? 0 : pml_fail(err, "live: no thread can be started: %s", strerror(-err));
}

static void prepare(void);

/* Whether it can be compiled; it is run by the service's thread. */
static int check_rules(const char *rules) {
  lua_State *L = luaL_newstate();
  if (L == NULL) return pml_fail(-ENOMEM, "rules %s: out of memory for a Lua state", rules);
  int status = luaL_loadfilex(L, rules, "t");
  int err = status == LUA_OK ? 0 : pml_fail(PML_ESCRIPT, "rules: %.400s", lua_tostring(L, -1));
  lua_close(L);
  return err;
}

/* The rules' file, found now: the program may go to another folder. */
static int find_rules(char **file, const char *rules) {
  *file = rules != NULL ? realpath(rules, NULL) : NULL;
  if (rules != NULL && *file == NULL) return pml_fail(-errno, "rules %s: %s", rules, strerror(errno));
  int err = rules != NULL ? check_rules(rules) : 0;
  if (err == 0) return 0;
  free(*file);
  *file = NULL;
  return err;
}

static struct live_setup setup_of(const struct pmlua_live_config *o) {
  return (struct live_setup){.own_loop = o->own_loop != 0,
                             .connections = o->connections != 0 ? (int)o->connections
                                            : o->own_loop       ? LIVE_OWN_CONNECTIONS
                                                                : LIVE_CONNECTIONS,
                             .nice = o->nice != 0 ? (int)o->nice : LIVE_READER_NICE,
                             .instructions = o->instructions != 0 ? o->instructions : LIVE_FRAME_INSTRUCTIONS,
                             .seconds = o->seconds > 0 ? o->seconds : LIVE_FRAME_SECONDS,
                             .memory_bytes = o->memory_bytes != 0 ? o->memory_bytes
                                             : o->own_loop        ? LIVE_OWN_SESSION_BYTES
                                                                  : LIVE_SESSION_BYTES,
                             .state = o->state,
                             .page_every_s = o->page_every_s > 0 ? o->page_every_s : 1};
}

/* Without the lock: the socket and the thread are the kernel's, which takes its time. */
static int create(struct live **live, const struct pmlua_live_config *o) {
  struct live *l = new_live(o->name, false);
  if (l == NULL) return pml_fail(-ENOMEM, "live: out of memory or descriptors");
  l->setup = setup_of(o);
  int err = find_rules(&l->rules_file, o->rules);
  l->mail.file = l->rules_file != NULL ? strdup(l->rules_file) : NULL;
  l->unasked = o->unasked != 0;
  l->named = true;
  l->stop_run = o->stop;
  l->stop_arg = o->stop_arg;
  if (err == 0 && !l->unasked) err = live_socket_listen(&l->listener, l->path, o->name);
  if (err == 0) {
    err = l->setup.own_loop ? live__own_begin(l) : start_thread(l);
    if (err < 0 && !l->unasked) unlink(l->path);
  }
  if (err < 0)
    live__free(l);
  else
    *live = l;
  return err;
}

/*
 * Give a running service the socket, and the other options, that this start asks for. The socket of a name that a
 * forked child has from its parent ends.
 */
static int add_socket(struct live *l, const struct pmlua_live_config *o) {
  char path[LIVE_PATH_MAX], *file;
  int err = find_rules(&file, o->rules);
  if (err < 0) return err;
  struct live_descriptor listener;
  err = live_socket_listen(&listener, path, o->name);
  if (err < 0) {
    free(file);
    return err;
  }
  live__lock();
  if (file != NULL) {
    char *rules = l->rules_file, *mail = l->mail.file;
    __atomic_store_n(&l->rules_file, file, __ATOMIC_RELEASE);
    __atomic_store_n(&l->mail.file, strdup(file), __ATOMIC_RELEASE);
    free(rules);
    free(mail);
  }
  if (o->stop != NULL) {
    l->stop_run = o->stop;
    l->stop_arg = o->stop_arg;
  }
  l->unasked = false;
  l->named = true;
  live_socket_name(l->name, o->name);
  if (l->path[0] != '\0') unlink(l->path);
  memcpy(l->path, path, sizeof path);
  live_descriptor_close(&l->listener, true);
  live_descriptor_move(&l->listener, &listener);
  (void)live__wake(l);
  live__unlock();
  return 0;
}

/* Wait, with the lock held in between only, until no other thread is starting. */
static void settle(void) {
  while (service.starting) {
    live__unlock();
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    live__lock();
  }
}

/* Whether a running service needs a new socket: it had none, or has its parent's name. Under the lock. */
static bool adds_socket(const struct live *l, const struct pmlua_live_config *o) {
  char name[LIVE_NAME_MAX + 1];
  if (o->unasked) return false;
  if (l->unasked) return true;
  live_socket_name(name, o->name);
  return !l->named && o->name != NULL && strcmp(name, l->name) != 0;
}

static int start(const struct pmlua_live_config *o) {
  live__lock();
  settle();
  struct live *l = service.live;
  if (l != NULL && !adds_socket(l, o)) {
    live__unlock();
    return 0;
  }
  service.starting = true;
  bool first = !service.prepared;
  service.prepared = true;
  live__unlock();
  if (first) prepare();
  int err = l != NULL ? add_socket(l, o) : create(&l, o);
  live__lock();
  service.live = l;
  service.starting = false;
  live__unlock();
  return err;
}

int pmlua_live_start(const struct pmlua_live_options *options) {
  struct pmlua_live_config c = {.size = sizeof c};
  if (options != NULL) {
    c.name = options->name;
    c.rules = options->rules;
    c.stop = options->stop;
    c.stop_arg = options->stop_arg;
    c.unasked = options->unasked;
  } else {
    c.name = secure_getenv("PMLUA_LIVE_NAME");
    c.rules = secure_getenv("PMLUA_LIVE_RULES");
  }
  return start(&c);
}

int pmlua_live_start_with(const struct pmlua_live_config *config) {
  struct pmlua_live_config c;
  int err = state_config(&c, sizeof c, config);
  if (err < 0) return err;
  if (c.connections > LIVE_CONNECTIONS)
    return pml_fail(-EINVAL, "live: %u connections; give at most %d", c.connections, LIVE_CONNECTIONS);
  if (c.nice > LIVE_READER_NICE) return pml_fail(-EINVAL, "live: nice %u; give 1 to %d", c.nice, LIVE_READER_NICE);
  if (!(c.seconds >= 0 && c.seconds <= 3600)) return pml_fail(-EINVAL, "live: a question's time is 0 to 3600 s");
  if (c.memory_bytes != 0 && c.memory_bytes < 2u << 20)
    return pml_fail(-EINVAL, "live: %zu bytes are too few for a session; give at least 2 MB", c.memory_bytes);
  if (c.page_every_s != 0 && !(c.page_every_s >= 0.001 && c.page_every_s <= 3600))
    return pml_fail(-EINVAL, "live: page_every_s is %g; give 0.001 to 3600 s", c.page_every_s);
  if (c.state != NULL && !c.own_loop)
    return pml_fail(-EINVAL, "live: a state can be asked by one thread alone; set own_loop as well");
  return start(&c);
}

/* --- stopping --- */

/* Takes the service away from all others; its path is free for the next one. */
static struct live *take(void) {
  live__lock();
  settle();
  struct live *l = service.live;
  service.live = NULL;
  if (l != NULL) {
    atomic_store(&l->stopping, true);
    if (l->path[0] != '\0') unlink(l->path);
    l->path[0] = '\0';
    /* A thread that cannot be woken is left asleep. */
    l->detached = (!live__wake(l) && !l->setup.own_loop) || live__on_thread();
    pthread_cond_signal(&l->stopped);
  }
  live__unlock();
  return l;
}

/* Wait for the thread, at most this long. False: it continues, and frees its data when it ends. */
static bool join(struct live *l, double seconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  double end = (double)until.tv_nsec * 1e-9 + seconds;
  until.tv_sec += (time_t)end;
  until.tv_nsec = (long)((end - floor(end)) * 1e9);
  bool joined = pthread_timedjoin_np(l->thread, NULL, &until) == 0;
  live__lock();
  l->detached = !joined && !l->finished;
  bool late = l->detached;
  live__unlock();
  if (late)
    pthread_detach(l->thread);
  else if (!joined)
    pthread_join(l->thread, NULL); /* it is in its last instructions */
  if (!late) live__free(l);
  return !late;
}

int pmlua_live_stop(void) {
  struct live *l = take();
  if (l == NULL) return 0;
  if (l->setup.own_loop) {
    if (!l->detached) live__own_end(l); /* else dispatch does, when it gets back to its loop */
    return 0;
  }
  if (l->detached) {
    pthread_detach(l->thread); /* it frees what it has, when it gets back to its loop */
    return 0;
  }
  if (join(l, LIVE_STOP_SECONDS)) return 0;
  return pml_fail(-ETIMEDOUT,
                  "live: a rule or a function of the application has not returned within %g s; it goes on, and what it "
                  "uses must stay",
                  LIVE_STOP_SECONDS);
}

/* A function of the application that never returns must not keep the process from ending. */
static void at_exit(void) {
  struct live *l = take();
  if (l != NULL && !l->detached && !l->setup.own_loop) (void)join(l, EXIT_WAIT_SECONDS);
}

int pmlua_live_path(char *path, size_t size) {
  int err = 0;
  live__lock();
  const struct live *l = service.live;
  if (l == NULL || l->path[0] == '\0')
    err = pml_fail(PML_ECLOSED, "this process is not served");
  else if ((size_t)snprintf(path, size, "%s", l->path) >= size)
    err = pml_fail(-ENAMETOOLONG, "%s does not fit into %zu bytes", l->path, size);
  live__unlock();
  return err;
}

/* --- fork --- */

/* Returns NULL when the child cannot be served: it runs on without. */
static struct live *heir(const struct live *l) {
  struct live *n = new_live(l->name, true);
  if (n == NULL) return NULL;
  n->setup = l->setup;
  n->stop_run = l->stop_run;
  n->stop_arg = l->stop_arg;
  n->rules_file = l->rules_file != NULL ? strdup(l->rules_file) : NULL;
  n->unasked = l->unasked;
  n->mail.file = n->rules_file != NULL ? strdup(n->rules_file) : NULL;
  if (start_thread(n) == 0) return n;
  live__free(n);
  return NULL;
}

/*
 * The data of the service's thread may be inconsistent in the child: it is not touched, except for the descriptors. A
 * child that was made without the C library's fork handlers (_Fork, clone, fork as a system call) is not served.
 */
static void in_child(void) {
  struct live *l = service.live;
  service.starting = false;
  service.live = NULL;
  if (l != NULL) {
    bool ours = live__on_thread(); /* a function of the application forked: it is on its own */
    if (ours) live__thread_forked();
    atomic_store(&l->stopping, true);
    close_copies(l);
    l->next = service.left;
    service.left = l;
    if (!ours && !l->setup.own_loop && pml__process_was_told()) service.live = heir(l);
  }
}

/* Threads of ours outlive the object that loaded this: its code must stay. */
static void stay_loaded(void) {
  char path[PATH_MAX];
  locate_code(path);
  (void)dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static void prepare(void) {
  stay_loaded();
  if (fstat(STDERR_FILENO, &service.err) != 0) service.err = (struct stat){0};
  (void)pml__process_watch(in_child);
  (void)atexit(at_exit);
}
