/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_values.c - the values of all events of a process, in one pass over a list of them. */
#include "source/sde/pml_sde_values.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "base/pml_pack.h"
#include "source/sde/pml_sde_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASS 256u /* events in one pass of a reader, for which a thread that unregisters an event waits */
#define PATTERNS_MAX 1000u

/* Most events are counters and variables of 64 bits, which are read without a look at their event and body. */
enum how { BODY, CREATED, VARIABLE, RECORDER, CALLBACK };

struct listed {
  struct pml_sde_event *ev;
  const void *at; /* CREATED: the counter; VARIABLE: of 64 bits */
  enum how how;
  uint8_t what; /* flags of the variable */
};

struct pml__sde_values {
  struct listed *list;
  size_t n, room, words;
  uint64_t generation; /* generation of the list; 0: no list */
  uint64_t withdrawn;  /* withdrawn events, counted before the list was made */
  char *patterns;      /* that the list was made for; owned */
};

int pml__sde_values_open(struct pml__sde_values **v) {
  *v = calloc(1, sizeof **v);
  return *v != NULL ? 0 : pml_fail(-ENOMEM, "out of memory for a list of the software-defined events");
}

static void clear(struct pml__sde_values *v) {
  for (size_t i = 0; i < v->n; i++) pml_sde_release(v->list[i].ev);
  free(v->list);
  free(v->patterns);
  *v = (struct pml__sde_values){0};
}

void pml__sde_values_close(struct pml__sde_values *v) {
  if (v == NULL) return;
  clear(v);
  free(v);
}

/* --- the list --- */

static struct listed listed_as(struct pml_sde_event *ev, const struct pml__sde_body *b) {
  struct listed l = {.ev = ev, .how = BODY, .what = PML__SDE_HAS};
  if (b == NULL) return l;
  bool wide = b->type == PML_TYPE_INT64 || b->type == PML_TYPE_DOUBLE;
  if (b->kind == PML_SDE_RECORDER) l.how = RECORDER;
  if (b->kind == PML_SDE_CALLBACK) l.how = CALLBACK;
  if (b->kind == PML_SDE_CREATED) {
    l.how = CREATED;
    l.at = b->counter;
  } else if (b->kind == PML_SDE_REGISTERED && wide &&
             atomic_load_explicit(&b->overflow, memory_order_relaxed) == NULL) {
    l.how = VARIABLE;
    l.at = b->variable;
    if (b->type == PML_TYPE_DOUBLE) l.what = PML__SDE_HAS | PML__SDE_DOUBLE;
  }
  return l;
}

/* The reference keeps the body of now, also if it is withdrawn. An event that is being filled is a placeholder: the
 * generation is another one by the next answer. */
static void add(struct pml__sde_values *v, struct pml_sde_event *ev, struct pml__pack *names) {
  struct pml_sde_info info;
  const struct pml__sde_body *b = pml__sde_body_of(ev);
  (void)pml_sde_info(ev, &info);
  if (b != NULL && info.kind != b->kind) b = NULL;
  if (!PML__ARRAY_ROOM(v->list, v->room, v->n + 1)) {
    names->failed = true;
    pml_sde_release(ev);
    return;
  }
  v->list[v->n++] = listed_as(ev, b);
  v->words += b != NULL && b->kind == PML_SDE_RECORDER ? PML__SDE_WIDE : 1;
  pml__pack_whole(names, b != NULL ? info.kind : PML_SDE_PLACEHOLDER);
  pml__pack_whole(names, info.type);
  pml__pack_whole(names, info.mode);
  pml__pack_text(names, info.full_name);
  pml__pack_text(names, info.description);
}

static const char *unprefixed(const char *name) {
  size_t n = strlen(PML__SDE_PREFIX);
  return strncmp(name, PML__SDE_PREFIX, n) == 0 ? name + n : name;
}

/* Split lines, of which "sde:::" is removed. Their number, or 0: too many. */
static size_t split(char *lines, const char **pattern) {
  size_t n = 0;
  char *rest = NULL;
  for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    if (n == PATTERNS_MAX) return 0;
    pattern[n++] = unprefixed(line);
  }
  if (n == 0) pattern[n++] = "*";
  return n;
}

static void add_selected(struct pml__sde_values *v, struct pml_sde_selection *s, struct pml__pack *names) {
  struct pml_sde_event *ev[PASS];
  size_t left = pml_sde_count();
  do {
    s->most = left < PASS ? left : PASS;
    size_t n = pml__sde_select_held(s, ev);
    for (size_t i = 0; i < n; i++) add(v, ev[i], names);
    left -= n;
  } while (s->more && left > 0);
}

