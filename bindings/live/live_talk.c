/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_talk.c - one connection of the service, non-blocking. */
#include "live/live.h"

#include "base/text/pml_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct live_connection *live__talk_begin(struct live_descriptor *socket, struct live_descriptor *asks, double now) {
  struct live_connection *c = calloc(1, sizeof *c);
  if (c == NULL) return NULL;
  live_frame_question(&c->question);
  c->since = now;
  c->socket = socket;
  live_descriptor_move(socket, asks);
  return c;
}

/* A child of a fork may have a copy of the descriptor for a moment: the shutdown reaches the peer nevertheless. */
void live__talk_end(struct live_connection *c, double now) {
  live_descriptor_close(c->socket, true);
  live_frame_reset(&c->question);
  free(c->answer);
  if (c->worker != NULL) live__worker_end(c->worker, now + LIVE_GRACE_SECONDS);
  free(c);
}

/* --- replies --- */

static void set_answer(struct live_connection *c, enum live_kind kind, const char *text, size_t n) {
  char header[LIVE_HEADER_MAX];
  size_t h = live_frame_header(header, kind, n);
  c->answer = malloc(h + n);
  if (c->answer == NULL) return;
  memcpy(c->answer, header, h);
  if (n > 0) memcpy(c->answer + h, text, n);
  c->length = h + n;
  c->sent = 0;
}

static void set_error(struct live_connection *c, const char *text) {
  set_answer(c, LIVE_ERROR, text, strlen(text));
}

/* Runs at once, on the service's thread, because a thread of questions may get little processor time. */
static void stop_run(struct live_connection *c) {
  int rc = live__stop_run(c->question.payload);
  if (rc < 0)
    set_error(c, pml_error_detail(rc));
  else
    set_answer(c, LIVE_OK, "", 0);
}

static void ask(struct live_connection *c, struct live *l) {
  if (c->question.kind == LIVE_STOP) {
    stop_run(c);
    return;
  }
  int err = c->worker == NULL ? live__worker_begin(l, &c->worker) : 0;
  c->asked = err == 0;
  if (c->asked)
    live__worker_ask(c->worker, &c->question);
  else
    set_error(c, pml_error_detail(err));
}

#define OVERDUE                                                                                                        \
  "stopped: the code ran longer than one question may (%g s), inside one function of Lua or for want of a cpu; a new " \
  "session begins, "                                                                                                   \
  "without its variables and rules"

/* The answer, if it is there; an error if it should be. Returns false if the connection is of no use any more. */
static bool take_answer(struct live_connection *c, const struct live *l, double now) {
  char *text, late[256];
  size_t n;
  bool ok;
  if (live__worker_answer(c->worker, &text, &n, &ok)) {
    c->asked = false;
    if (n > (l->setup.own_loop ? LIVE_OWN_ANSWER_MAX : LIVE_ANSWER_MAX))
      set_error(c, l->setup.own_loop ? "the answer is longer than 256 KB; request less"
                                     : "the answer is longer than 16 MB; request less");
    else
      set_answer(c, ok ? LIVE_OK : LIVE_ERROR, text, text != NULL ? n : 0);
    pml__free(text);
    return c->answer != NULL;
  }
  if (now < live__worker_due(c->worker)) return true;
  live__worker_end(c->worker, now);
  c->worker = NULL;
  c->asked = false;
  snprintf(late, sizeof late, OVERDUE, l->setup.seconds);
  set_error(c, late);
  return c->answer != NULL;
}

/* Returns false when the connection has ended. */
static bool send_answer(struct live_connection *c, int fd, double now) {
  while (c->sent < c->length) {
    ssize_t n = send(fd, c->answer + c->sent, c->length - c->sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    c->sent += (size_t)n;
    c->since = now;
  }
  free(c->answer);
  c->answer = NULL;
  return !c->last;
}

/* --- questions --- */

/* Returns false when nothing (more) is there, or with *ended when the peer has left. */
static bool receive(struct live_connection *c, int fd, double now, bool *ended) {
  if (c->from < c->to) return true;
  ssize_t n = recv(fd, c->input, sizeof c->input, 0);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
  *ended = n <= 0;
  if (n <= 0) return false;
  c->from = 0;
  c->to = (size_t)n;
  c->since = now;
  return true;
}

/* Up to one whole question; returns what live_frame_feed() does. */
static int listen_to(struct live_connection *c, int fd, double now, bool *ended) {
  while (receive(c, fd, now, ended)) {
    size_t taken;
    int rc = live_frame_feed(&c->question, c->input + c->from, c->to - c->from, &taken);
    c->from += taken;
    if (rc != 0) return rc;
  }
  return 0;
}

/* One question, its answer, or one piece of it: then it is the others' turn. */
bool live__talk(struct live_connection *c, struct live *l, double now) {
  int fd = live_descriptor_get(c->socket);
  bool ended = fd < 0; /* the program has closed it */
  if (!ended && c->asked) {
    ended = !take_answer(c, l, now);
  } else if (!ended && c->answer == NULL) {
    int rc = listen_to(c, fd, now, &ended);
    if (rc < 0) {
      set_error(c, pml_error_detail(rc));
      c->last = true;
    } else if (rc > 0) {
      ask(c, l);
      live_frame_reset(&c->question);
    }
    if (rc != 0 && !c->asked && c->answer == NULL) ended = true; /* no memory for an answer */
  }
  if (!ended && c->answer != NULL) ended = !send_answer(c, fd, now);
  return !ended;
}
