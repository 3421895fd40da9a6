-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/live_bounds_spec.lua - tests of a time limit on questions, by one question for each function of the sandbox that would
-- run for minutes or hours: each question gets an answer, and the application, its rules and other clients are not held up.

local support = require "spec.core.support"
local quote = support.quote
local it = support.it

local application = support.build .. "/spec/compat_application"
local PATIENCE_S = 120 -- an answer takes 5 s; an unlimited question takes longer than this

-- Text before a question: values that are costly to work on.
local before = {
  long = "local long = ('x'):rep(4e6) local a, b = long .. 'a', long .. 'b' ",
  list = "local list = {} for i = 1, 500000 do list[i] = i end ",
  -- all collide in the hash table's next size, 2^18, and none in the size before it
  collide = "local function collide() local t = {} for k = 1, 140000 do t[k * 262143] = k end return t end ",
  chain = "local m, k = setmetatable({}, { __mode = 'k' }), {} local first = k for i = 1, 160000 do "
    .. "local x = {} m[k] = x k = x end k = nil ",
}

local questions = {
  ["table.sort of long strings"] = before.long
    .. "local t = {} for i = 1, 400000 do t[i] = i % 2 == 0 and a or b end table.sort(t)",
  ["table.sort, again and again"] = before.list .. "while true do table.sort(list) end",
  ["table.sort with a comparison"] = before.list .. "table.sort(list, function() while true do end end)",
  ["table.concat"] = before.list .. "while true do local s = table.concat(list) end",
  ["table.unpack and table.pack"] =
    "local t = {} for i = 1, 200000 do t[i] = i end while true do table.pack(table.unpack(t)) end",
  ["table.insert at the front"] = before.list .. "while true do table.insert(list, 1, 0) table.remove(list, 1) end",
  ["table.move"] = before.list .. "while true do table.move(list, 1, 500000, 2) end",
  ["string.find with a long set"] =
    "local s, p = ('x'):rep(79000), '[' .. ('ab'):rep(39000) .. ']y' while true do pcall(s.find, s, p) end",
  ["string.match with many turns"] =
    "local s = ('a'):rep(400) while true do pcall(s.match, s, 'a-a-a-a-b') pcall(s.match, s, 'a-a-b') end",
  ["string.gmatch"] = "local s = ('a'):rep(9000) while true do for _ in s:gmatch 'a-b' do end end",
  ["string.gsub"] = "local s = ('a'):rep(9000) while true do s:gsub('a-b', '') end",
  ["string.find, plain"] = "local s, p = ('a'):rep(9000), ('a'):rep(4000) .. 'b' while true do s:find(p, 1, true) end",
  ["string.find with %b, %f and %1"] =
    "local s = ('('):rep(9000) while true do s:find '%b()' s:find '%f[x]' pcall(s.find, s, '(.-)%1x') end",
  ["string.rep, reverse, upper and byte"] = "while true do local s = ('x'):rep(8e6):reverse():upper() s:byte(-1) end",
  ["string.format"] = "local s = ('x'):rep(4e6) while true do local t = ('%s%99.99f'):format(s, 1e300) end",
  ["joining strings"] = "local s = ('x'):rep(8e6) while true do local t = s .. 'x' .. 'y' end",
  ["comparing strings"] = before.long .. "while true do local x = a < b, a <= b, a == b end",
  ["numbers in strings"] = "local s = ('1'):rep(8e6) while true do local x = s + 0 tonumber(s) end",
  ["utf8"] = "local s = ('é'):rep(2e6) while true do utf8.len(s) utf8.offset(s, -1, -1) for _ in utf8.codes(s) do end end",
  ["load of labels"] = [[local p = {} for i = 1, 30000 do p[i] = ('::a%x:: x=1 '):format(i) end
    local s = ('do ' .. table.concat(p) .. ' end '):rep(20) while true do load(s) end]],
  ["load of conditions"] = "local s = 'return ' .. ('a or '):rep(12000) .. 'a' while true do load(s) end",
  ["next on a table that was emptied"] = before.list .. "for i = 1, 500000 do list[i] = nil end while true do next(list) end",
  ["keys that collide"] = before.collide .. "while true do collide() end",
  ["weak keys in a chain"] = before.chain .. "while true do local s = ('x'):rep(1e5) .. #m end",
  ["coroutines"] = before.long .. "while true do coroutine.wrap(function() return a < b end)() end",
  ["a __close, a __gc, a __lt and a __tostring"] = [[
    local m = { __lt = function() while true do end end, __tostring = function() while true do end end,
      __close = function() while true do end end }
    pcall(setmetatable, {}, { __gc = function() while true do end end })
    local v = setmetatable({}, m) pcall(tostring, v) pcall(table.sort, { v, v, v }) local x <close> = v]],
  ["goto"] = "::again:: goto again",
  ["select of many values"] =
    "local t = {} for i = 1, 200000 do t[i] = i end while true do select('#', table.unpack(t)) end",
  ["collectgarbage"] = before.list
    .. "while true do pcall(collectgarbage) pcall(collectgarbage, 'step') collectgarbage 'count' end",
  ["a profile of calls"] = "while true do local p = pml.profile.open() p:nodes() p:stats() p:close() end",
  ["events, by pattern"] = "while true do pml.sde.list() pml.sde.find 'SOLVER::residual':open():values(1, 20) end",
}

