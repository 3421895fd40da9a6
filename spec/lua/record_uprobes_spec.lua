-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_uprobes_spec.lua - pmlua record counts as many calls of each function as the kernel's uprobes do, in well-known
-- programs; or it names the function as one of which calls may be missing.
--
-- Slow: runs each program up to four times, with a probe at each function.
--
-- A uprobe also counts direct calls inside the library: these call instructions also have probes, and their counts are
-- subtracted.

local support = require "spec.core.support"
local json = require "pmlua.json"

local command = require("pmlua.core").sys.realpath(support.build) .. "/pmlua"
local traced = "unshare -m sh -c 'test -d /sys/kernel/tracing/events || mount -t tracefs nodev /sys/kernel/tracing || exit 99; "
  .. "%s stat --json --out counts.json %s -- sh ./line'"

local repository = "git init -q repo && cd repo && git config user.name a && git config user.email a@b && seq 1 9000 >numbers &&"
  .. "git add numbers && git commit -q -m numbers"

--- For each program: its library, its command line, its file if that is not the first word, its preparation.
local programs = {
  xz = { library = "liblzma.so.5", line = "xz -c -k numbers" },
  bzip2 = { library = "libbz2.so.1.0", line = "bzip2 -c -k numbers" },
  git = { library = "libz.so.1", line = "git -C repo log -p", ready = repository },
  ["git grep"] = { library = "libpcre2-8.so.0", line = "git -C repo grep -P '(\\d)\\1{2}$'", ready = repository },
  gpg = { library = "libgcrypt.so.20", line = "gpg --homedir . --batch --no-options --print-md sha256 numbers" },
  curl = { library = "libcurl.so.4", line = "curl -s file://$PWD/numbers" },
  python3 = { library = "libz.so.1", program = "/usr/bin/python3", line = "/usr/bin/python3 -I -S -c '" .. [[
import zlib
text = bytes(range(256)) * 99
for level in range(10): assert zlib.decompress(zlib.compress(text, level)) == text
print(zlib.crc32(text), zlib.adler32(text))']] },
  perl = { library = "libcrypt.so.1", line = [[perl -e 'print crypt("word", "\$6\$salt\$"), "\n" for 1 .. 2']] },
  dot = { library = "libcgraph.so.6", line = "dot -Tplain graph" },
  gnuplot = { library = "libgd.so.3", line = [[gnuplot -e 'set term png; set output "/dev/null"; plot sin(x)']] },
  file = { library = "libmagic.so.1", line = "file numbers graph line" },
}

--- The functions that a library exports, by name and by address; nil for a name of another kind.
local function exported(library)
  local _, out = support.shell("nm -D --defined-only " .. library)
  local at, names = {}, {}
  for address, kind, name in out:gmatch "(%x+) (%a) ([^@\n]+)" do
    address = tonumber(address, 16)
    if kind == "T" and not at[name] then
      at[name], names[address] = address, names[address] or {}
      table.insert(names[address], name)
    end
  end
  return at, names
end

--- Where code of the library calls an address directly, and whether all of these calls are made where they are reached.
local function direct_calls(library)
  local _, headers = support.shell("objdump -h -j .text " .. library)
  local vma, offset = headers:match "%.text%s+%x+%s+(%x+)%s+%x+%s+(%x+)"
  local _, code = support.shell("objdump -d --no-show-raw-insn -j .text " .. library)
  local sites, certain = {}, {}
  for at, jump, to in code:gmatch "\n *(%x+):%s+[notrackbd ]-(%l+) +(%x+) <" do
    at, to = tonumber(at, 16) - tonumber(vma, 16) + tonumber(offset, 16), tonumber(to, 16)
    sites[to] = sites[to] or {}
    table.insert(sites[to], ("0x%x"):format(at))
    if jump ~= "call" and jump ~= "jmp" then certain[to] = false end
  end
  return sites, certain
end

describe("pmlua record and uprobes agree on", function()
  local dir = support.folder()
  local shell = support.shell_of(dir, 200)

  --- How often each place of the library was reached while the line ran; nil and why it is not known.
  local function reached(library, places)
    local events = {}
    for _, place in ipairs(places) do events[#events + 1] = ("-e uprobe:%s:%s"):format(library, place) end
    local status, _, err = shell(traced:format(command, table.concat(events, " ")))
    if status == 99 or err:find "unshare:" then return nil, "no tracefs can be mounted here" end
    if err:find "only privileged processes" or err:find "no uprobe PMU" then return nil, "no probe may be set here" end
    local n = {}
    for _, row in ipairs(json.decode(support.slurp(dir .. "/counts.json")).counts) do
      local place = row.event:match "^uprobe:.*:(.*)$"
      if place then n[place] = math.tointeger(row.value) end
    end
    return n
  end

  --- The calls of each function of the library that were recorded, and the functions that were named.
  local function recorded(soname)
    local out = support.done(shell(("rm -rf r; %s record --json -o r --lib '%s*' -- sh ./line"):format(command,
      soname:match "^[^.]+")))
    local all, calls, named = json.decode(out), {}, {}
    for _, f in ipairs(all.functions) do calls[f.name] = (calls[f.name] or 0) + f.calls end
    for _, process in ipairs(all.processes) do
      for _, f in ipairs(process.left_functions or {}) do named[f.name] = f.missing end
    end
    return calls, named
  end

  setup(function()
    support.spit(dir .. "/graph", "digraph { a -> { b c d } -> e; b -> c [label=x] }")
    assert.equal(0, (shell "seq 1 9000 >numbers"))
  end)

  for name, p in pairs(programs) do
    it(("the calls of %s that %s makes"):format(p.library, name), function()
      local tool = p.program or p.line:match "%S+"
      local library = support.library(p.library)
      if not (support.has(tool) and library) then return pending(tool .. " with " .. p.library .. " is not installed") end
      if p.ready and shell "test -d repo" ~= 0 then assert.equal(0, (shell(p.ready))) end
      library = assert(require("pmlua.core").sys.realpath(library))
      support.spit(dir .. "/line", "exec >/dev/null " .. p.line .. "\n")
      assert.equal(0, (shell "sh ./line")) -- the first run may make files that the others find
      local calls, named = recorded(p.library)

      local at, names = exported(library)
      local _, imported = shell(("f=$(readlink -f $(command -v %s)); nm -D --undefined-only $f $(ldd $f | grep -o '/[^ ]*')")
        :format(tool))
      local chosen, places = {}, {}
      local function choose(symbol)
        local address = at[symbol]
        if address and not chosen[address] then
          chosen[address], places[#places + 1] = symbol, symbol
        end
      end
      for symbol in imported:gmatch " U ([^@\n]+)" do choose(symbol) end
      for symbol in pairs(calls) do choose(symbol) end
      local n, why = reached(library, places)
      if not n then return pending(why) end

      --- The sum over all names of a function.
      local function sum(address)
        local all, is_named = 0, false
        for _, symbol in ipairs(names[address]) do
          all, is_named = all + (calls[symbol] or 0), is_named or named[symbol] ~= nil
        end
        return all, is_named
      end

      local sites, certain, more, differ, total = nil, nil, {}, {}, 0
      for address, symbol in pairs(chosen) do
        total = total + n[symbol]
        if sum(address) ~= n[symbol] then
          if not sites then sites, certain = direct_calls(library) end
          differ[address], more[#more + 1] = symbol, symbol
          table.move(sites[address] or {}, 1, #(sites[address] or {}), #more + 1, more)
        end
      end
      if #more > 0 then n = assert(reached(library, more)) end
      local wrong = {}
      for address, symbol in pairs(differ) do
        local have, is_named = sum(address)
        local inside = 0
        for _, site in ipairs(sites[address] or {}) do inside = inside + n[site] end
        local least = n[symbol] - inside
        local fits = have == least or (have <= n[symbol] and have >= least and certain[address] == false)
        if not fits and not (is_named and have < least) then
          wrong[symbol] = ("%d recorded; %d by uprobe, %d of them from inside"):format(have, n[symbol], inside)
        end
      end
      assert.same({}, wrong)
      assert.is_true(total > 0, "the program calls none of them")
    end)
  end
end)
