/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/live.h - common functions for specs of the live service: a client with bounded waits. */
#ifndef SPEC_LIVE_H
#define SPEC_LIVE_H

#include "live/live_frame.h"
#include "live/live_socket.h"
#include "pmlua.h"
#include "sanitized.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LIVE_WAIT_S 60 /* limit for any wait; normal waits take milliseconds */

static inline double live_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void live_sleep_ms(long ms) {
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A runtime folder of this spec's own, so that no other sockets are in it. Gone at exit. */
static char live__folder[64];
static pid_t live__owner;
static inline void live__remove(void) {
  char command[96];
  if (getpid() != live__owner) return;
  snprintf(command, sizeof command, "rm -rf %s", live__folder);
  if (system(command) != 0) perror(command);
}
static inline const char *live_runtime(void) {
  snprintf(live__folder, sizeof live__folder, "/tmp/pmlua-spec-XXXXXX");
  if (mkdtemp(live__folder) == NULL) exit(1);
  setenv("XDG_RUNTIME_DIR", live__folder, 1);
  live__owner = getpid();
  atexit(live__remove);
  return live__folder;
}

/* -1 without a listener. */
static inline int live_connect(const char *path) {
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct timeval wait = {.tv_sec = LIVE_WAIT_S};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
  close(fd);
  return -1;
}

static inline int live_connect_self(void) {
  char path[LIVE_PATH_MAX];
  return pmlua_live_path(path, sizeof path) == 0 ? live_connect(path) : -1;
}

static inline bool live_send(int fd, const void *bytes, size_t n) {
  for (size_t sent = 0; sent < n;) {
    ssize_t rc = send(fd, (const char *)bytes + sent, n - sent, MSG_NOSIGNAL);
    if (rc < 0 && errno == EINTR) continue;
    if (rc <= 0) return false;
    sent += (size_t)rc;
  }
  return true;
}

/* One answer, to be reset. False when the connection ended before it, or after LIVE_WAIT_S. */
static inline bool live_receive(int fd, struct live_frame *answer) {
  char byte[4096];
  live_frame_answer(answer);
  for (int rc = 0; rc == 0;) {
    /* a byte at a time until the payload, because later bytes belong to the next answer */
    size_t want = answer->payload == NULL ? 1 : answer->length - answer->received, taken;
    ssize_t n = recv(fd, byte, want < sizeof byte ? want : sizeof byte, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    rc = live_frame_feed(answer, byte, (size_t)n, &taken);
    if (rc < 0) return false;
  }
  return true;
}

static inline bool live_question(int fd, enum live_kind kind, const char *payload, size_t n) {
  char header[LIVE_HEADER_MAX];
  size_t h = live_frame_header(header, kind, n);
  return live_send(fd, header, h) && live_send(fd, payload, n);
}

/*
 * Ask and wait: the answer's text in @text, cut to @size. Returns the answer's kind, -1 if there was none.
 */
static inline int live_ask(int fd, enum live_kind kind, const char *payload, char *text, size_t size) {
  struct live_frame answer;
  text[0] = '\0';
  bool there = fd >= 0 && live_question(fd, kind, payload, strlen(payload)) && live_receive(fd, &answer);
  if (!there) return -1;
  snprintf(text, size, "%s", answer.payload);
  int is = (int)answer.kind;
  live_frame_reset(&answer);
  return is;
}

static inline bool live_evals(int fd, const char *code, const char *want) {
  char text[512];
  return live_ask(fd, LIVE_EVAL, code, text, sizeof text) == LIVE_OK && strcmp(text, want) == 0;
}

/* Whether the other side has ended the connection, or does so within LIVE_WAIT_S. Received bytes are discarded. */
static inline bool live_ended(int fd) {
  char bytes[4096];
  ssize_t n;
  double until = live_now() + LIVE_WAIT_S;
  do n = recv(fd, bytes, sizeof bytes, 0);
  while ((n > 0 || (n < 0 && errno == EINTR)) && live_now() < until);
  return n == 0 || (n < 0 && errno == ECONNRESET);
}

#endif