local PLACES = 12 -- fewer than the 16 connections that a service accepts

describe("A question that would take long", function()
  local dir, path

  before_each(function()
    dir = support.folder()
    support.spit(dir .. "/rules.lua", [[
      local pml = require "pmlua"
      pml.sde.watch("SOLVER::steps", "10ms", function() print "rule" end)]])
    os.execute(("cd %s && XDG_RUNTIME_DIR=%s timeout 600 %s/pmlua live --name SOLVER --rules rules.lua -- %s 600 "
      .. ">out 2>&1 &"):format(quote(dir), quote(dir), support.build, application))
    path = support.wait_for_socket(dir)
  end)
  after_each(function() os.execute("kill " .. path:match "(%d+)%.SOLVER$") end)

  local function ticks() return select(2, support.slurp(dir .. "/out"):gsub("rule", "")) end

  --- Ask these at once; every one is answered.
  local function ask(names)
    local links, count = {}, ticks()
    for i, name in ipairs(names) do
      links[i] = assert(support.core.link.connect(path))
      assert(links[i]:send("eval", questions[name], PATIENCE_S))
    end
    local reader <close> = assert(support.core.link.connect(path))
    local text, err = reader:ask("values", "0\nSOLVER::steps", PATIENCE_S)
    assert.is_truthy(text, tostring(err))
    for i, name in ipairs(names) do
      local answer, why, code = links[i]:receive(PATIENCE_S)
      assert.is_truthy(answer or code == "EREMOTEIO", ("%s: %s"):format(name, tostring(why)))
      local again, refused, how = links[i]:ask("eval", "1 + 1", PATIENCE_S)
      assert.is_truthy(again == "2" or how == "EREMOTEIO" and tostring(refused):find "stopped",
        ("%s: %s"):format(name, tostring(refused)))
      links[i]:close()
    end
    assert.is_true(ticks() > count, "no rule ran meanwhile")
  end

  local names = {}
  for name in pairs(questions) do names[#names + 1] = name end
  table.sort(names)
  for first = 1, #names, PLACES do
    local batch = table.move(names, first, math.min(first + PLACES - 1, #names), 1, {})
    it("ends without harm to others: " .. table.concat(batch, "; "), function() ask(batch) end)
  end

  it("covers every function of the sandbox", function()
    local covered = {}
    for _, code in pairs(questions) do
      for word in code:gmatch "[%a_][%w_]*" do covered[word] = true end
    end
    -- these do a bounded amount of work on numbers, one value or one entry
    for word in ("abs acos asin assert atan ceil char charpattern clock close codepoint cos create date deg difftime error exp "
      .. "floor fmod getmetatable huge ipairs isyieldable live log lower max maxinteger min mininteger modf pairs pi print rad "
      .. "random require rawequal rawget rawlen rawset resume running sin sqrt status sub tan time tointeger type ult version "
      .. "write xpcall yield math os section info call functions stop_run watch report ticks ticks_ordered ns to_ns at_ns "
      .. "realtime_ns _VERSION"):gmatch "%S+" do covered[word] = true end
    local missing = {}
    local function look(t)
      for name, value in pairs(t) do
        if name ~= "_G" and not covered[name] and type(value) ~= "table" then missing[#missing + 1] = name end
        if name ~= "_G" and type(value) == "table" then look(value) end
      end
    end
    look(require "pmlua.internal.live.sandbox".new(print))
    assert.same({}, missing)
  end)
end)
