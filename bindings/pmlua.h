/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/pmlua.h - pmlua embedded in an application: Lua with limits, and a live service.
 *
 * Link with libpmlua-embed (pkg-config pmlua-embed). Functions return 0 or a negative code; pml_error_detail() of
 * the code is a sentence with file, line and remedy. No Lua error leaves them.
 */
#ifndef PMLUA_H
#define PMLUA_H

#include "base/pml_error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

PML_BEGIN_DECLS

typedef struct lua_State lua_State; /* <lua.h>; in C++ <lua.hpp> */

/*
 * luaopen_pmlua_core - push the table of all C modules (clock, event, counter, ...), as require "pmlua.core" gives it.
 *
 * An application that links the module makes it known with
 *
 *     luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
 *     lua_pushcfunction(L, luaopen_pmlua_core);
 *     lua_setfield(L, -2, "pmlua.core");
 *
 * and puts pmlua's Lua folder on package.path; scripts then say require "pmlua". Raises if PMLUA_CLOCK names no clock,
 * and if the application's Lua is not of the release that pmlua was built with.
 */
PML_API int luaopen_pmlua_core(lua_State *L);

/* pmlua_version - "1.0.0": the running library's version; PML_VERSION is the headers' version. Static. */
PML_API const char *pmlua_version(void);

/* --- a state of the application's own --- */

struct pmlua; /* one thread at a time */

struct pmlua_limits {
  uint64_t instructions; /* limit for Lua's virtual machine; 0: any number */
  size_t memory_bytes;   /* limit of the state while it runs, libraries included (200 KB); 0: as opened */
};

struct pmlua_options {
  const char *lua_dir; /* the folder that holds pmlua/init.lua; NULL: found by PMLUA_LUA or beside the library */
  size_t memory_bytes; /* limit of the state while scripts run; 0: any amount */
};

/*
 * pmlua_open - a Lua state with the standard libraries, in which require "pmlua" works. @options may be NULL.
 * Owned by the caller, NULL on failure: -ENOENT (Lua folder), -ENOMEM, PML_ELIMIT, PML_ESCRIPT. Costs less than a tenth
 * of a millisecond; the first require "pmlua" in it, a few times as much. pmlua_close - free the state, or do nothing
 * for NULL. No function of the state may be running. The state belongs to a Lua inside the library, which does not
 * interfere with any other Lua of the process (5.1, 5.3, LuaJIT). pmlua_state - the Lua state, for registering
 * functions of the application; valid until close; only for an application that links the same release of Lua 5.4.
 * Direct calls on it are not protected: an error in them, also when options->memory_bytes is exceeded, is a panic, as
 * in any Lua state.
 */
PML_API int pmlua_open(struct pmlua **p, const struct pmlua_options *options);

/* Begins with its own size, so that later versions can add fields: those that a program does not know are zero. */
struct pmlua_config {
  size_t size;           /* sizeof(struct pmlua_config) */
  const char *lua_dir;   /* as in struct pmlua_options */
  size_t memory_bytes;   /* the same */
  uint64_t instructions; /* limit of each pmlua_call() that Lua does not make; 0: any number */
  int sandbox;           /* 1: scripts have no files, processes, modules, finalizers and debugging, nor os.exit */
};

/*
 * pmlua_open_with - as pmlua_open(). With config->sandbox, scripts have the globals of questions to a live service
 * (docs/how/ask.md), and what pmlua_function() and pmlua_state() add; a script may still use all memory and time that
 * the limits allow. Returns -EINVAL for a size of 0, -E2BIG if a field that this version does not know is set.
 */
PML_API int pmlua_open_with(struct pmlua **p, const struct pmlua_config *config);
PML_API void pmlua_close(struct pmlua *p);
PML_API lua_State *pmlua_state(struct pmlua *p);

