-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count/programs.lua - random C programs with known counts: each operation counts itself.
--
-- Loops of every kind, with exits inside and jumps into them, choices, recursion, longjmp. The operations use a volatile
-- variable, so that no optimiser changes their number. A supply of steps bounds the run.
--
-- Try:  print(require("spec.lua.count.programs").text(7))

local M = {}

local head = [[
#include <setjmp.h>
#include <stdio.h>
static volatile double x = 1;
static long adds, subs, muls, divs, steps = 4000;
static jmp_buf env;
static volatile int armed;
#define ADD (void)(x = x + 1.25, adds++);
#define SUB (void)(x = x - 0.75, subs++);
#define MUL (void)(x = x * 1.0625, muls++);
#define DIV (void)(x = x / 1.03125, divs++);
]]

local tail = [[
int main(void) {
  int sum = 0;
  for (int i = 0; i < 8 && steps > 0; i++) sum += f0(i);
  printf("%ld %ld %ld %ld %d %.17g\n", adds, subs, muls, divs, sum, x);
  return 0;
}
]]

local kinds = {}
local function statement(g, depth)
  if depth == 0 or g.left <= 0 then return g.pick { "ADD", "SUB", "MUL", "DIV", "a = (a * 7 + 3) & 63;" } end
  g.left = g.left - 1
  return g.pick(kinds)(g, depth - 1)
end

local function block(g, depth)
  local list = {}
  for i = 1, g.random(3) do list[i] = statement(g, depth) end
  return "{ " .. table.concat(list, " ") .. " }"
end

local function fresh(g)
  g.names = g.names + 1
  return g.names
end

kinds = {
  function(g, d) return ("if (a & %d) %s else %s"):format(1 << g.random(0, 5), block(g, d), block(g, d)) end,
  function(g, d) return ("if ((a & 3) == %d && steps > %d) %s"):format(g.random(0, 3), g.random(2000), block(g, d)) end,
  function(g, d)
    local i = fresh(g)
    return ("for (i%d = 0; i%d < %d && --steps > 0; i%d++) %s"):format(i, i, g.random(9), i, block(g, d))
  end,
  function(g, d)
    local i = fresh(g)
    return ("i%d = %d; while (i%d-- > 0) { %s if ((a + i%d) %% 5 == %d) break; %s if (a & 4) continue; %s }"):format(i,
      g.random(7), i, statement(g, d), i, g.random(0, 4), statement(g, d), statement(g, d))
  end,
  function(g, d)
    local i = fresh(g)
    return ("i%d = 0; do { %s } while (++i%d < %d || (a & 8 && i%d < 12));"):format(i, statement(g, d), i, g.random(6), i)
  end,
  function(g, d)
    return ("switch (a & 7) { case 0: %s break; case 1: %s case 2: case 5: %s break; case 6: %s default: %s }"):format(
      statement(g, d), statement(g, d), statement(g, d), statement(g, d), statement(g, d))
  end,
  function(g, d) -- two ways into a loop
    local i, l = fresh(g), fresh(g)
    return ("i%d = 0; if (a & 2) goto in%d; for (; i%d < %d; i%d++) { %s in%d:; %s }"):format(i, l, i, g.random(6), i,
      statement(g, d), l, statement(g, d))
  end,
  function(g, d) -- out of two loops at once
    local i, j, l = fresh(g), fresh(g), fresh(g)
    return ("for (i%d = 0; i%d < 5; i%d++) { for (j%d = 0; j%d < 5; j%d++) { %s if (i%d * j%d == %d) goto out%d; } %s } out%d:;")
      :format(i, i, i, j, j, j, statement(g, d), i, j, g.random(0, 12), l, statement(g, d), l)
  end,
  function(g) return ("a = (a + f%d(a + %d)) & 63;"):format(g.random(0, g.functions - 1), g.random(9)) end,
  function(g) return ("if ((a & 15) == %d) return a + 1;"):format(g.random(0, 15)) end,
  function(g)
    return ("if (!armed) { armed = 1; if (setjmp(env) == 0) f%d(a); armed = 0; }"):format(g.random(0, g.functions - 1))
  end,
  function(g) return ("if (armed && (a & 31) == %d) longjmp(env, 1);"):format(g.random(0, 31)) end,
}

--- The program of a seed, always the same.
---@param seed integer
---@return string
function M.text(seed)
  local state = seed * 2654435761 + 12345
  local g = { names = 0, functions = 3 + seed % 4 }
  function g.random(lo, hi)
    if not hi then lo, hi = 1, lo end
    state = (state * 6364136223846793005 + 1442695040888963407) & math.maxinteger
    return lo + (state >> 33) % (hi - lo + 1)
  end
  function g.pick(list) return list[g.random(#list)] end
  local parts = { head }
  for f = 0, g.functions - 1 do parts[#parts + 1] = ("static int f%d(int a);\n"):format(f) end
  for f = 0, g.functions - 1 do
    g.left, g.names = 14, 0
    local body, locals = {}, {}
    for i = 1, 4 do body[i] = "  " .. statement(g, 4) end
    for i = 1, g.names do locals[i] = ("i%d = 0, j%d = 0"):format(i, i) end
    if #locals == 0 then locals[1] = "i0 = 0" end
    parts[#parts + 1] = ("static int f%d(int a) {\n  int %s;\n  if (--steps < 0) return a;\n%s\n  return a;\n}\n"):format(f,
      table.concat(locals, ", "), table.concat(body, "\n"))
  end
  parts[#parts + 1] = tail
  return table.concat(parts)
end

return M
