/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/lflow.c - pml.flow: event flow graphs of call paths, as tables of nodes and edges. */
#include "module.h"
#include "shared.h"

#include "substrate/flow/pml_flow.h"

struct handle {
  struct lutil_handle h;
  struct pml_flow *flow;
  struct pml_profile_memory memory; /* where the state keeps to a limit */
};

LUTIL_CLASS(flow, handle, pml_flow_close(h->flow))

static struct handle *check(lua_State *L) {
  return lutil_check(L, 1, &flow_class);
}

/* open{metrics = names, labels = n} */
static int l_open(lua_State *L) {
  static const struct option known[] = {OPTION_UNREAD("metrics"),
                                        OPTION_RANGE(struct pml_flow_options, "labels", labels, 0, PML_FLOW_LABELS_MAX),
                                        OPTION_END};
  const char *names[PML_FLOW_METRICS_MAX];
  struct pml_flow_options o = {.metrics = names};
  option_read(L, 1, known, &o);
  if (!lua_isnoneornil(L, 1) && lutil_field(L, 1, "metrics") != LUA_TNIL)
    o.nmetrics = lutil_names(L, lua_gettop(L), names, PML_FLOW_METRICS_MAX);
  struct handle *h = lutil_new(L, &flow_class, 0, 0);
  o.memory = lutil_memory(L, &h->memory);
  int err = pml_flow_open(&h->flow, &o);
  return lutil_opened(L, &h->h, err, "flow.open");
}

void lutil_pushflow(lua_State *L, struct pml_flow *f) {
  struct handle *h = lutil_try_new(L, &flow_class);
  if (h == NULL) {
    pml_flow_close(f);
    (void)lua_error(L);
    return;
  }
  h->flow = f;
  h->h.open = 1;
}

static int l_stop(lua_State *L) {
  return pml_pushdone(L, pml_flow_stop(check(L)->flow), "flow.stop");
}

static void push_node(lua_State *L, const void *graph, size_t at) {
  static const struct field fields[] =
      FIELDS(struct pml_flow_node, region, depth, visits, count, inclusive_ns, exclusive_ns);
  const struct pml_flow_graph *g = graph;
  const struct pml_flow_node *node = &g->node[at];
  struct pml_region_info info = {.name = ""};
  if (node->region != 0) (void)pml_region_describe(node->region, &info);
  field_push(L, fields, node);
  lutil_setstr(L, "name", info.name);
  lutil_setstr(L, "file", info.file);
  if (node->depth > 0) lutil_setint(L, "parent", node->parent + 1u);
  lua_createtable(L, 0, (int)g->nmetrics);
  for (uint32_t i = 0; i < g->nmetrics; i++) lutil_setnum(L, g->metric[i], node->metric[i]);
  lua_setfield(L, -2, "metrics");
}

/* Push a label in its written form: {n}, {i, j, k} or {i, j, k, l, m}. */
static void push_label(lua_State *L, const void *edge, size_t at) {
  const struct pml_flow_label *a = &((const struct pml_flow_edge *)edge)->label[at];
  const uint64_t part[] = {a->i, a->j, a->k, a->l, a->m};
  int n = a->m > 1 ? 5 : a->k > 0 ? 3 : 1;
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)part[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_edge(lua_State *L, const void *graph, size_t at) {
  const struct pml_flow_edge *edge = &((const struct pml_flow_graph *)graph)->edge[at];
  lua_createtable(L, 0, 4);
  lutil_setint(L, "from", edge->from + 1u);
  lutil_setint(L, "to", edge->to + 1u);
  lutil_setint(L, "count", edge->count);
  field_each(L, "labels", edge->nlabels, push_label, edge);
}

static void push_graph(lua_State *L, const struct pml_flow_graph *g) {
  static const struct field fields[] = {FIELD_AS(struct pml_flow_graph, "threads", nthreads),
                                        EACH(FIELD, struct pml_flow_graph, unmatched, missing), FIELD_END};
  field_push(L, fields, g);
  lutil_setint(L, "last", g->last + 1u);
  field_each(L, "nodes", g->nnodes, push_node, g);
  field_each(L, "edges", g->nedges, push_edge, g);
  field_values(L, "metrics", FIELD_TEXT, g->metric, g->nmetrics);
}

static int push_graphs(lua_State *L) {
  size_t n;
  const struct pml_flow_graph *const *g = pml_flow_graphs(lua_touserdata(L, 1), &n);
  luaL_checkstack(L, 12, NULL);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_graph(L, g[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* graphs(): none before stop(). */
static int l_graphs(lua_State *L) {
  struct handle *h = check(L);
  return lutil_call_closed(L, &h->h, push_graphs, h->flow);
}

static int l_refused(lua_State *L) {
  return lutil_pushint(L, pml_flow_refused(check(L)->flow));
}

int luaopen_pmlua_flow(lua_State *L) {
  static const luaL_Reg methods[] = {{"stop", l_stop}, {"graphs", l_graphs}, {"refused", l_refused}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", l_open}, {NULL, NULL}};
  lutil_class(L, &flow_class, methods, NULL);
  return lutil_module(L, functions);
}
