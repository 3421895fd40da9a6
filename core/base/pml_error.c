/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_error.c - names and texts of error codes, and each thread's last failure. */
#include "base/pml_error.h"

#include "base/pml_libc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LAST_ERRNO 4095 /* the kernel's MAX_ERRNO */

struct row {
  int code;
  const char *name, *text, *remedy;
};

#define ROW(name, value, text, remedy) {(value), &#name[sizeof "PML_" - 1], (text), (remedy)},
static const struct row rows[] = {PML_ERROR_LIST(ROW)};
#undef ROW

static PML_THREAD_LOCAL struct {
  int code; /* 0: nothing has failed yet */
  char place[sizeof((struct pml_failure *)NULL)->place];
  char text[PML_FAILURE_BYTES]; /* with its remedy */
} last;

static const struct row *find(int err) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (rows[i].code == err) return &rows[i];
  return NULL;
}

static int is_errno(int err) {
  return err < 0 && err >= -LAST_ERRNO;
}

/* Two names have the same number; pmlua uses the one of Lua's library. */
static const char *errno_name(int err) {
  return err == -ENOTSUP ? "ENOTSUP" : strerrorname_np(-err);
}

const char *pml_error_name(int err) {
  const struct row *r = find(err);
  const char *name = r ? r->name : is_errno(err) ? errno_name(err) : NULL;
  return name ? name : "EUNKNOWN";
}

const char *pml_error_text(int err) {
  const struct row *r = find(err);
  const char *text = r ? r->text : err == 0 || is_errno(err) ? strerrordesc_np(-err) : NULL;
  return text ? text : "unknown error";
}

const char *pml_error_remedy(int err) {
  const struct row *r = find(err);
  return r ? r->remedy : NULL;
}

static int is_last(int err) {
  return err != 0 && last.code == err && last.text[0] != '\0';
}

const char *pml_error_detail(int err) {
  return is_last(err) ? last.text : pml_error_text(err);
}

/* The semicolon before a remedy. Names are quoted, and may contain semicolons. */
static char *before_remedy(char *text) {
  bool quoted = false;
  for (; *text != '\0'; text++) {
    if (*text == '"') quoted = !quoted;
    if (!quoted && text[0] == ';' && text[1] == ' ') return text;
  }
  return NULL;
}

void pml_error_failure(int err, struct pml_failure *f) {
  *f = (struct pml_failure){.code = err, .text = pml_error_text(err), .remedy = pml_error_remedy(err)};
  if (!is_last(err)) return;
  memcpy(f->room, last.text, sizeof f->room);
  f->text = f->room;
  memcpy(f->place, last.place, sizeof f->place);
  char *end = before_remedy(f->room);
  if (end == NULL) return;
  *end = '\0';
  f->remedy = end + 2;
}

/* Half a UTF-8 character at the end would make the whole sentence unprintable for strict readers. */
static void cut_to_whole_character(char *text, size_t n) {
  while (n > 0 && ((unsigned char)text[n - 1] & 0xC0) == 0x80) n--;
  if (n > 0 && ((unsigned char)text[n - 1] & 0xC0) == 0xC0) n--;
  text[n] = '\0';
}

void pml_error_note(int err, const char *place, const char *fmt, ...) {
  int saved = errno;
  /* Not straight into last.text: wrapping pml_error_detail() in a longer sentence would read what it overwrites. */
  char text[sizeof last.text];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (n < 0)
    text[0] = '\0';
  else if ((size_t)n >= sizeof text)
    cut_to_whole_character(text, sizeof text - 1);
  memcpy(last.text, text, strlen(text) + 1);
  (void)snprintf(last.place, sizeof last.place, "%s", place); /* whose code may be unloaded before it is read */
  last.code = err;
  errno = saved;
}
