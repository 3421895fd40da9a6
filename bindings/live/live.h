/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/live/live.h - declarations shared by the files of the live service of a running application.
 *
 *     live.c            start, stop, fork, exit
 *     live_functions.c  functions that the application provides, and the action that stops its run
 *     live_loop.c       the service's thread: its events and timers
 *     live_talk.c       one connection: receives questions and sends replies, never blocks
 *     live_worker.c     the thread that executes one connection's questions, so that they delay nothing else
 *     live_values.c     replies without Lua: the values of all events, the sections
 *     live_own.c        the service without threads, in the application's own loop
 *     live_hold.c       the code in which such a thread may be cancelled
 *
 * One thread owns a struct live and the data that it points to, except for the workers, whose headers say so. Data
 * shared with application threads is under one lock (live__lock), which is held for a few instructions, or a write to a
 * socket, and never while Lua, a socket or a function of the application runs.
 */
#ifndef LIVE_H
#define LIVE_H

#include "embed/state.h"
#include "embed/typed.h"
#include "live/live_descriptor.h"
#include "live/live_frame.h"
#include "live/live_socket.h"
#include "pmlua.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define LIVE_CONNECTIONS 16
#define LIVE_INPUT 4096

#define LIVE_FRAME_INSTRUCTIONS 10000000u
#define LIVE_FRAME_SECONDS 5.0
#define LIVE_GRACE_SECONDS 0.25 /* for Lua to stop by itself; then its thread is cancelled */
#define LIVE_STOP_SECONDS 2.0   /* that pmlua_live_stop() waits at most */
#define LIVE_SESSION_BYTES (32u << 20)
#define LIVE_SESSION_SPARE 8 /* a question that only looks around needs this part of them */
#define LIVE_OWN_CONNECTIONS 4
#define LIVE_OWN_SESSION_BYTES (8u << 20)
#define LIVE_OWN_ANSWER_MAX (256u << 10)
#define LIVE_READER_NICE 19
#define LIVE_RULES_INSTRUCTIONS 50000000u
#define LIVE_RULES_BYTES (256u << 20)

/* Limits and manner of a service; constant. */
struct live_setup {
  bool own_loop;
  int connections, nice;
  uint64_t instructions;
  double seconds;
  size_t memory_bytes;
  struct pmlua *state;
  double page_every_s;
};

/* A call of pmlua.internal.live.session. */
struct live_ask {
  const struct live_frame *question; /* NULL: a tick */
  char *text;
  size_t n;
  bool ok;
  double now, next; /* tick: its time, and the time of the next tick */
};

struct live_session {
  struct state state;
  double due; /* seconds of CLOCK_MONOTONIC; HUGE_VAL: nothing is */
  const struct live_setup *setup;
  lua_State *co; /* own_loop: the suspended call, also on the stack; NULL: none */
  struct live_ask ask;
  uint64_t left; /* instructions of @co */
};

struct live_worker;
struct pml__sde_values;

struct live_connection {
  struct live_descriptor *socket; /* in struct live */
  struct live_frame question;
  char input[LIVE_INPUT]; /* read, but not yet taken: from @from to @to */
  size_t from, to;
  char *answer; /* with its header; NULL: none is on its way */
  size_t length, sent;
  bool last;                  /* close once the answer is sent */
  double since;               /* of the last byte in or out */
  struct live_worker *worker; /* NULL: nothing was asked yet */
  bool asked;                 /* the worker has the question */
  bool gone;                  /* the client has, before the answer */
};

struct live_rules {
  struct state state;
  double due, told;
  double look;              /* next check of the file: seconds of CLOCK_MONOTONIC; HUGE_VAL: no file */
  struct timespec modified; /* modification time of the file when it was loaded */
  ino_t inode;
};

/* Messages from other threads to the rules. Under live__lock. */
struct live_mail {
  struct live_letter *first, **last;
  size_t n;
  char *file; /* file of rules to load; owned */
  char *text; /* the rules' description of themselves; owned */
};

