/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/live/limit.h - limits of a call into Lua: instructions, memory and time.
 *
 * A state created with limit_alloc() and a struct limit observes these limits. A call that exceeds a limit ends at
 * limit_call(), and nowhere earlier: no pcall, xpcall handler, coroutine or __close can prevent it, because from then
 * on no memory is granted and every coroutine is stopped again at its next instruction. Finalizers (__gc) run with
 * hooks off, in Lua itself: untrusted code must not be able to set them.
 *
 * One thread at a time, like its state, except for the counts of limit_take().
 */
#ifndef LIMIT_H
#define LIMIT_H

#include <lua.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum limit_exceeded { LIMIT_KEPT, LIMIT_INSTRUCTIONS, LIMIT_MEMORY, LIMIT_TIME, LIMIT_STOPPED };

/* In front of each block of a state that may be abandoned. As large as malloc's alignment. */
struct limit_block {
  struct limit_block *before, *after;
};

struct limit {
  size_t used, cap;             /* bytes; cap 0: none */
  struct limit_block *blocks;   /* of a state that may be abandoned: limit_abandonable() */
  struct lutil_handle *handles; /* open, of such a state */
  bool abandonable;
  bool thrown;    /* a C++ exception left the last call: its thread of Lua is half-way in it, and must be dropped */
  size_t shared;  /* atomic: bytes that any thread took on behalf of the state */
  size_t refused; /* a request that was refused, and was not granted since; 0: none is */
  const atomic_bool *stop; /* set by others to end what runs; NULL: never */
  double seconds;          /* that a call may take, as an instruction may join long strings; 0: any time */
  /* While a call runs. */
  lua_State *thread; /* that was called on; NULL: none */
  uint64_t left;     /* instructions; UINT64_MAX: any number */
  double slice_end;  /* of limit_resume(), on the monotonic clock; 0: a call has no slices */
  bool sliced;       /* a thread of Lua yields because of it */
  double until;      /* on the monotonic clock */
  enum limit_exceeded exceeded;
  enum limit_exceeded ended; /* the limit that ended the last call */
};

/* limit_alloc - a lua_Alloc on a struct limit, which must not move during the lifetime of the state. */
void *limit_alloc(void *limit, void *block, size_t osize, size_t nsize);

/*
 * A state whose thread may be cancelled while Lua runs (live_worker.h) cannot be closed afterwards, because Lua may
 * have been interrupted anywhere. limit_abandonable - before lua_newstate(): list all allocations, and delay
 * cancellation of the thread while the list changes. limit_abandon - free all of them after its thread has ended; the
 * handles must be closed before (lutil_abandon()).
 */
void limit_abandonable(struct limit *limit);
void limit_abandon(struct limit *limit);

/*
 * limit_charge - memory that the core is about to allocate on behalf of @L counts against its limit; garbage is
 * collected first if that makes room. Returns 0, or -ENOMEM with a sentence. Without a limit nothing happens.
 * *@account is the limit charged, for limit_discharge() when the memory is free again; NULL: none. May run finalizers.
 */
int limit_charge(lua_State *L, size_t bytes, struct limit **account);
void limit_discharge(struct limit *account, size_t bytes);

size_t limit_used(const struct limit *limit); /* all that counts against it now */

/* limit_account - the limit that @L keeps to; NULL: none. */
struct limit *limit_account(lua_State *L);

/*
 * limit_take - @bytes of zeros, aligned to a cache line, that count against @account, for what grows in the core while
 * the state may be running or not. NULL: they do not fit, or there is no memory. limit_give - no more; NULL is fine.
 * On any thread; the state must be there.
 */
void *limit_take(struct limit *account, size_t bytes);
void limit_give(struct limit *account, void *memory);

/* limit_share - a lua_Alloc for another state, of any thread, that counts against the struct limit of a first one. */
void *limit_share(void *limit, void *block, size_t osize, size_t nsize);

/*
 * limit_guard - replace what would get around the limits in a fresh state with its libraries: coroutine.resume, which
 * would end a slice at a coroutine; coroutine.wrap and coroutine.close, which would run a __close with hooks off in a
 * coroutine that was stopped; debug.sethook, which raises under limits. Otherwise they are unchanged. May raise.
 */
void limit_guard(lua_State *L);

/*
 * limit_call - call the function below @nargs arguments, as lua_pcall, with at most @instructions (0: any number; an
 * opened coroutine counts as 256, a call as one more). Inside another limit_call() its remaining instructions apply.
 *
 * Returns 0, PML_ELIMIT, PML_ESCRIPT or -ENOMEM; pml_error_detail() has the message, one line. The stack is then as
 * before, without the function and its arguments; if a C++ exception left it (@thrown), @L must not be used again.
 * Never raises. Cost: a hook in every 256 instructions and in every call; in every 16 where time is limited, since an
 * instruction may compare or join strings of megabytes.
 */
int limit_call(lua_State *L, int nargs, int nresults, uint64_t instructions);

/*
 * limit_resume - run the function below @nargs arguments in the Lua thread @co, or, with 0 arguments, continue it,
 * until @slice_end on the monotonic clock. *@left instructions remain, and are counted down. Coroutines in it are
 * suspended with it; a C function that calls Lua, such as table.sort, is not. Returns 1 if it was suspended, else as
 * limit_call(), and @co is of no use any more. Not inside another call.
 */
int limit_resume(lua_State *co, int nargs, uint64_t *left, double slice_end);

#endif
