/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/read/pml_otf2_tree.h - a call tree that grows while events are read. Internal. */
#ifndef PML_OTF2_TREE_H
#define PML_OTF2_TREE_H

#include "base/pml_map.h"
#include "substrate/trace/read/pml_otf2_read.h"

/* All zero: empty. Pair with pml__otf2_tree_free(). */
struct pml__otf2_tree {
  struct pml_otf2_path *node;
  size_t n, capacity;
  struct pml__map map; /* of parent and region */
};

/* pml__otf2_tree_node - the call of @region in @parent, which is made if it is new; PML_OTF2_NONE: no memory. */
size_t pml__otf2_tree_node(struct pml__otf2_tree *t, size_t parent, size_t region);
/* pml__otf2_tree_join - the nodes of @from in @into; map[i]: the number there of node i. False: no memory. */
bool pml__otf2_tree_join(struct pml__otf2_tree *into, const struct pml__otf2_tree *from, size_t *map);
/*
 * pml__otf2_tree_order - number nodes by regions, depth first, so that their numbers do not depend on the order in
 * which they were met; map[i]: the new number of node i. Nodes are only added before. False: no memory.
 */
bool pml__otf2_tree_order(struct pml__otf2_tree *t, size_t *map);
void pml__otf2_tree_free(struct pml__otf2_tree *t);

#endif