struct live {
  /* Constant while the thread runs. */
  struct live_setup setup;
  struct live_own *own; /* own_loop: live_own.c */
  bool inherited;       /* the process was forked: its sockets are made later, by the thread */
  double since;         /* seconds of CLOCK_MONOTONIC */
  pthread_t thread;
  /* Under live__lock. */
  pthread_cond_t stopped; /* stopping was set: ends the wait of a forked child */
  struct live_descriptor wake,
      woken;    /* a pair of sockets: a byte sent to one wakes the thread that waits for the other */
  bool unasked; /* rules only: no socket until one is requested */
  bool named;   /* by a start in this process; a forked child has its parent's name until then */
  char name[LIVE_NAME_MAX + 1];
  char *rules_file;
  void (*stop_run)(const char *reason, void *arg);
  void *stop_arg;
  char path[LIVE_PATH_MAX]; /* "": no socket (any more) */
  atomic_bool stopping;     /* set under the lock; code that Lua runs reads it without the lock */
  bool detached;            /* not joined: the thread frees it */
  bool finished;            /* the thread will not look at it any more */
  atomic_bool run_stopped;
  struct live_mail mail;
  /* The thread's, but a forked child closes its copies: they lie together, as each page that it writes to costs it. */
  struct live_descriptor listener, socket[LIVE_CONNECTIONS];
  struct live_connection *connection[LIVE_CONNECTIONS]; /* NULL: free */
  struct live_rules rules;
  struct live_worker *ending; /* that have no connection any more */
  struct live_worker *idle;   /* own_loop: with an open session, for the next connection */
  double sample_due;          /* events in the program's memory, for its log: seconds of CLOCK_MONOTONIC */
  double callback_due;        /* the same of callbacks */
  struct live *next;          /* of those that a fork left behind */
};

/* --- live.c --- */

void live__lock(void);
void live__unlock(void);
struct live *live__running(void);                      /* under the lock; NULL: none */
bool live__wake(const struct live *l);                 /* under the lock; false: the program has closed its socket */
bool live__on_thread(void);                            /* is this a thread of the service? */
void live__say(const char *fmt, ...) PML_PRINTF(1, 2); /* "pmlua: ...", a line to stderr; takes no lock of stdio */
double live__now(void);                                /* seconds of CLOCK_MONOTONIC */

/* live__wake_pair - new sockets to wake the thread by, in place of those that are lost; under the lock. 0 or -errno. */
int live__wake_pair(struct live *l);
void live__wait(struct live *l, double until); /* for the stop, until then at most */
void live__free(struct live *l);               /* whose thread has ended, or never began */

/* --- live_functions.c --- */

/* The signal that stops a run for which the application gave no function: the command's is SIGINT. */
extern int live_stop_signal;

#define LIVE_VALUES_MAX 16

/* One call of an application's function, with numbers or typed. */
struct live_callee {
  const char *name;
  pmlua_live_callback *fn; /* NULL: typed */
  pmlua_callback *typed;
  struct typed type;
  void *arg;
  double values[LIVE_VALUES_MAX];
  size_t n;
  int64_t result;
  struct pmlua_value in[TYPED_MAX], out[TYPED_MAX];
  char *kept[TYPED_MAX]; /* strings of @out; owned */
  int err;               /* that it returned */
};

/* live__callee - the application's function of that name: 0, PML_EMODE (not on the service's thread), -ENOENT.
 * live__call - call it, with the arguments set: 0, or its failure. live__callee_done - free it, which malloc() made. */
int live__callee(const char *name, struct live_callee *to);
int live__call(struct live_callee *call);
void live__callee_done(void *callee);
/* live__functions - their names, each followed by a zero, then another; to be freed. NULL: out of memory. */
char *live__functions(void);
/* live__stop_run - 0, the first time; 1: it was stopped before; PML_ECLOSED. */
int live__stop_run(const char *reason);

/* --- live_own.c --- */

/* live__state - run code in the application's state: *text, malloc'd, has a line of JSON for each result. 0, PML_EMODE
 * if the application lends none, or as pmlua_run_string(). */
int live__state(const char *code, char **text);
int live__own_begin(struct live *l);         /* without a thread: a descriptor, and a session for each connection */
void live__own_forget(const struct live *l); /* in a forked child */
void live__own_close(struct live *l);        /* what that has opened */
void live__own_end(struct live *l);          /* all of the service */
void live__own_forget_place(struct live *l, int place); /* the descriptor of that connection will be closed */

/* --- live_loop.c, live_talk.c, live_session.c: the service's thread --- */

struct live_waiting {
  struct pollfd fd[2 + LIVE_CONNECTIONS]; /* the wake pair, the listener, connections */
  double accept_at;                       /* not before */
};

/* live__turn - wait at most @ms milliseconds, and handle all events. False: the service ends.
 * live__patience - after live__set_poll(): milliseconds until something is due. live__end_all - give everything back.
 */
bool live__turn(struct live *l, struct live_waiting *w, int ms); /* -1: until something is due */
void live__set_poll(struct live_waiting *w, const struct live *l, double now);
int live__patience(const struct live_waiting *w, const struct live *l, double now);
void live__end_all(struct live *l);
bool live__own_thread(bool is); /* the calling thread serves, or does not; returns the state before */
bool live__in_own_loop(void);