/*
 * pmlua_run_string, pmlua_run_file - run Lua source, text only, under @limits (NULL: none).
 * @name: what errors call the string.
 * @results: the values it returned, as print shows them, separated by tabs; to be freed; NULL on failure. @results may
 * be NULL.
 * Return 0, PML_ESCRIPT (the detail is one line, "NAME:LINE: ..."), PML_ELIMIT, -ENOMEM. The state lives on after any
 * of them, globals included. A limit cannot be caught by the script; it does not interrupt C functions, such as a
 * pattern match, nor finalizers (__gc): limits guard against mistakes, they do not make foreign code safe. A C++
 * exception that leaves a function of the application ends the run, past any pcall, and is PML_ESCRIPT.
 */
PML_API int pmlua_run_string(struct pmlua *p, const char *name, const char *code, const struct pmlua_limits *limits,
                             char **results);
PML_API int pmlua_run_file(struct pmlua *p, const char *path, const struct pmlua_limits *limits, char **results);

/*
 * Values of a typed call. A format has a letter for each argument, '>', and a letter for each result, at most 16 each:
 *
 *     letter   C in arguments         C in results     Lua
 *     i        int64_t                int64_t *        integer
 *     d        double                 double *         number
 *     b        int                    int *            boolean
 *     s        const char *           const char **    string without a zero byte; NULL is nil
 *     z        const char *, size_t   the same, to *   string of any bytes
 *     j        const char *           const char **    any value that JSON can express, as its JSON text
 *
 * Where values are passed as structs, @i, @d, @b or @s is set, and @n is the length of strings.
 */
struct pmlua_value {
  union {
    int64_t i;
    double d;
    int b;
    const char *s;
  };
  size_t n;
};

/*
 * pmlua_call - call the global Lua function @name, or "table.function", with arguments of @format; results go to the
 * pointers that follow. pmlua_call_values - the same with arrays, for other languages. Strings of results are valid
 * until the next call's results, or the close. Lua converts arguments and results as in its C interface (a
 * number may be a string's); results must be there. Return as pmlua_run_string(), -EINVAL for the format. To be called
 * by the thread that uses the state; a function called from Lua may call back.
 */
PML_API int pmlua_call(struct pmlua *p, const char *name, const char *format, ...);
PML_API int pmlua_call_values(struct pmlua *p, const char *name, const char *format,
                              const struct pmlua_value *arguments, struct pmlua_value *results);

/*
 * pmlua_function - Lua calls @fn as the global function @name, or "table.function" (the table is made if need be), with
 * arguments that are checked against @format. @fn sets the results of the format, whose strings are copied when it
 * returns, and returns 0; or a negative code, whose pml_error_detail() is then an error in Lua, as is a C++ exception
 * that leaves @fn. The registration is protected: it returns 0, -EINVAL (name, format), -ENOMEM, PML_ELIMIT.
 */
typedef int pmlua_callback(void *arg, const struct pmlua_value *arguments, struct pmlua_value *results);
PML_API int pmlua_function(struct pmlua *p, const char *name, const char *format, pmlua_callback *fn, void *arg);

/* --- questions to the running application: pmlua query, pmlua attach, watch rules --- */

struct pmlua_live_options {
  const char *name;                                 /* [A-Za-z0-9_.-], 32 bytes of it; NULL: the program's short name */
  const char *rules;                                /* a file of watch rules; NULL: none */
  void (*stop)(const char *reason, void *stop_arg); /* a rule stops the run: at most once, on a thread of the service */
  void *stop_arg;                                   /* NULL stop: SIGTERM */
  int unasked;                                      /* no socket, rules alone; a later start without this makes it */
};

