-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/flow/skeleton.lua - a C program whose sections follow each other as an event flow graph says.
--
-- Try:  pml.flow.start(); ...; io.open("skeleton.c", "w"):write(pml.flow.stop():skeleton()):close()
--       cc skeleton.c $(pkg-config --cflags --libs pmlua) -o skeleton; pmlua record --flow=flow.svg -- ./skeleton
--
-- Nodes follow each other in the program as they were visited first. An edge to the next node is falling through, one
-- further on a goto. An edge that comes back is a do-while loop around all between, as long as loops stay within loops,
-- and a goto otherwise. Their conditions are the labels, so that the program is as short as the graph, however often its
-- loops turn.

local core = require "pmlua.core"
local flowgraph = require "pmlua.internal.flow.graph"
local lists = require "pmlua.internal.lists"

local M = {}

local PATH = 8   -- names of a longer one in a comment
local INLINE = 6 -- labels in a condition; more are a table

-- --- names ---

--- Replace characters that must not appear in a C comment.
local function comment(text)
  return (text:gsub("[^\32-\126]", "?"):gsub("%*/", "* /"):gsub("/%*", "/ *"):gsub("\\", "/"))
end

--- A C string literal of any bytes, without trigraphs.
local function literal(text)
  return '"' .. text:gsub("[^\32-\126]", function(c) return ("\\%03o"):format(c:byte()) end):gsub('["?]', "\\%0") .. '"'
end

local function escaped(text) return literal((text:gsub("\\", "\1"))):gsub("\\001", "\\\\") end

