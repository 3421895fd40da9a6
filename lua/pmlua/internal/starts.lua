-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/starts.lua - what pmlua new writes: an experiment, and a workload in C with the experiment that runs it.
--
-- Try:  for name in pairs(require "pmlua.internal.starts".workload "mine") do print(name) end

local M = {}

local EXPERIMENT = [[
-- @NAME@.lua - the cost of making a string of n bytes in two ways. Try: pmlua @NAME@.lua --quick
--
-- Replace ways, factors and measure by your own. pmlua help api pmlua.Definition explains each field.
local pml = require "pmlua"

local ways = {
  rep = function(n) return ("x"):rep(n) end,
  concat = function(n)
    local parts = {}
    for i = 1, n do parts[i] = "x" end
    return table.concat(parts)
  end,
}

return pml.experiment {
  name = "@NAME@",
  description = "time to make a string",
  factors = { bytes = { 16, 256, 4096 }, way = { "rep", "concat" } }, -- every combination is measured
  units = { bytes = "B" },
  repeats = 2000, -- samples of each combination
  measure = function(_, p) -- one sample, here in ticks of the clock; tables and figures have nanoseconds
    local begin = pml.clock.ticks_ordered()
    ways[p.way](p.bytes)
    return pml.clock.ticks_ordered() - begin
  end,
  plot = { x = "bytes", lines = "way", logx = true, logy = true },
}
]]

local WORKLOAD_C = [[
/* @NAME@.c - a workload for pmlua: the sum of n numbers. Replace kernel() by your own code. Try: make run */
#include <adapter/pml_workload.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { N }; /* options, in the order of pml_workload.option */

static double kernel(const double *v, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += v[i];
  return sum;
}

/* Take samples, one per call of kernel(), until the series is full. Free everything allocated here. */
static int run(struct pml_workload_run *r) {
  struct pml_samples *series = r->probe[0].samples;
  size_t n = (size_t)r->number[N];
  double *v = calloc(n, sizeof *v), sum = 0;
  if (v == NULL) {
    snprintf(r->error, sizeof r->error, "no memory for %zu numbers", n);
    return -ENOMEM;
  }
  for (size_t i = 0; i < n; i++) v[i] = (double)i;
  while (series->n < series->capacity && !(r->stop && *r->stop)) {
    uint64_t begin = pml_clock_ticks_ordered();
    sum = kernel(v, n);
    series->value[series->n++] = pml_clock_ticks_ordered() - begin;
  }
  free(v);
  r->result[r->nresults++] = (struct pml_workload_result){"sum", "", sum};
  return r->stop && *r->stop ? -EINTR : 0;
}

extern const struct pml_workload pml_workload;
const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "@NAME@",
    .help = "the sum of n numbers",
    .site = {"kernel"}, /* places with samples of their own */
    .option = {[N] = {"n", "number of numbers", 1000, NULL}},
    .run = run,
};
]]

local WORKLOAD_LUA = [[
-- @NAME@.lua - the experiment that runs @NAME@.c. Try: make run
local pml = require "pmlua"

local here = (arg and arg[0] or ""):match "^(.*/)" or "./"
local workload = assert(pml.workload.load(here .. "@NAME@.so"))

return pml.experiment {
  name = "@NAME@",
  description = workload.help,
  factors = { n = { 100, 1000, 10000, 100000 } },
  repeats = 1000,
  measure = function(_, p, n) -- n samples at once, in ticks of the clock
    local samples = pml.samples.new(n)
    assert(workload:run { operation = "empty", samples = { samples }, options = { n = p.n } })
    return samples
  end,
  plot = { x = "n", logx = true, logy = true },
}
]]

local MAKEFILE = [[
# Made by pmlua new workload.
PMLUA ?= @COMMAND@
INCLUDE ?= @INCLUDE@
LIBRARY ?= @LIBRARY@
CFLAGS ?= -O2 -g -Wall -Wextra

.PHONY: all run clean
all: @NAME@.so
@NAME@.so: @NAME@.c
	$(CC) -std=gnu11 $(CFLAGS) -fPIC -shared -I'$(INCLUDE)' $< -L'$(LIBRARY)' -Wl,-rpath,'$(LIBRARY)' -lpmlua -lm -o $@
run: all
	'$(PMLUA)' @NAME@.lua $(ARGS)
clean:
	rm -f @NAME@.so
]]

local function fill(text, values)
  return (text:gsub("@(%u+)@", values))
end

--- The text of each file, by its name.
---@return table<string, string>
function M.experiment(name)
  return { [name .. ".lua"] = fill(EXPERIMENT, { NAME = name }) }
end

--- The same for a workload's folder; nil and the reason why workloads cannot be compiled.
---@return table<string, string>?, string? err
function M.workload(name)
  local paths = require "pmlua.internal.wrap.paths"
  local library, no_library = paths.library()
  local include, no_include = paths.include()
  if not (library and include) then return nil, no_library or no_include end
  local values = { NAME = name, LIBRARY = library, INCLUDE = include, COMMAND = require "pmlua".paths.command or "pmlua" }
  local files = {}
  for suffix, text in pairs { [name .. ".c"] = WORKLOAD_C, [name .. ".lua"] = WORKLOAD_LUA, Makefile = MAKEFILE } do
    files[name .. "/" .. suffix] = fill(text, values)
  end
  return files
end

return M