/*
 * pmlua_live_start - start a live service on a socket PID.NAME, mode 0600, in the user's runtime folder, for this user
 * and root only. @options are not kept; NULL: name and rules come from the environment's PMLUA_LIVE_NAME and
 * PMLUA_LIVE_RULES, if set. If the service is already running: 0, and nothing changes, except that a forked child may
 * take another name. A file of rules that cannot be compiled is PML_ESCRIPT; an edited file is loaded again.
 *
 * It starts one thread (pmlua-live, 1 MB of stack, all signals blocked), for rules and sockets, and one for each
 * connection that asks questions (pmlua-ask); each has separate Lua states, with limits. They run on the cpus that the
 * process had when the library was loaded, and never with a real-time policy. A thread that reads has nice 19, and a
 * thread that runs untrusted code SCHED_IDLE; after 5 s it is stopped, even inside a function. Application threads and
 * these threads never wait for each other, apart from pmlua_live_stop(). Cost: a tenth of a
 * millisecond (sockets, a thread); without questions and rules, the thread wakes every ten seconds. After
 * fork() the child is served under its own pid 50 ms later; exec and exit end the service. A forked child that does
 * neither keeps some memory of its parent's service. A child made without the C library's fork handlers (_Fork, clone)
 * is not served. If the program closes the service's descriptors, the service opens new ones. Sixteen
 * connections are served at a time; a further one replaces an idle one. Returns 0, -EPERM (others can access the
 * folder), -EADDRINUSE (another copy of pmlua serves this process), or the reason why the socket or thread could not be
 * made. Output and errors of rules go to stderr, in lines "pmlua: ...".
 *
 * pmlua_live_stop - end the service, its socket and its connections; 0 also if no service ran. Waits until a function
 * of the application that the service is calling has returned, 2 s at most: then -ETIMEDOUT, and the data of such a
 * function must stay valid. Called from such a function it does not wait.
 *
 * pmlua_live_path - the socket's path, of at most 108 bytes. Returns 0, PML_ECLOSED (not served), -ENAMETOOLONG.
 *
 * All thread-safe, none async-signal-safe.
 */
PML_API int pmlua_live_start(const struct pmlua_live_options *options);

/* Begins with its own size, as struct pmlua_config does. */
struct pmlua_live_config {
  size_t size;                                      /* sizeof(struct pmlua_live_config) */
  const char *name, *rules;                         /* as in struct pmlua_live_options, like the next three */
  void (*stop)(const char *reason, void *stop_arg); /* NULL: SIGTERM */
  void *stop_arg;
  int unasked;
  int own_loop;          /* 1: no thread; the application calls pmlua_live_dispatch() */
  unsigned connections;  /* served at a time, at most 16; 0: 16, with own_loop 4 */
  unsigned nice;         /* of threads that read, 1 to 19; 0: 19 */
  uint64_t instructions; /* limit of a question in Lua's virtual machine; 0: ten million */
  double seconds;        /* limit of its time, without own_loop; 0: 5 */
  size_t memory_bytes;   /* limit of a connection's session, from 2 MB; 0: 32 MB, with own_loop 8 MB */
  struct pmlua *state;   /* own_loop: questions may run code in it, by pml.live.state(); NULL: none */
  double page_every_s;   /* pmlua_live_page() reads the process at most this often, from 0.001; 0: 1 */
};

/*
 * pmlua_live_start_with - as pmlua_live_start(), with limits of the service. -EINVAL for a value out of range, or a
 * state without own_loop; -E2BIG as pmlua_open_with(). A service that is running keeps its limits.
 *
 * With own_loop the service has no thread, and belongs to the thread that starts it, which alone may dispatch and stop
 * it. pmlua_live_fd - a descriptor that is readable (poll, epoll, libuv's uv_poll) when there is something to do;
 * negative: PML_ECLOSED, PML_EMODE without own_loop. pmlua_live_dispatch - do it, for about @budget_us microseconds:
 * accept, read, answer, run rules. The next call continues a question that takes longer; until then the descriptor
 * stays readable. One C function of Lua, such as a sort, is not interrupted, so the arguments of these are kept small;
 * watch rules and functions of the application run in one piece. Returns 1 if something is left to do, 0, or a code as
 * above. The start opens a session for each connection, some milliseconds in all. A forked child is not served.
 */
