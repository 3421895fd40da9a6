/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/sde_values.c - the values of all events for a client: exact, complete, and as lines of text. */
#include "base/text/pml_number.h"
#include "check.h"
#include "read/export/pml_export_metrics.h"
#include "source/sde/pml_sde_values.h"

#include <math.h>

static int64_t large = INT64_MAX, small = INT64_MIN, minus_one = -1;
static int32_t narrow = -7;
static double numbers[] = {0.1, NAN, INFINITY, -INFINITY, 5e-324, 1.7976931348623157e308, -0.0};

static int64_t call(void *param) {
  return *(int64_t *)param;
}

static struct pml__sde_values *values;

/* Take an answer, which the caller frees, and parse it into @a. */
static char *take(uint64_t known, struct pml__metrics_answer *a) {
  char *bytes;
  size_t n;
  int rc = pml__sde_values_take(values, known, "", "more", 4, &bytes, &n);
  if (rc == 0) rc = pml__metrics_parse(a, bytes, n);
  if (!CHECK(rc == 0, "an answer is read: %s", pml_error_detail(rc))) exit(1);
  return bytes;
}

/* The line of one word, or of an event by its name. */
static const char *text_of(struct pml__metrics_answer a, const char *name, uint32_t more) {
  static char text[PML__NUMBER_MAX + 8];
  struct pml__metrics_answer names = a;
  struct pml__metrics_event e = {0};
  struct pml__metrics_lines l = {0};
  while (pml__metrics_next(&names, &e) > 0 && strcmp(e.name, name) != 0) {
  }
  if (strcmp(e.name, name) != 0 || pml__metrics_add(&l, "", 0, 0, e.word + more, true) < 0) return "none";
  size_t n = pml__metrics_write(&l, &a, 1, text);
  text[n > 0 ? n - 1 : 0] = '\0';
  if (pml__metrics_fallen(&l, &a, 1, 0) == 0) strcat(text, " fell");
  pml__metrics_free(&l);
  return text;
}

static void check_text(struct pml__metrics_answer a, const char *name, uint32_t more, const char *wanted) {
  const char *got = text_of(a, name, more);
  CHECK(strcmp(got, wanted) == 0, "%s, word %u, is %s: %s", name, more, wanted, got);
}

static void check_exact(struct pml_sde_library *lib) {
  struct pml__metrics_answer a;
  struct pml_sde_counter *c;
  struct pml_recorder *r;
  char name[32];
  const struct pml_recorder_options options = {.type = PML_TYPE_DOUBLE};
  pml_sde_register(lib, "large", PML_SDE_RO, PML_TYPE_INT64, &large);
  pml_sde_register(lib, "small", PML_SDE_RO | PML_SDE_INSTANT, PML_TYPE_INT64, &small);
  pml_sde_register(lib, "narrow", PML_SDE_RO, PML_TYPE_INT32, &narrow);
  pml_sde_register_callback(lib, "called", PML_SDE_RO, PML_TYPE_INT64, call, &minus_one);
  for (unsigned i = 0; i < 7; i++) {
    snprintf(name, sizeof name, "number%u", i);
    pml_sde_register(lib, name, PML_SDE_RO, PML_TYPE_DOUBLE, &numbers[i]);
  }
  pml_sde_create(lib, "created", PML_SDE_RW, &c);
  pml_sde_increment(c, 41);
  pml_sde_create_recorder(lib, "recorder", &options, &r);
  for (int i = 1; i <= 5; i++) pml_recorder_push(r, &(double){i / 4.0});
  pml_sde_group_add(lib, "large", "group", PML_SDE_MIN);
  char *bytes = take(0, &a);
  check_text(a, "V::large", 0, "9223372036854775807");
  check_text(a, "V::small", 0, "-9223372036854775808 fell");
  check_text(a, "V::narrow", 0, "-7 fell");
  check_text(a, "V::called", 0, "-1 fell");
  check_text(a, "V::created", 0, "41");
  check_text(a, "V::group", 0, "9223372036854775807");
  const char *wanted[] = {"0.1", "NaN fell", "+Inf", "-Inf fell", NULL, "1.7976931348623157e+308", "-0"};
  for (unsigned i = 0; i < 7; i++) {
    snprintf(name, sizeof name, "V::number%u", i);
    if (wanted[i] != NULL) check_text(a, name, 0, wanted[i]);
  }
  CHECK(strtod(text_of(a, "V::number4", 0), NULL) == 5e-324, "the smallest double is exact");
  const char *words[] = {"5", "0", "0", "0.25", "0.5", "0.75", "1", "1.25", "0"};
  for (uint32_t i = 0; i < 9; i++) check_text(a, "V::recorder", i, words[i]);
  CHECK(a.missing == 0 && a.events == 14 && a.words == 22, "all 14 events are there, and no others: %u, %u", a.events,
        a.words);
  CHECK(a.text_bytes == 4 && memcmp(a.text, "more", 4) == 0, "and the caller's text");
  free(bytes);
}