/* The generation is loaded first: a change during the loop raises it again, so that the next answer has a new list. */
static int make_list(struct pml__sde_values *v, const char *patterns, struct pml__pack *names) {
  const char *pattern[PATTERNS_MAX];
  clear(v);
  uint64_t generation = pml__sde_generation(), withdrawn = pml__sde_withdrawn();
  struct pml_sde_selection s = {.pattern = pattern};
  char *lines = strdup(patterns);
  v->patterns = strdup(patterns);
  int rc = lines == NULL || v->patterns == NULL ? -ENOMEM : 0;
  if (rc == 0 && (s.n = split(lines, pattern)) == 0) rc = -E2BIG;
  if (rc == 0) add_selected(v, &s, names);
  free(lines);
  v->generation = generation;
  v->withdrawn = withdrawn;
  return rc == 0 && names->failed ? -ENOMEM : rc;
}

/* --- values --- */

static inline void put(uint64_t *word, uint8_t *what, uint64_t value, uint8_t flags) {
  *word = value;
  *what = flags;
}

static void put_value(uint64_t *word, uint8_t *what, const struct pml_value *v) {
  put(word, what, (uint64_t)v->i, v->type == PML_TYPE_DOUBLE ? PML__SDE_HAS | PML__SDE_DOUBLE : PML__SDE_HAS);
}

static void read_recorder(const struct pml__sde_body *b, uint64_t *words, uint8_t *what) {
  static const unsigned percent[] = {0, 25, 50, 75, 100};
  memset(words, 0, PML__SDE_WIDE * sizeof *words);
  memset(what, 0, PML__SDE_WIDE);
  if (b == NULL || b->kind != PML_SDE_RECORDER) return;
  struct pml_recorder *r = b->recorder->recorder;
  put(words, what, pml_recorder_count(r), PML__SDE_HAS);
  put(words + 1, what + 1, pml_recorder_dropped(r), PML__SDE_HAS);
  put(words + 2, what + 2, pml_recorder_nans(r), PML__SDE_HAS);
  for (unsigned i = 0; i < 5; i++) {
    struct pml_value v;
    if (pml_recorder_quantile(r, percent[i], &v) == 0) put_value(words + 3 + i, what + 3 + i, &v);
  }
  put_value(words + 8, what + 8, &(struct pml_value){.type = PML_TYPE_DOUBLE, .d = pml_recorder_error(r)});
}

/* Read in a separate pass, so that a callback that hangs delays only threads that unregister it. */
static void read_alone(struct pml_sde_event *ev, uint64_t *word, uint8_t *what) {
  struct pml_value v;
  bool has = pml__sde_body_of(ev) != NULL && pml_sde_read(ev, &v) == 0;
  has ? put_value(word, what, &v) : put(word, what, 0, 0);
}

/* The kind may be another than when the list was made: the next answer has another list. */
static void read_body(struct pml__sde_reader *r, const struct pml__sde_body *b, uint64_t *word, uint8_t *what) {
  uint64_t words[PML__SDE_WORDS];
  if (b == NULL || b->kind == PML_SDE_RECORDER || b->kind == PML_SDE_CALLBACK) {
    put(word, what, 0, 0);
    return;
  }
  pml__sde_snapshot_one(r, b, words);
  put(word, what, words[PML__SDE_VALUE], (uint8_t)(words[PML__SDE_WHAT] & (PML__SDE_HAS | PML__SDE_DOUBLE)));
}

/* Values that are being written. */
struct output {
  uint64_t *word;
  uint8_t *what;
  uint64_t missing;
};

static inline void step(struct output *o, size_t words) {
  o->missing += (*o->what & PML__SDE_HAS) == 0;
  o->word += words;
  o->what += words;
}

/*
 * Events from @i to @end, except callbacks: where it ended. A variable may be freed once its event was withdrawn, and
 * its readers have left. Withdrawing raises the number of withdrawn events, and then looks for readers; a reader
 * enters, and then loads that number: as with an event's body (pml__sde_enter()), one of the two sees the other. A
 * counter that pmlua created stays as long as there is a reference.
 */
static size_t read_pass(const struct pml__sde_values *v, struct pml__sde_reader *r, size_t i, size_t end,
                        struct output *o) {
  pml__sde_enter(r);
  bool good = pml__sde_withdrawn() == v->withdrawn;
  for (; i < end && v->list[i].how != CALLBACK; i++) {
    const struct listed *l = &v->list[i];
    if (PML_LIKELY(l->how == CREATED)) {
      put(o->word, o->what, pml__sde_counter_value(l->at), PML__SDE_HAS);
    } else if (PML_LIKELY(l->how == VARIABLE && good)) {
      put(o->word, o->what, __atomic_load_n((const uint64_t *)l->at, __ATOMIC_RELAXED), l->what);
    } else if (l->how == RECORDER) {
      read_recorder(pml__sde_body_of(l->ev), o->word, o->what);
      step(o, PML__SDE_WIDE);
      continue;
    } else {
      read_body(r, pml__sde_body_of(l->ev), o->word, o->what);
    }
    step(o, 1);
  }
  pml__sde_leave(r);
  return i;
}