PML_API int pmlua_live_start_with(const struct pmlua_live_config *config);
PML_API int pmlua_live_fd(void);
PML_API int pmlua_live_dispatch(unsigned budget_us);
PML_API int pmlua_live_stop(void);
PML_API int pmlua_live_path(char *path, size_t size);

/*
 * pmlua_live_function - rules and questions may call @fn as @name, with numbers, on a thread of the service, one such
 * call at a time: it should be short, and thread-safe. The same name replaces an earlier function; NULL @fn removes it.
 * A removed function may still be running until pmlua_live_stop() returns 0. May be called before pmlua_live_start().
 * Returns 0, -EINVAL (name), -ENOMEM.
 */
typedef int64_t pmlua_live_callback(void *arg, const double *values, size_t n);
PML_API int pmlua_live_function(const char *name, pmlua_live_callback *fn, void *arg);

/*
 * pmlua_live_define - the same for a function with arguments and results of @format, strings and tables among them, as
 * pmlua_function() has them; a failure of @fn is a failure of pml.live.call. -EINVAL also for the format.
 */
PML_API int pmlua_live_define(const char *name, const char *format, pmlua_callback *fn, void *arg);

/*
 * pmlua_live_page - a page for the browser: values, charts, sections, rules and a prompt of this process, from a child
 * that runs the command pmlua serve --page on a free port of 127.0.0.1. *@child is its pid; it ends when this process
 * ends, or when the application kills it, and is the application's to wait for. @url gets the address, with a token;
 * 128 bytes are enough. A service in the application's own loop must be dispatched afterwards. Returns 0, PML_ECLOSED
 * (not served), -ENOENT (no command), -EIO or -ETIMEDOUT (no address; a child that runs is still to be waited for).
 */
PML_API int pmlua_live_page(char *url, size_t size, pid_t *child);

/* --- questions to another application --- */

struct pmlua_client; /* one thread at a time */

/*
 * pmlua_connect - connect to the live service of the application with the name or pid @which, of this user, or to the
 * socket whose path it is (with a slash). *@client is NULL on failure: -ENOENT, -EINVAL (several have the name),
 * -ECONNREFUSED and others of connect(2). pmlua_disconnect - end its session; NULL is fine.
 *
 * pmlua_ask - a question of a kind of docs/protocol.md: "eval" (@text is Lua), "complete", "info" (the answer is JSON),
 * or "stop" (@text is a reason), and wait at most @seconds. *@answer is to be freed, NULL on failure: -EREMOTEIO (the
 * application's error is the detail), -ETIMEDOUT (the next question waits for this answer, and drops it), -ECONNRESET,
 * PML_EFORMAT, after which only pmlua_disconnect() makes sense; -EINVAL, -EMSGSIZE.
 */
PML_API int pmlua_connect(struct pmlua_client **client, const char *which);
PML_API void pmlua_disconnect(struct pmlua_client *client);
PML_API int pmlua_ask(struct pmlua_client *client, const char *kind, const char *text, double seconds, char **answer);

/*
 * pmlua_read - call @visit with each event that fits one of @patterns (a line each, with * and ?; "": all) and has a
 * value, in the order of registration, until it returns another value than 0, which is returned. A recorder's value is
 * its count; "LIB::RECORDER:MED" selects a quantile. No Lua runs in the application. Returns 0 or a code as
 * pmlua_ask().
 */
struct pmlua_reading {
  const char *name, *description; /* "LIB::EVENT"; valid until the visit ends */
  int real;                       /* the value is @d, else @i */
  union {
    int64_t i;
    double d;
  };
};
typedef int pmlua_read_visit(const struct pmlua_reading *reading, void *arg);
PML_API int pmlua_read(struct pmlua_client *client, const char *patterns, double seconds, pmlua_read_visit *visit,
                       void *arg);

PML_END_DECLS

#endif
