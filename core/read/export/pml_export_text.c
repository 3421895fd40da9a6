/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/export/pml_export_text.c - names and numbers in export formats. */
#include "read/export/pml_export_private.h"

#include "base/text/pml_number.h"

#include <stdint.h>
#include <string.h>

/* The size of the UTF-8 character at @s, of at most @n bytes; 0: invalid UTF-8 (RFC 3629). */
static size_t character(const unsigned char *s, size_t n) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (s[0] < 0x80) return 1;
  size_t size = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
  if (s[0] < 0xc2 || s[0] > 0xf4 || size > n) return 0;
  uint32_t code = s[0] & (0x7fu >> size);
  for (size_t i = 1; i < size; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (s[i] & 0x3fu);
  }
  return code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : size;
}

static bool is_utf8(const char *text, size_t n) {
  for (size_t i = 0, size; i < n; i += size) {
    size = character((const unsigned char *)text + i, n - i);
    if (size == 0) return false;
  }
  return true;
}

/* In all JSON of pmlua, a text that is invalid UTF-8 gets question marks for its bytes beyond ASCII. */
void pml__export_clean(struct pml__text *out, const char *text, size_t n) {
  const size_t first = out->n;
  pml__text_plain(out, text, n);
  if (is_utf8(text, n) || out->failed) return;
  for (size_t i = first; i < out->n; i++)
    if (out->at[i] & 0x80) out->at[i] = '?';
}

/* The number of leading bytes that a JSON string contains unescaped. */
static size_t plain_bytes(const char *text) {
  size_t n = 0;
  for (unsigned char c; (c = (unsigned char)text[n]) >= 0x20 && c < 0x7f && c != '"' && c != '\\';) n++;
  return n;
}

static void put_escaped(struct pml__text *out, const char *text) {
  const bool fine = is_utf8(text, strlen(text));
  for (; *text != '\0'; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7f) {
      pml__text_add(out, "\\u%04x", c);
    } else {
      if (c == '"' || c == '\\') pml__text_plain(out, "\\", 1);
      pml__text_plain(out, c >= 0x80 && !fine ? "?" : text, 1);
    }
  }
}

void pml__export_string(struct pml__text *out, const char *text) {
  const size_t n = plain_bytes(text);
  pml__text_plain(out, "\"", 1);
  if (text[n] == '\0')
    pml__text_plain(out, text, n);
  else
    put_escaped(out, text);
  pml__text_plain(out, "\"", 1);
}

void pml__export_plain(struct pml__text *out, const char *text) {
  pml__text_plain(out, text, strlen(text));
}

void pml__export_whole(struct pml__text *out, int64_t v) {
  char *to = pml__text_room(out, PML__NUMBER_MAX);
  if (to != NULL) out->n += pml__number_whole(to, v);
}

void pml__export_region(struct pml__export *x, size_t region) {
  struct pml__export_name *name = &x->name_of[region];
  if (name->n == 0) {
    name->at = x->names.n;
    x->form->put_region(&x->names, pml_otf2_read_region(x->trace, region)->name);
    name->n = x->names.n - name->at;
  }
  if (x->names.failed)
    x->out.failed = true;
  else
    pml__text_plain(&x->out, x->names.at + name->at, name->n);
}