static void check_changes(struct pml_sde_library *lib) {
  struct pml__metrics_answer first, again, gone, back;
  struct pml_sde_event *placeholder;
  char *bytes = take(0, &first);
  char *same = take(first.generation, &again);
  CHECK(again.generation == first.generation && again.names.left == 0, "names that are known are not sent again");
  struct pml__sde_values *other = values;
  (void)pml__sde_values_open(&values);
  free(take(0, &gone));
  pml__sde_values_close(values);
  values = other;
  pml_sde_unregister(lib, "large");
  large = 0;
  char *without = take(first.generation, &gone);
  CHECK(gone.generation != first.generation && gone.events == first.events - 1, "an event that left has no value");
  CHECK(strcmp(text_of(gone, "V::large", 0), "none") == 0, "and no name");
  pml_sde_find("V::later", &placeholder, NULL);
  pml_sde_register(lib, "large", PML_SDE_RO, PML_TYPE_INT64, &minus_one);
  pml_sde_describe(lib, "large", "back");
  char *with = take(gone.generation, &back);
  check_text(back, "V::large", 0, "-1 fell");
  CHECK(back.missing == 2 && back.events == first.events + 1,
        "it came back; the placeholder, which is listed, and the group, which has no member, have no value: %u of %u",
        (unsigned)back.missing, back.events);
  pml_sde_release(placeholder);
  free(bytes), free(same), free(without), free(with);
}

/* A callback withdraws a variable that comes after it, and frees it. */
static struct pml_sde_library *withdraws_in;
static int64_t *freed;

static int64_t withdraw(void *param) {
  (void)param;
  if (withdraws_in != NULL) {
    pml_sde_unregister(withdraws_in, "freed");
    *freed = 54321;
  }
  return 1;
}

static void check_withdrawn_amid(struct pml_sde_library *lib) {
  struct pml__metrics_answer named, a;
  freed = malloc(sizeof *freed);
  *freed = 12345;
  pml_sde_register_callback(lib, "withdraws", PML_SDE_RO, PML_TYPE_INT64, withdraw, NULL);
  pml_sde_register(lib, "freed", PML_SDE_RO, PML_TYPE_INT64, freed);
  char *names = take(0, &named);
  check_text(named, "V::freed", 0, "12345");
  withdraws_in = lib;
  char *bytes = take(named.generation, &a);
  a.names = named.names;
  check_text(a, "V::withdraws", 0, "1");
  check_text(a, "V::freed", 0, "");
  withdraws_in = NULL;
  pml_sde_unregister(lib, "withdraws");
  free(freed), free(names), free(bytes);
}

/* A thread registers and withdraws variables that it then frees, while values are taken. */
static atomic_bool ends;

static void *come_and_go(void *lib) {
  for (unsigned i = 0; !ends; i++) {
    char name[16];
    int64_t *v = malloc(sizeof *v);
    *v = 12345;
    snprintf(name, sizeof name, "brief%u", i % 50);
    if (pml_sde_register(lib, name, PML_SDE_RO, PML_TYPE_INT64, v) != 0) break;
    pml_sde_unregister(lib, name);
    *v = 54321; /* no reader sees it, nor the freed memory */
    free(v);
  }
  return NULL;
}

static void check_threads(struct pml_sde_library *lib) {
  pthread_t t;
  unsigned wrong = 0, seen = 0;
  uint64_t known = 0;
  pthread_create(&t, NULL, come_and_go, lib);
  for (int i = 0; i < 3000; i++) {
    char *bytes;
    size_t n;
    struct pml__metrics_answer a, names;
    struct pml__metrics_event e = {0};
    if (pml__sde_values_take(values, known, "", "", 0, &bytes, &n) != 0 || pml__metrics_parse(&a, bytes, n) != 0) {
      wrong++;
      break;
    }
    known = i % 2 == 0 ? a.generation : 0;
    names = a;
    while (names.names.left > 0 && pml__metrics_next(&names, &e) > 0) {
      struct pml_value v;
      if (strncmp(e.name, "V::brief", 8) != 0 || !pml__metrics_value(&a, e.word, &v)) continue;
      seen++;
      wrong += v.i != 12345;
    }
    free(bytes);
  }
  ends = true;
  pthread_join(t, NULL);
  CHECK(wrong == 0, "no value of freed memory is seen among %u values", seen);
}

int main(void) {
  struct pml_sde_library *lib;
  pml_sde_library(&lib, "V");
  CHECK(pml__sde_values_open(&values) == 0, "it opens");
  check_exact(lib);
  check_changes(lib);
  check_withdrawn_amid(lib);
  check_threads(lib);
  pml__sde_values_close(values);
  return check_done();
}