/* Returns how many events have no value. */
static uint64_t read_all(const struct pml__sde_values *v, struct pml__sde_reader *r, uint64_t *word, uint8_t *what) {
  struct output o = {word, what, 0};
  for (size_t i = 0; i < v->n;) {
    i = read_pass(v, r, i, v->n - i > PASS ? i + PASS : v->n, &o);
    for (; i < v->n && v->list[i].how == CALLBACK; i++) {
      read_alone(v->list[i].ev, o.word, o.what);
      step(&o, 1);
    }
  }
  return o.missing;
}

static int fill(const struct pml__sde_values *v, const struct pml__pack *names, const char *text, size_t text_bytes,
                char **bytes, size_t *n) {
  struct pml__sde_values_head head = {.magic = PML__SDE_VALUES_MAGIC, .generation = v->generation};
  *n = sizeof head + 9 * v->words + names->n + text_bytes;
  if (*n > UINT32_MAX) return -EFBIG;
  struct pml__sde_reader *r = pml__sde_reader_take();
  *bytes = r != NULL ? malloc(*n) : NULL;
  if (*bytes != NULL) {
    uint64_t *word = (uint64_t *)(*bytes + sizeof head); /* aligned: the head is a multiple of 8 */
    uint8_t *what = (uint8_t *)(word + v->words);
    r->whole = true;
    head.missing = read_all(v, r, word, what);
    head.events = (uint32_t)v->n;
    head.words = (uint32_t)v->words;
    head.names_bytes = (uint32_t)names->n;
    head.text_bytes = (uint32_t)text_bytes;
    memcpy(*bytes, &head, sizeof head);
    if (names->n > 0) memcpy(what + v->words, names->at, names->n);
    if (text_bytes > 0) memcpy(what + v->words + names->n, text, text_bytes);
  }
  pml__sde_reader_give_back(r);
  return *bytes != NULL ? 0 : -ENOMEM;
}

int pml__sde_values_take(struct pml__sde_values *v, uint64_t known, const char *patterns, const char *text,
                         size_t text_bytes, char **bytes, size_t *n) {
  struct pml__pack names = {0};
  bool same = v->patterns != NULL && strcmp(v->patterns, patterns) == 0;
  *bytes = NULL;
  int rc = 0;
  if (!same || v->generation == 0 || v->generation != known || v->generation != pml__sde_generation())
    rc = make_list(v, patterns, &names);
  if (rc == 0) rc = fill(v, &names, text, text_bytes, bytes, n);
  free(names.at);
  if (rc < 0) clear(v);
  if (rc == -E2BIG) return pml_fail(rc, "a question for values has at most %u patterns", PATTERNS_MAX);
  return rc < 0 ? pml_fail(rc, "no memory for the values of the software-defined events") : 0;
}

/* --- the values of a recorder --- */

static int copy_series(struct pml_recorder *r, const char *name, uint64_t first, char **bytes, size_t *n) {
  size_t size = pml_recorder_options(r).bytes;
  uint64_t count = pml_recorder_count(r);
  uint64_t most = count >= first ? count - first + 1 : 0;
  if (most > PML__SDE_SERIES) most = PML__SDE_SERIES;
  *n = 0;
  *bytes = malloc((size_t)most * size + 1);
  if (*bytes == NULL) return pml_fail(-ENOMEM, "no memory for the values of %s", name);
  if (most > 0) *n = size * pml_recorder_copy(r, (size_t)first - 1, *bytes, (size_t)most);
  return *n > 0 || most == 0 ? 0 : pml_fail(PML_EMODE, "%s keeps a sketch, not its values", name);
}

int pml__sde_series_take(const char *question, char **bytes, size_t *n) {
  char name[PML__SDE_NAME_MAX];
  const char *pattern = name;
  struct pml_sde_event *ev[1];
  struct pml_sde_info info;
  struct pml_sde_selection s = {.pattern = &pattern, .n = 1, .most = 1};
  *bytes = NULL;
  char *at;
  uint64_t first = strtoull(question, &at, 10);
  if (first == 0 || *at != ' ') return pml_fail(-EINVAL, "a question for a series is FIRST LIB::RECORDER, from 1 on");
  snprintf(name, sizeof name, "%s", unprefixed(at + 1));
  if (pml__sde_select_held(&s, ev) == 0) return pml_fail(PML_ENOEVENT, "no event is called %s", name);
  int rc = pml_sde_info(ev[0], &info);
  if (rc == 0 && info.recorder == NULL) rc = pml_fail(PML_EMODE, "%s is not a recorder", name);
  if (rc == 0) rc = copy_series(info.recorder, name, first, bytes, n);
  pml_sde_release(ev[0]);
  if (rc < 0) free(*bytes);
  if (rc < 0) *bytes = NULL;
  return rc;
}
