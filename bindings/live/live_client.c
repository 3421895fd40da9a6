/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/live/live_client.c - the client side of a running application's socket, and the same for C. */
#include "live/live_client.h"

#include "base/pml_error.h"
#include "command/interrupt.h"
#include "live/live_socket.h"
#include "pmlua.h"
#include "read/export/pml_export_metrics.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 100  /* a signal that arrives just before poll() is seen this much later */
#define LATE_READS 64 /* reads after the deadline, limited because a server may never stop sending */

int live_client_open(struct live_client *c, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path)
    return pml_fail(-ENAMETOOLONG, "%s: longer than a socket's name may be", path);
  memcpy(address.sun_path, path, strlen(path) + 1);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return pml_fail(-errno, "socket: %s", strerror(errno));
  *c = (struct live_client){.fd = fd};
  live_frame_answer(&c->answer);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return 0;
  int err = -errno;
  close(fd);
  return pml_fail(err, "%s: %s", path, err == -EAGAIN ? "too many wait to be connected" : strerror(-err));
}

/* --- one question and its answer --- */

double live_client_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int wait_for(int fd, short events, double deadline) {
  for (;;) {
    struct pollfd p = {.fd = fd, .events = events};
    double left_ms = 1e3 * (deadline - live_client_now());
    if (lutil_interrupted) return pml_fail(-EINTR, "interrupted");
    int n = poll(&p, 1, left_ms <= 0 ? 0 : left_ms < SLICE_MS ? (int)left_ms + 1 : SLICE_MS);
    if (n > 0) return 0;
    if (left_ms <= 0) return pml_fail(-ETIMEDOUT, "no answer in the time that was given");
    if (n < 0 && errno != EINTR) return pml_fail(-errno, "poll: %s", strerror(errno));
  }
}

/* 0 also when the peer no longer receives: its earlier answer may explain why. */
static int send_all(int fd, const char *bytes, size_t n, double deadline) {
  while (n > 0) {
    ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes += sent;
      n -= (size_t)sent;
    } else if (errno == EAGAIN) {
      int err = wait_for(fd, POLLOUT, deadline);
      if (err < 0) return err;
    } else if (errno == EPIPE || errno == ECONNRESET)
      return 0;
    else if (errno != EINTR)
      return pml_fail(-errno, "send: %s", strerror(errno));
  }
  return 0;
}

static int gone(void) {
  return pml_fail(-ECONNRESET, "the application ended or closed the connection");
}

static int receive(struct live_client *c, double deadline) {
  char bytes[16384];
  size_t taken;
  for (int late = 0;;) {
    int err = wait_for(c->fd, POLLIN, deadline);
    if (err == 0 && live_client_now() > deadline && ++late > LATE_READS)
      err = pml_fail(-ETIMEDOUT, "no whole answer in the time that was given");
    if (err < 0) return err;
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n == 0 || (n < 0 && (errno == ECONNRESET || errno == EPIPE))) return gone();
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return pml_fail(-errno, "recv: %s", strerror(errno));
    err = live_frame_feed(&c->answer, bytes, (size_t)n, &taken);
    if (err < 0) return err;
    if (err == 0) continue;
    return taken == (size_t)n
               ? 0
               : pml_fail(PML_EFORMAT, "the program's answer is not in pmlua's protocol; is it of another version?");
  }
}

int live_client_receive(struct live_client *c, double deadline) {
  int err = c->owed ? receive(c, deadline) : 0;
  if (err == 0) c->owed = false;
  return err;
}

/* The answer to an abandoned question comes first, and is dropped. */
int live_client_send(struct live_client *c, enum live_kind kind, const char *payload, size_t n, double deadline) {
  char header[LIVE_HEADER_MAX];
  int err = live_client_receive(c, deadline);
  if (err < 0) return err;
  live_frame_reset(&c->answer);
  err = send_all(c->fd, header, live_frame_header(header, kind, n), deadline);
  if (err == 0) err = send_all(c->fd, payload, n, deadline);
  if (err == 0) c->owed = true;
  return err;
}

void live_client_close(struct live_client *c) {
  close(c->fd);
  live_frame_reset(&c->answer);
}

/* --- for C --- */

struct pmlua_client {
  struct live_client c;
};

