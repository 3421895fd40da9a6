/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/error.c - every code has a name, a text and mostly a remedy, and a failure keeps its sentence on its thread.
 */
#include "check.h"

#include <limits.h>
#include <wchar.h>

static bool same(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void names_and_texts(void) {
#define ROW(name, value, text, remedy)                                                                                 \
  CHECK(strcmp(pml_error_name(value), &#name[4]) == 0 && strcmp(pml_error_text(value), text) == 0 &&                   \
            text[strlen(text) - 1] != '.' && same(pml_error_remedy(value), remedy) && value < -4095,                   \
        #name " has its name without PML_, its text, its remedy or none, and a number beyond the kernel's");
  PML_ERROR_LIST(ROW)
#undef ROW
  CHECK(strcmp(pml_error_name(-EACCES), "EACCES") == 0 && strcmp(pml_error_text(-EACCES), strerror(EACCES)) == 0 &&
            pml_error_remedy(-EACCES) == NULL,
        "an errno has its name and the C library's text, and no remedy of its own");
}

static void unknown_codes(void) {
  const int unknown[] = {-4095, -4095 - 100, ENOENT, 1, INT_MAX, INT_MIN, INT_MIN + 1};
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
    CHECK(strcmp(pml_error_name(unknown[i]), "EUNKNOWN") == 0 &&
              strcmp(pml_error_text(unknown[i]), "unknown error") == 0 && pml_error_remedy(unknown[i]) == NULL,
          "%d is unknown, with a text for that", unknown[i]);
  unsigned silent = 0;
  for (int e = 1; e <= 4095; e++)
    if (!pml_error_name(-e) || !*pml_error_name(-e) || !*pml_error_text(-e) || !*pml_error_detail(-e)) silent++;
  CHECK(silent == 0, "no errno is without a name and a text");
}

static void details(void) {
  CHECK(strcmp(pml_error_detail(-ENOENT), pml_error_text(-ENOENT)) == 0, "without a failure the detail is the text");
  errno = EINTR;
  CHECK(pml_fail(PML_ENOEVENT, "%s is no event; did you mean %s?", "cycels", "cycles") == PML_ENOEVENT,
        "pml_fail returns its code");
  CHECK(errno == EINTR, "pml_fail leaves errno alone");
  CHECK(strcmp(pml_error_detail(PML_ENOEVENT), "cycels is no event; did you mean cycles?") == 0,
        "the detail is the sentence of the failure");
  CHECK(strcmp(pml_error_detail(PML_ESYNTAX), pml_error_text(PML_ESYNTAX)) == 0, "another code has only its text");
  pml_error_note(PML_ENOEVENT, __func__, "event 3: %s", pml_error_detail(PML_ENOEVENT));
  CHECK(strcmp(pml_error_detail(PML_ENOEVENT), "event 3: cycels is no event; did you mean cycles?") == 0,
        "a detail can be wrapped in a longer one");
  pml_error_note(-EIO, __func__, "disk");
  CHECK(strcmp(pml_error_detail(PML_ENOEVENT), pml_error_text(PML_ENOEVENT)) == 0, "only the last failure is kept");
}

static bool is(const struct pml_failure *f, int code, const char *place, const char *text, const char *remedy) {
  return f->code == code && same(f->place, place) && same(f->text, text) && same(f->remedy, remedy);
}

static void parts(void) {
  struct pml_failure f;
  (void)pml_fail(-EACCES, "%s is closed; %s", "/a", "open it; or not");
  pml_error_failure(-EACCES, &f);
  CHECK(is(&f, -EACCES, "parts", "/a is closed", "open it; or not"), "a failure has a place, a text and a remedy");
  CHECK(strcmp(pml_error_detail(-EACCES), "/a is closed; open it; or not") == 0,
        "which are one sentence in the detail");
  (void)pml_fail(PML_ENOEVENT, "no event \"x; y\"");
  CHECK(strcmp(f.text, "/a is closed") == 0, "it outlives the next failure");
  pml_error_failure(PML_ENOEVENT, &f);
  CHECK(is(&f, PML_ENOEVENT, "parts", "no event \"x; y\"", pml_error_remedy(PML_ENOEVENT)),
        "a failure without a remedy has its code's");
  pml_error_failure(-EACCES, &f);
  CHECK(is(&f, -EACCES, "", strerror(EACCES), NULL), "one that was not the last has its code's text, and no place");
  pml_error_note(PML_ENOEVENT, "a_function_whose_name_is_longer_than_there_is_room_for", "x");
  pml_error_failure(PML_ENOEVENT, &f);
  CHECK(strlen(f.place) == sizeof f.place - 1, "a long place is cut");
}

/* The C locale has no byte for U+20AC, so printf itself fails. */
static void unprintable(void) {
  errno = EINTR;
  CHECK(pml_fail(-EIO, "%ls", L"\u20ac") == -EIO && errno == EINTR,
        "a sentence that cannot be made leaves errno alone");
  CHECK(strcmp(pml_error_detail(-EIO), pml_error_text(-EIO)) == 0, "and the text stands in for it");
}

static void long_details(void) {
  char text[1024];
  memset(text, 'x', sizeof text);
  text[511] = '\0';
  pml_error_note(-EIO, __func__, "%s", text);
  CHECK(strcmp(pml_error_detail(-EIO), text) == 0, "511 bytes are kept whole");
  text[511] = 'x';
  text[1023] = '\0';
  pml_error_note(-EIO, __func__, "%s", text);
  CHECK(strlen(pml_error_detail(-EIO)) == 511, "a longer text is cut at 511 bytes");
  memcpy(&text[509], "\xe2\x82\xac", 3);
  pml_error_note(-EIO, __func__, "%s", text);
  CHECK(strlen(pml_error_detail(-EIO)) == 509, "a character is not cut in half");
}

static void *other_thread(void *arg) {
  const char **seen = arg;
  seen[0] = strcmp(pml_error_detail(-EIO), pml_error_text(-EIO)) == 0 ? "text" : "detail of another thread";
  pml_error_note(-EIO, __func__, "mine");
  seen[1] = strcmp(pml_error_detail(-EIO), "mine") == 0 ? "mine" : "not mine";
  return NULL;
}

static void details_of_threads(void) {
  const char *seen[2] = {"", ""};
  pthread_t t;
  pml_error_note(-EIO, __func__, "main's");
  if (!CHECK(pthread_create(&t, NULL, other_thread, seen) == 0, "a thread starts")) return;
  pthread_join(t, NULL);
  CHECK(strcmp(seen[0], "text") == 0 && strcmp(seen[1], "mine") == 0 && strcmp(pml_error_detail(-EIO), "main's") == 0,
        "each thread sees its own failure");
}

int main(void) {
  CHECK_EACH(names_and_texts, unknown_codes, details, parts, unprintable, long_details, details_of_threads);
  return check_done();
}
