-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_fork_spec.lua - each process reports its own counts, and the destructors of a thread's keys count for it.

local support = require "spec.core.support"
local countfile = require "pmlua.countfile"
local counting = require "spec.lua.counting"

local it, quote = counting.it, support.quote

-- 7 multiplications, the child 5, its child 3
local family = [[
#include <sys/wait.h>
#include <unistd.h>
static volatile double x = 1;
static void work(int n) { for (int i = 0; i < n; i++) x = x * 1.5; }
int main(void) {
  work(7);
  if (fork() == 0) {
    work(5);
    if (fork() == 0) { work(3); return 0; }
  }
  while (wait(NULL) > 0) {}
  return 0;
}
]]

-- 3 multiplications in each of 10 threads: one by the thread, one by a destructor, one by the destructor this one registers
local keys = [[
#include <pthread.h>
#include <stddef.h>
static volatile double x = 1;
static pthread_key_t key;
static void *work(void *rounds) { x = x * 1.5; pthread_setspecific(key, rounds); return NULL; }
static void end(void *rounds) { x = x * 1.5; if (rounds == &key) pthread_setspecific(key, (char *)rounds + 1); }
int main(void) {
  pthread_key_create(&key, end);
  for (int i = 0; i < 10; i++) {
    pthread_t t;
    pthread_create(&t, NULL, work, &key);
    pthread_join(t, NULL);
  }
  return 0;
}
]]

--- Run a program: the operations of each of its processes, by its file.
local function kept(dir)
  assert.equal(0, (support.shell(("cd %s && PMLUA_COUNT=counts ./program"):format(quote(dir)))))
  local list = {}
  for i, p in ipairs(assert(countfile.read_all(dir .. "/counts")).processes) do list[i] = p.events.flop_count_I end
  table.sort(list)
  return list
end

describe("counts of a process", function()
  it("are its own, not its parent's, in its report and in its file", function()
    for _, at in ipairs { "source", "final" } do
      local program, dir = counting.build({ ["family.c"] = family }, { at = at })
      local _, _, _, all = counting.run(program)
      local told = {}
      for i, c in ipairs(all) do told[i] = c.fp_mul_double end
      assert.same({ 3, 5, 7 }, told, at) -- as they end
      assert.same({ 3, 5, 7 }, kept(dir), at)
      local csv = support.done(support.shell(("%s report %s --csv"):format(quote(support.build .. "/pmlua"),
        quote(dir .. "/counts"))))
      local reported = {}
      for n in csv:gmatch("flop_count_I,(%d+),compiler," .. at .. ",no\n") do reported[#reported + 1] = tonumber(n) end
      table.sort(reported)
      assert.same({ 3, 5, 7 }, reported)
    end
  end)

  it("are counted at source and at final if its processes were compiled so, and 0 for other processes", function()
    local source = counting.build({ ["f.c"] = family }, { at = "source" })
    local final = counting.build({ ["f.c"] = family }, { at = "final" })
    local dir = support.folder()
    for name, order in pairs { one = { source, final }, other = { final, source } } do
      local line = ("cd %s && export PMLUA_COUNT=%s && %s && %s"):format(quote(dir), name, quote(order[1]), quote(order[2]))
      assert.equal(0, (support.shell(line)))
      assert.equal("mixed", assert(countfile.read_all(dir .. "/" .. name)).at)
    end
    local stat = ("%s stat -e sde:::BYFL::fp_div_double -- %s"):format(quote(support.build .. "/pmlua"), quote(final))
    local _, _, err = support.shell(stat)
    assert.matches("\nsde:::BYFL::fp_div_double +0 +compiler, at final\n", err)
  end)

  it("have the counts of a thread's last destructors, in memory of its own", function()
    local program = counting.build { ["keys.c"] = keys }
    local _, err = support.done(support.shell("PMLUA_COUNT=- " .. quote(program)))
    assert.matches("\n +30  fp_mul_double ", err)
    assert.falsy(err:find("shared their cells", 1, true), err)
  end)
end)