/* The socket PID.NAME of that pid or name in our folder. */
static int find_path(char path[LIVE_PATH_MAX], const char *which) {
  char folder[LIVE_PATH_MAX];
  int n = 0, err = live_socket_folder(folder);
  DIR *dir = err == 0 ? opendir(folder) : NULL;
  size_t length = strlen(which);
  for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
    const char *dot = strchr(e->d_name, '.');
    bool is_pid = dot != NULL && (size_t)(dot - e->d_name) == length && strncmp(e->d_name, which, length) == 0;
    if (dot == NULL || dot == e->d_name || !(is_pid || strcmp(dot + 1, which) == 0)) continue;
    n++;
    if ((size_t)snprintf(path, LIVE_PATH_MAX, "%.80s/%.60s", folder, e->d_name) >= LIVE_PATH_MAX) err = -ENAMETOOLONG;
  }
  if (dir != NULL) closedir(dir);
  if (err < 0) return err;
  if (n == 1) return 0;
  return n == 0 ? pml_fail(-ENOENT, "no application \"%.60s\" can be asked; pmlua query lists those that can", which)
                : pml_fail(-EINVAL, "%d applications are called \"%.60s\"; give a pid", n, which);
}

int pmlua_connect(struct pmlua_client **client, const char *which) {
  char path[LIVE_PATH_MAX];
  *client = NULL;
  int err = strchr(which, '/') == NULL ? find_path(path, which) : 0;
  if (err < 0) return err;
  struct pmlua_client *fresh = malloc(sizeof *fresh);
  if (fresh == NULL) return pml_fail(-ENOMEM, "out of memory for a connection");
  err = live_client_open(&fresh->c, strchr(which, '/') == NULL ? path : which);
  if (err == 0)
    *client = fresh;
  else
    free(fresh);
  return err;
}

void pmlua_disconnect(struct pmlua_client *client) {
  if (client == NULL) return;
  live_client_close(&client->c);
  free(client);
}

/* The whole answer stays in the client's frame. */
static int ask(struct live_client *c, enum live_kind kind, const char *text, double seconds) {
  size_t n = strlen(text);
  if (n > LIVE_QUESTION_MAX) return pml_fail(-EMSGSIZE, "%zu bytes; a question has at most %d", n, LIVE_QUESTION_MAX);
  double deadline = live_client_now() + seconds;
  int err = live_client_send(c, kind, text, n, deadline);
  if (err == 0) err = live_client_receive(c, deadline);
  if (err == 0 && c->answer.kind != LIVE_OK)
    err = pml_fail(-EREMOTEIO, "%.500s", c->answer.length > 0 ? c->answer.payload : "refused without a reason");
  return err;
}

int pmlua_ask(struct pmlua_client *client, const char *kind, const char *text, double seconds, char **answer) {
  static const enum live_kind texts[] = {LIVE_INFO, LIVE_COMPLETE, LIVE_EVAL, LIVE_STOP};
  struct live_client *c = &client->c;
  size_t which = 0;
  *answer = NULL;
  while (which < 4 && strcmp(live_kind_name(texts[which]), kind) != 0) which++;
  if (which == 4) return pml_fail(-EINVAL, "question \"%.20s\"; its kind is info, complete, eval or stop", kind);
  int err = ask(c, texts[which], text, seconds);
  if (err == 0) *answer = c->answer.payload;
  if (err == 0) c->answer.payload = NULL;
  if (err == 0 || err == -EREMOTEIO) live_frame_reset(&c->answer);
  return err;
}

static int visit_all(struct live_client *c, pmlua_read_visit *visit, void *arg) {
  struct pml__metrics_answer a;
  struct pml__metrics_event e = {0};
  struct pml_value v;
  int more, stop = 0, err = pml__metrics_parse(&a, c->answer.payload, c->answer.length);
  if (err < 0) return err;
  while (stop == 0 && (more = pml__metrics_next(&a, &e)) != 0) {
    if (more < 0) return more;
    if (!pml__metrics_value(&a, e.word, &v)) continue;
    const struct pmlua_reading r = {e.name, e.description, v.type == PML_TYPE_DOUBLE, {v.i}};
    stop = visit(&r, arg);
  }
  return stop;
}

int pmlua_read(struct pmlua_client *client, const char *patterns, double seconds, pmlua_read_visit *visit, void *arg) {
  char *question;
  if (asprintf(&question, "0\n%s", patterns) < 0) return pml_fail(-ENOMEM, "out of memory for a question");
  int err = ask(&client->c, LIVE_VALUES, question, seconds);
  free(question);
  if (err == 0) err = visit_all(&client->c, visit, arg);
  if (err >= 0 || err == -EREMOTEIO) live_frame_reset(&client->c.answer);
  return err;
}