void *live__main(void *live);
void live__thread_forked(void);            /* the calling thread is the program's now, in a child */
void live__thread_begin(const char *name); /* by each thread of the service: on the process's own cpus, not real-time */

/* live__talk_begin - a connection of client @asks, moved to @socket. NULL: out of memory, and it is not moved. */
struct live_connection *live__talk_begin(struct live_descriptor *socket, struct live_descriptor *asks, double now);
bool live__talk(struct live_connection *c, struct live *l, double now); /* false: it has ended */
void live__talk_end(struct live_connection *c, double now);             /* frees it */

/* live__open_state - a state of the service's, if it is not open: stopped with @stop, without modules in C.
 * @outside: it will run code from outside, in a thread that may be cancelled. */
int live__open_state(struct state *s, const atomic_bool *stop, size_t memory_bytes, bool outside);

/* --- live_session.c: the connection's thread --- */

/* live__session_answer - true: ok. *text is malloc'd and never NULL on true; on false it may be: see the detail. */
bool live__session_answer(struct live_session *s, const struct live_frame *question, char **text, size_t *n);
int live__session_open(struct live_session *s, const struct live_setup *setup, const atomic_bool *stop);
void live__session_tick(struct live_session *s, double now);
/*
 * own_loop: live__session_begin - prepare a question, or without one a tick. live__session_step - continue until
 * @until, on the monotonic clock: 1: suspended; 0: done, and *text, *n and *ok are as from live__session_answer().
 * live__session_reset - the session of another client: 0, or a code if only a new state will do.
 */
int live__session_begin(struct live_session *s, const struct live_frame *question, double now);
int live__session_step(struct live_session *s, double until, char **text, size_t *n, bool *ok);
int live__session_reset(struct live_session *s);

/* --- live_values.c: the connection's thread --- */

/*
 * live__values_answer - answer a question for values or sections, without Lua. *@values, NULL at first, is the
 * connection's: end it with pml__sde_values_close(). Returns, *text and *n as live__session_answer().
 */
bool live__values_answer(struct pml__sde_values **values, const struct live_frame *question, char **text, size_t *n);
static inline bool live__values_wanted(const struct live_frame *question) {
  return question->kind >= LIVE_VALUES && question->kind <= LIVE_SECTIONS;
}

/* --- live_worker.c: called by the service's thread --- */

/*
 * live__worker_begin - a thread with a session. 0, -EAGAIN, -ENOMEM, or why there is no thread.
 * live__worker_ask - give it a question, which is moved. live__worker_answer - its answer, if it is there: *text (NULL:
 * no memory) is the caller's. live__worker_due - when it will have had its time; HUGE_VAL: it does nothing.
 * live__worker_has_rules - watch rules of its session are at work.
 * live__worker_end - release it: it is requested to stop, and from @cancel_at on cancelled. Moves it to l->ending.
 * live__worker_reap - free the ended workers of l->ending; true: the list is empty.
 */
int live__worker_begin(struct live *l, struct live_worker **worker);
void live__worker_ask(struct live_worker *w, struct live_frame *question);
bool live__worker_answer(struct live_worker *w, char **text, size_t *n, bool *ok);
double live__worker_due(struct live_worker *w);
bool live__worker_has_rules(struct live_worker *w);
void live__worker_end(struct live_worker *w, double cancel_at);
bool live__worker_reap(struct live *l);
/*
 * own_loop: live__worker_prepare - make one for l->idle. live__worker_step - continue its question or tick until
 * @until; false: there is nothing to do. live__worker_drop - free all idle ones.
 */
int live__worker_prepare(struct live *l);
bool live__worker_step(struct live_worker *w, double until);
void live__worker_drop(struct live *l);

/* --- live_hold.c --- */

void live__hold_thread(void);           /* the calling thread may be cancelled in live__interruptible() */
int live__hold_functions(lua_State *L); /* a function for lua_pcall(): after it, those in C hold cancellation off */
int live__interruptible(lua_State *L);  /* for Lua: (f, ...) -> what f returns; code from outside runs below it */

/* --- live_rules.c --- */

/* From any thread: the rule is adopted soon, or a line on stderr says why not. 0, PML_ECLOSED, PML_EFULL, -ENOMEM. */
int live__rules_post(const char *blob, size_t n, int64_t *id);
int live__rules_cancel(int64_t id);
char *live__rules_text(void); /* the rules' description of themselves; to be freed */
/* The service's thread. */
void live__rules_run(struct live *l, double now);
void live__rules_close(struct live *l);

#endif
