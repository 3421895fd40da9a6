/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_error.c - names and texts from the one list, and each thread's last failure. */
#include "base/pml_error.h"

#include <errno.h>
#include <stdarg.h>
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
  char text[512];
} last;

static const struct row *find(int err) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (rows[i].code == err) return &rows[i];
  return NULL;
}

static int is_errno(int err) {
  return err < 0 && err >= -LAST_ERRNO;
}

const char *pml_error_name(int err) {
  const struct row *r = find(err);
  const char *name = r ? r->name : is_errno(err) ? strerrorname_np(-err) : NULL;
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

const char *pml_error_detail(int err) {
  return err != 0 && last.code == err && last.text[0] != '\0' ? last.text : pml_error_text(err);
}

/* Half a UTF-8 character at the end would make the whole sentence unprintable for strict readers. */
static void cut_to_whole_character(char *text, size_t n) {
  while (n > 0 && ((unsigned char)text[n - 1] & 0xC0) == 0x80) n--;
  if (n > 0 && ((unsigned char)text[n - 1] & 0xC0) == 0xC0) n--;
  text[n] = '\0';
}

void pml_error_note(int err, const char *fmt, ...) {
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
  last.code = err;
  errno = saved;
}
