/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_eventset_private.h - the layout of an event set, shared by its opening and its reading. */
#ifndef PML_EVENTSET_PRIVATE_H
#define PML_EVENTSET_PRIVATE_H

#include "source/kernel/pml_counter_private.h"
#include "source/pml_eventset.h"
#include "source/pml_source.h"

/*
 * One pass over all sources fills a snapshot: an array of 64-bit words in which each kernel group has a block as
 * read(2) writes it, then the clock has a word, then each software-defined event three, then each metric
 * of a plugin one. Every count is the difference
 * of one word between two snapshots: `base`, taken at start, and `now`.
 */
struct pml_sde_event;
struct pml__sde_reader;
struct pml__eventset_counted;
struct pml_plugin;
struct pml_plugin_metric;
struct pml__plugin_counter;

struct pml__eventset_group {
  int fd;          /* of the leader */
  bool paged;      /* every member has a page */
  uint32_t offset; /* of its block, in words */
  uint32_t values; /* of its first value, in words */
  uint32_t first;  /* its first member in page[] */
  uint32_t n;      /* members */
  size_t bytes;    /* of its block */
};

/* What an event is beside its words; cold. */
struct pml__eventset_part {
  char pmu[64 + PML_EVENT_PLACE_MAX]; /* with its place: "power:package0" */
  uint32_t counter;                   /* in counter[] */
  uint32_t group;
  uint32_t position; /* in the group */
  uint32_t word;     /* of its value in a snapshot */
};

struct pml__eventset_info {
  const struct pml__source *source;
  char name[PML_EVENT_NAME_MAX];
  char unit[16];
  double scale;
  uint32_t nparts;
  bool places; /* its parts are places that count side by side; else kinds of cores that take turns */
  struct pml__eventset_part part[PML_EVENT_PARTS_MAX];
};

/* A further word that belongs to an event: the other parts of a hybrid one. */
struct pml__eventset_extra {
  uint32_t event, word;
};

/* A software-defined event; cold. */
struct pml__eventset_sde {
  uint32_t event;
  char absent[320]; /* why there is no value while nobody has registered it */
};

/* A metric of a plugin. The first line is what a read of a strictly synchronous one looks at. */
struct pml__eventset_plugin {
  uint64_t (*get)(uint64_t id); /* NULL: it is asked in another way, or not at all. Takes the low half */
  uint64_t id;
  uint32_t event;
  bool level, real, frozen;
  enum pml_mode mode;
  uint64_t last;                       /* frozen: its plugin has ended, or was dropped */
  struct pml__plugin_counter *counter; /* NULL: another process measures it */
  struct pml_plugin *plugin;
  const struct pml_plugin_metric *metric;
};

struct pml_eventset {
  /* What every read touches. */
  bool running;
  bool simple;  /* all events are one group, read by read(2) */
  bool clocked; /* some event is a clock */
  bool mixed;   /* some event is more than one word's difference */
  /*
   * How the set is read, by whether it runs and what is in it: no read looks at what it could know before, and nobody
   * pays for a source that he has not. @snapshot is of sets that are not simple.
   */
  int (*read)(struct pml_eventset *s, uint64_t *values);
  int (*read_running)(struct pml_eventset *s, uint64_t *values);
  int (*snapshot)(struct pml_eventset *s, uint64_t *snapshot, bool times);
  uint32_t n;
  uint32_t ngroups;
  uint32_t nextra;
  uint32_t nns; /* clock::ns events */
  uint32_t clock_word;
  uint32_t nsde; /* software-defined events */
  uint32_t sde_word;
  uint64_t owner;       /* thread that may use the pages */
  uint64_t *base, *now; /* snapshots, cache-line aligned */
  uint32_t *word;       /* [n] of each event's value */
  struct pml__eventset_group *group;
  volatile struct perf_event_mmap_page **page; /* by group, then member */
  struct pml__eventset_extra *extra;
  uint32_t *ns;                          /* [nns] */
  struct pml_sde_event **sde_event;      /* [nsde] */
  struct pml__eventset_sde *sde;         /* [nsde] */
  struct pml__sde_reader *reader;        /* NULL if nsde is 0 */
  struct pml__eventset_counted *counted; /* NULL: not all of them are what threads count for themselves */
  uint32_t nplugin, plugin_word;         /* metrics of plugins */
  bool plugin_plain;                     /* each of them is the difference of two words, as it stands */
  uint64_t plugin_epoch;                 /* that reads expect; none, where each of them needs a fence */
  uint64_t plugin_seen;                  /* as of which @plugin knows what has ended */
  struct pml__eventset_plugin *plugin;   /* [nplugin] */
  struct pml__sde_reader *plugin_reader; /* NULL if nplugin is 0 */
  const uint64_t *plugin_last;           /* the words that were read last */
  uint32_t nsim, sim_word;               /* simulated events */
  uint64_t sim_owner;                    /* thread that may read them */
  int (*beneath_sim)(struct pml_eventset *s, uint64_t *snapshot, bool times); /* of what else is in the set */

