-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_programs_spec.lua - tests of pmlua record on well-known programs: output and exit status are the same as
-- without it, and calls of each are recorded.
--
-- Slow: runs dozens of large programs three times each.

local support = require "spec.core.support"
local calls = require "pmlua.internal.record.functions"

local command = support.build .. "/pmlua"
local root = require("lfs").currentdir()
local dir = support.folder()
local shell = support.shell_of(dir, 200)

--- Replace numbers that differ from run to run.
local function without_times(text)
  return (text:gsub("[%d.:]+ ?sec%a*", "TIME"):gsub("%d+:%d+:%d+", "TIME"):gsub("load avg: [%d.]+", "load")
    :gsub("%d+ ms", "TIME"):gsub("cpython%-%d+", "cpython"):gsub("Total duration: [^\n]*", ""))
end

local repository = [[
rm -rf repo && git init -q repo && cd repo && git config user.name a && git config user.email a@b &&
export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z &&
for i in 1 2 3 4 5 6 7 8 9; do seq 1 ${i}000 >numbers && git add numbers && git commit -q -m "numbers to $i" || exit 1; done]]

local script = [[
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
  insert into t select i, 'row ' || i, i * 0.5 from n;
create index by_c on t(c);
select count(*), sum(c), max(b) from t where c > 100;
select a, b from t order by c desc limit 5;
begin; delete from t where a % 3 = 0; rollback; update t set b = upper(b) where a < 4;
select group_concat(b) from t where a < 6; pragma integrity_check;]]

local source = [[
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char text[16]; };
int main(void) {
  struct node *all = NULL;
  for (int i = 0; i < 10; i++) {
    struct node *n = malloc(sizeof *n);
    snprintf(n->text, sizeof n->text, "%d", i * i);
    n->next = all;
    all = n;
  }
  for (; all != NULL; all = all->next) puts(all->text);
  return 4;
}
]]

--- For each program: its requirement, its preparation, its command, the options of the recording, its first lines.
local programs = {
  ["python3 with its own tests of json and threading"] = {
    needs = "/usr/bin/python3 -c 'import test.test_json, test.test_threading'",
    missing = "python3's tests are not installed", line = "/usr/bin/python3 -m test test_json test_threading" },
  ["git log"] = { needs = "command -v git", ready = repository, line = "git -C repo log --stat", options = "--trace" },
  ["git gc"] = { needs = "command -v git", ready = repository, line = "sh -c 'git -C repo gc -q && git -C repo fsck --full'" },
  ["sqlite3 with a script"] = { needs = "command -v sqlite3", line = "sqlite3 -batch :memory: <script.sql", options = "--trace" },
  ["gcc, and what it compiled"] = { needs = "command -v gcc", line = "sh -c 'gcc -O2 program.c -o program && ./program'" },
  ["gnuplot"] = { needs = "command -v gnuplot",
    line = [[gnuplot -e 'set term svg; set output; set samples 500; splot sin(x) * cos(y); plot [0:9] besj0(x)']] },
  ["node"] = { needs = "command -v node",
    line = [[node -e 'const z = require("zlib"); const s = "abc".repeat(999);
      console.log(z.inflateSync(z.deflateSync(s)).toString() === s, JSON.stringify({ a: [1, 2.5] }), /b+/.exec("abbb")[0])']] },
  ["busted with a spec of ours"] = { needs = "command -v busted",
    line = ("sh -c 'cd %s && busted --lua=/usr/bin/lua5.4 spec/lua/stats_spec.lua'"):format(root) },
}

describe("pmlua record leaves alone", function()
  setup(function()
    support.spit(dir .. "/script.sql", script)
    support.spit(dir .. "/program.c", source)
  end)

  local number = 0
  for name, p in pairs(programs) do
    it(name, function()
      if support.shell(p.needs) ~= 0 then return pending(p.missing or p.needs:match("%S+$") .. " is not installed") end
      number = number + 1
      local folder = "r" .. number
      local function run(before)
        if p.ready then assert.equal(0, (shell(p.ready))) end
        return shell(before .. p.line)
      end
      local status, out, err = run("")
      local recorded_status, recorded_out, recorded_err = run(("%s record %s -o %s -- "):format(command, p.options or "", folder))
      assert.same({ status, without_times(out) }, { recorded_status, without_times(recorded_out) })
      local said = without_times(recorded_err)
      assert.equal(without_times(err), said:sub(1, #without_times(err)))
      local recorded = assert(calls.read(dir .. "/" .. folder))
      assert.is_true(#recorded.functions > 0, recorded_err)
      if not p.options then return end
      assert.equal(0, (shell(("test -s %s/traces.otf2"):format(folder))), recorded_err)
    end)
  end
end)