--- Functions are named after regions, in letters that C knows; no two alike.
local function identifiers(flow)
  local of, taken, order = {}, {}, {}
  for _, graph in ipairs(flow.graphs) do
    for i = 2, #graph.nodes do
      local name = graph.nodes[i].name
      if not of[name] then
        local base = core.region.demangle(name):gsub("[^%w]+", "_"):sub(1, 48):gsub("_$", "")
        local id, n = base, 1
        while id == "" or taken[id] do
          n = n + 1
          id = ("%s_%d"):format(base, n)
        end
        taken[id], of[name] = true, id
        order[#order + 1] = name
      end
    end
  end
  return of, order
end

-- --- conditions ---

local form = { [1] = "AT(%d)", [3] = "LOOP(%d, %d, %d)", [5] = "NEST(%d, %d, %d, %d, %d)" }

local function condition(s, edge)
  if #edge.labels > INLINE then
    s.tables[#s.tables + 1] = edge
    return ("AMONG(label_%d_%d)"):format(s.g, #s.tables)
  end
  local parts = lists.map(edge.labels, function(label) return form[#label]:format(table.unpack(label)) end)
  return table.concat(parts, " || ")
end

local function label_tables(s, out)
  for i, edge in ipairs(s.tables) do
    out[#out + 1] = ("static const struct label label_%d_%d[] = {"):format(s.g, i)
    for _, l in ipairs(edge.labels) do
      out[#out + 1] = ("  {%d, %d, %d, %d, %d},"):format(l[1], l[2] or l[1], l[3] or 0, l[4] or 0, l[5] or 1)
    end
    out[#out + 1] = "};"
  end
end

-- --- loops ---

--- The edges that become do-while loops: how many begin at each node, which end there, innermost first, and all of them.
local function loops(graph)
  local back = lists.filter(graph.edges, function(edge) return edge.to <= edge.from end)
  table.sort(back, function(a, b) -- the outer loop before the inner one
    if a.to ~= b.to then return a.to < b.to end
    return a.from > b.from
  end)
  local begins, ends, is_loop, open = {}, {}, {}, {}
  for _, edge in ipairs(back) do
    while #open > 0 and open[#open] < edge.to do open[#open] = nil end
    if #open == 0 or edge.from <= open[#open] then
      open[#open + 1] = edge.from
      begins[edge.to] = (begins[edge.to] or 0) + 1
      ends[edge.from] = ends[edge.from] or {}
      table.insert(ends[edge.from], 1, edge)
      is_loop[edge] = true
    end
  end
  return begins, ends, is_loop
end

-- --- the function of a graph ---

local function enum_name(graph, i)
  local name = core.region.demangle(graph.nodes[i].name):upper():gsub("[^%w]+", "_"):sub(1, 40)
  return ("N%d_%s"):format(i - 1, name)
end

--- Nodes that a goto leads to.
local function targets(graph, is_loop)
  local wanted = {}
  for _, edge in ipairs(graph.edges) do
    if edge.to ~= edge.from + 1 and not is_loop[edge] then wanted[edge.to] = true end
  end
  return wanted
end

local function emit_node(s, i)
  local node, out = s.graph.nodes[i], s.out
  local function say(text) out[#out + 1] = ("  "):rep(s.indent) .. text end
  for _ = 1, s.begins[i] or 0 do
    say "do {"
    s.indent = s.indent + 1
  end
  if s.wanted[i] then out[#out + 1] = ("at_%d:"):format(i - 1) end
  say(("visit(&w, %s);"):format(s.names[i]))
  if i == s.graph.last then say(("if (AT(%d)) goto end;"):format(node.visits)) end
  for _, edge in ipairs(s.leaving[i] or {}) do
    if edge.to ~= i + 1 and not s.is_loop[edge] then
      say(("if (%s) goto at_%d;"):format(condition(s, edge), edge.to - 1))
    end
  end
  for _, edge in ipairs(s.ends[i] or {}) do
    s.indent = s.indent - 1
    say(("} while (%s);"):format(condition(s, edge)))
  end
end

local function graph_function(g, graph, ids)
  local begins, ends, is_loop = loops(graph)
  local s = { g = g, graph = graph, begins = begins, ends = ends, is_loop = is_loop, wanted = targets(graph, is_loop),
    names = {}, leaving = {}, tables = {}, out = {}, indent = 1 }
  for _, edge in ipairs(graph.edges) do
    s.leaving[edge.from] = s.leaving[edge.from] or {}
    table.insert(s.leaving[edge.from], edge)
  end
  local out, nodes, enum = {}, {}, {}
  for i = 2, #graph.nodes do
    local parent = graph.nodes[i].parent
    s.names[i] = enum_name(graph, i)
    enum[#enum + 1] = s.names[i]
    local id, above = ids[graph.nodes[i].name], parent == 1 and "BEGIN" or s.names[parent]
    nodes[#nodes + 1] = ("  [%s] = {enter_%s, leave_%s, %s}, /* %s */"):format(s.names[i], id, id, above,
      comment(table.concat(flowgraph.path(graph, i, PATH), " / ")))
  end
  for i = 2, #graph.nodes do emit_node(s, i) end
  label_tables(s, out)
  local function say(text) out[#out + 1] = text end
  say(("/* %d thread%s, %d call paths. */"):format(graph.threads, graph.threads == 1 and "" or "s", #enum))
  say(("static void *flow_%d(void *unused) {"):format(g))
  say(("  enum { %s };"):format(table.concat(enum, ", ")))
  say("  static const struct node node[] = {")
  for _, line in ipairs(nodes) do say("  " .. line) end
  say("  };")
  say(("  uint64_t visits[%d] = {0};"):format(#enum))
  say("  struct walk w = {node, visits, BEGIN};")
  table.move(s.out, 1, #s.out, #out + 1, out)
  say "end:"
  say "  leave_to(&w, BEGIN);"
  say "  return unused;\n}\n"
  return table.concat(out, "\n")
end

-- --- the program ---

local HEAD = [[
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With -DWITHOUT_PMLUA functions are called in the same order, and do nothing. */
#ifdef WITHOUT_PMLUA
#define START(label) ((void)(label))
#define STOP(label) ((void)(label))
#else
#include <pml.h>
#define START(label) ((void)pml_section_start_label(label))
#define STOP(label) ((void)pml_section_stop_label(label))
#endif

/* ---- what regions do: put in here what they shall ---- */
]]

local RUNTIME = [[
/* ---- the flow ---- */

#define BEGIN (-1)

/* A call path: what is called last, and the path that calls it. */
struct node {
  void (*enter)(void);
  void (*leave)(void);
  int parent;
};

/* Where a thread is, and how often it was at each node. */
struct walk {
  const struct node *node;
  uint64_t *visits;
  int at;
};

/* Visits i, i + k, ..., j, and m such loops, each l visits after the one before. */
struct label {
  uint64_t i, j, k, l, m;
};

static inline bool has(struct label a, uint64_t visit) {
  if (visit < a.i) return false;
  uint64_t turn = a.m > 1 ? (visit - a.i) / a.l : 0;
  for (turn = turn < a.m ? turn : a.m - 1;; turn--) { /* of loops that overlap, an earlier one may have it */
    uint64_t at = visit - turn * a.l;
    if (at > a.j) return false;
    if (at == a.i || (a.k > 0 && (at - a.i) % a.k == 0)) return true;
    if (turn == 0) return false;
  }
}

static inline bool among(const struct label *a, size_t n, uint64_t visit) {
  for (size_t i = 0; i < n; i++)
    if (has(a[i], visit)) return true;
  return false;
}

/* Of the node that was visited last, and its visits so far. */
#define AT(n) (w.visits[w.at] == (n))
#define LOOP(i, j, k) has((struct label){i, j, k, 0, 1}, w.visits[w.at])
#define NEST(i, j, k, l, m) has((struct label){i, j, k, l, m}, w.visits[w.at])
#define AMONG(labels) among(labels, sizeof labels / sizeof labels[0], w.visits[w.at])

static inline void leave_to(struct walk *w, int node) {
  for (; w->at != node; w->at = w->node[w->at].parent) w->node[w->at].leave();
}

/* What is open and not around the node is left, then it is entered. */
static inline void visit(struct walk *w, int node) {
  leave_to(w, w->node[node].parent);
  w->node[node].enter();
  w->at = node;
  w->visits[node]++;
}
]]

local function main_function(flow)
  local out, n = { "int main(void) {" }, 0
  local function say(text) out[#out + 1] = "  " .. text end
  for _, graph in ipairs(flow.graphs) do n = n + graph.threads end
  if n > 1 then
    say(("pthread_t thread[%d];"):format(n - 1))
    say "size_t n = 0, joined = 0;"
  end
  for g, graph in ipairs(flow.graphs) do
    local threads = graph.threads - (g == 1 and 1 or 0)
    if threads > 0 then
      say(("for (int i = 0; i < %d; i++) n += pthread_create(&thread[n], NULL, flow_%d, NULL) == 0;"):format(threads, g))
    end
  end
  if n > 0 then say "(void)flow_1(NULL);" end
  if n > 1 then
    say "for (; joined < n; joined++) (void)pthread_join(thread[joined], NULL);"
    say(("return n == %d ? 0 : 1;"):format(n - 1))
  else
    say "return 0;"
  end
  out[#out + 1] = "}\n"
  return table.concat(out, "\n")
end

--- Without threads that found no room for their first call.
local function with_calls(flow)
  local graphs = {}
  for _, graph in ipairs(flow.graphs) do
    if #graph.edges > 0 then graphs[#graphs + 1] = graph end
  end
  return { graphs = graphs }
end

---@param options { title?: string }
function M.source(flow, options)
  flow = with_calls(flow)
  local ids, order = identifiers(flow)
  local out = { ("/* %s: a program with this event flow, written by pmlua %s. */"):format(comment(options.title or "skeleton"),
    core.version), HEAD }
  for _, name in ipairs(order) do
    out[#out + 1] = ("static void enter_%s(void) { START(%s); }"):format(ids[name], escaped(name))
    out[#out + 1] = ("static void leave_%s(void) { STOP(%s); }"):format(ids[name], escaped(name))
  end
  out[#out + 1] = "\n" .. RUNTIME
  for g, graph in ipairs(flow.graphs) do out[#out + 1] = graph_function(g, graph, ids) end
  out[#out + 1] = main_function(flow)
  return table.concat(out, "\n")
end

return M