  /* What opening, closing and questions touch. */
  unsigned flags;
  uint32_t ncounters;
  size_t words;
  struct pml_counter *counter;
  struct pml__eventset_info *info;
};

/* pml__eventset_open_events - as pml_eventset_open, of events that are parsed already. */
int pml__eventset_open_events(struct pml_eventset **set, const struct pml_event *ev, size_t n,
                              const struct pml_eventset_options *options);

/* One pass over all sources into @snapshot; @times: also enabled and running. Returns page reads tried again, or < 0.
 */
int pml__eventset_snapshot(struct pml_eventset *s, uint64_t *snapshot,
                           bool times); /* without software-defined events */
int pml__eventset_sde_snapshot(struct pml_eventset *s, uint64_t *snapshot, bool times); /* with them */

/*
 * pml__reading_of_turns - the reading of a hybrid event from those of its @n parts, of which one counts at a time.
 * The kernel runs the enabled clock of every part while any of them counts: the time of the event is that of one part,
 * and what was seen of it is the sum of their running times. The parts are enabled and read one after the other, so the
 * shortest enabled time is taken, and running time beyond it is no time missed.
 */
struct pml_reading pml__reading_of_turns(const struct pml_reading *part, uint32_t n);

/* Set @read and @snapshot by what is in the set, once that is known. */
void pml__eventset_choose_read(struct pml_eventset *s);
int pml__eventset_sde_read(struct pml_eventset *s, uint64_t *values); /* all events are software-defined */

/* Software-defined events of a set: pml_eventset_sde.c */
uint32_t pml__eventset_sde_words(const struct pml_event *ev, size_t n);
int pml__eventset_sde_open(struct pml_eventset *s, const struct pml_event *ev, const struct pml_target *target);
void pml__eventset_sde_close(struct pml_eventset *s);
void pml__eventset_sde_differences(const struct pml_eventset *s, uint64_t *values);
/* Makes @count what accum is to add to @values as an integer. */
void pml__eventset_sde_prepare_add(const struct pml_eventset *s, const uint64_t *values, uint64_t *count);
void pml__eventset_sde_describe(const struct pml_eventset *s, size_t event, struct pml_eventset_event *info);

/* Software-defined events that each thread counts for itself: pml_eventset_counted.c. Where s->counted is not NULL */
int pml__eventset_counted_open(struct pml_eventset *s); /* sets it; -1: no memory */
void pml__eventset_counted_close(struct pml_eventset *s);
int pml__eventset_counted_snapshot(struct pml_eventset *s, uint64_t *snapshot, bool times);
int pml__eventset_counted_read(struct pml_eventset *s, uint64_t *values); /* all events are */

/* Metrics of plugins: pml_eventset_plugin.c. As of software-defined events. */
uint32_t pml__eventset_plugin_words(const struct pml_event *ev, size_t n);
int pml__eventset_plugin_open(struct pml_eventset *s, const struct pml_event *ev, const struct pml_target *target);
void pml__eventset_plugin_close(struct pml_eventset *s);
int pml__eventset_plugin_snapshot(struct pml_eventset *s, uint64_t *snapshot, bool times);
int pml__eventset_plugin_read(struct pml_eventset *s, uint64_t *values);     /* all events are metrics of plugins */
int pml__eventset_plugin_read_one(struct pml_eventset *s, uint64_t *values); /* the one event is a plain one */
void pml__eventset_plugin_differences(const struct pml_eventset *s, uint64_t *values);
void pml__eventset_plugin_prepare_add(const struct pml_eventset *s, const uint64_t *values, uint64_t *count);
void pml__eventset_plugin_describe(const struct pml_eventset *s, size_t event, struct pml_eventset_event *info);
bool pml__eventset_plugin_is_absent(const struct pml_eventset *s, size_t event, uint64_t value);
bool pml__eventset_plugin_is_real(const struct pml_eventset *s, size_t event);

/* Simulated events of a set: pml_eventset_sim.c */
uint32_t pml__eventset_sim_words(const struct pml_event *ev, size_t n);
int pml__eventset_sim_open(struct pml_eventset *s, const struct pml_event *ev, const struct pml_target *target);
int pml__eventset_sim_snapshot(struct pml_eventset *s, uint64_t *snapshot, bool times);

#endif
