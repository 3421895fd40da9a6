/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_walk.h - calls and messages, summed location by location. Internal. */
#ifndef PML_OTF2_WALK_H
#define PML_OTF2_WALK_H

#include "base/pml_map.h"
#include "read/otf2/pml_otf2_kinds.h"
#include "read/otf2/pml_otf2_read_private.h"

/* A call tree that grows while events are read. Zero-initialised: empty. */
struct pml__otf2_tree {
  struct pml_otf2_path *node;
  size_t n, capacity;
  struct pml__map map; /* maps parent and region to a node */
};

/* pml__otf2_tree_join - add the nodes of @from to @into; map[i]: the new number of node i. Returns false without
 * memory. */
bool pml__otf2_tree_join(struct pml__otf2_tree *into, const struct pml__otf2_tree *from, size_t *map);
/* pml__otf2_tree_order - number nodes by regions, depth first, so that their numbers do not depend on the order of
 * reading; map[i]: the new number of node i. After this no node may be added. Returns false without memory. */
bool pml__otf2_tree_order(struct pml__otf2_tree *t, size_t *map);

/* Sums of one region or path, or of all; times in ticks. */
struct pml__otf2_sums {
  uint64_t calls, unreturned, inclusive, exclusive;
  uint64_t least, most, most_began, first,
      last; /* least > most: no call; first > last: no call began, or no call ended */
  uint64_t sent, sent_bytes, received, received_bytes;
  struct pml_sketch *durations; /* NULL: no call, or not requested */
  bool touched;
};

/* Indices that are not requested are PML_OTF2_NONE; item: region, or node of the tree. */
struct pml__otf2_gathered {
  size_t process, location, column, item, most_location;
  struct pml__otf2_sums sums;
};

struct pml__otf2_frame {
  size_t region, item;
  uint64_t enter, inside; /* inside: time of the calls inside it, in the column */
  bool wanted;
  bool outer; /* outermost call of its region */
  bool top;   /* inside no other selected call */
};

struct pml__otf2_counts {
  uint64_t of[PML__OTF2_NKINDS];
};

/* State of one thread, which reads one location at a time. */
struct pml__otf2_walk {
  struct pml__otf2_subscriber other; /* first, because callbacks of other kinds get the walk */
  struct pml__otf2_counts kinds;
  const struct pml_otf2_read *trace;
  const struct pml_otf2_question *question;
  const bool *wanted;       /* [nregions] */
  const uint64_t *boundary; /* [columns + 1] in ticks */
  size_t location, columns, column;
  uint64_t from, to, last; /* from, to: limits of the column */
  bool past;               /* the window's end is reached: reading stops */
  bool by_path, by_region;
  uint64_t unmatched, backward, unknown, outside, known; /* known: events at the last location's end */
  size_t damaged, undefined;
  uint64_t lost, uncounted;
  uint64_t topmost; /* ticks in the column in calls inside no other selected call */
  size_t ntop;      /* open selected calls */
  size_t *open;     /* [nregions] open calls */
  struct pml__otf2_tree tree;
  struct pml__otf2_sums *sums; /* [items] */
  size_t items, *touched, ntouched, touched_room;
  struct pml__otf2_sums loose; /* messages outside of all calls */
  struct pml__otf2_frame *stack;
  size_t depth, stack_capacity;
  struct pml__otf2_gathered *row;
  size_t nrows, rows_capacity, merged; /* merged: number of rows after the last merge */
  bool refused;                        /* no memory */
  char apart[128];                     /* separates the next worker's counts from cache lines that this worker reads */
};

/* pml__otf2_walk_open - @w has trace, question, wanted, boundary, columns. Returns false without memory. */
bool pml__otf2_walk_open(struct pml__otf2_walk *w);
void pml__otf2_walk_close(struct pml__otf2_walk *w);
void pml__otf2_walk_callbacks(OTF2_EvtReaderCallbacks *c);
/* pml__otf2_walk_begin - call before the first event of a location. _end: make its rows; open calls end there. */
void pml__otf2_walk_begin(struct pml__otf2_walk *w, size_t location);
void pml__otf2_walk_end(struct pml__otf2_walk *w);

/* pml__otf2_rows_merge - merge rows with the same indices, and sort them. */
void pml__otf2_rows_merge(struct pml__otf2_walk *w);
/* pml__otf2_rows_take - take over the rows of @from; returns false without memory. */
bool pml__otf2_rows_take(struct pml__otf2_walk *w, struct pml__otf2_walk *from);
/* pml__otf2_rows_column - make rows of all sums touched in the column that ends. */
void pml__otf2_rows_column(struct pml__otf2_walk *w);

#endif
