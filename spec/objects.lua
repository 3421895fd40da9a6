-- SPDX-License-Identifier: BSD-3-Clause
-- spec/objects.lua - check for circles between the objects of core, and for writers that need readers, from their symbols; run by
-- `make layers`.
-- Try: lua5.4 spec/objects.lua why
--
-- An object needs another whose symbol it refers to. No circle may lead through several folders, and within a folder none
-- through more than MANY objects. `why` prints the symbols that close each circle. Another argument is a folder of objects
-- to check instead, so that the specs can show a circle being found.

package.path = "spec/?.lua;" .. package.path
local shell = require "shell"

local MANY <const> = 4

local why = arg[1] == "why"
local given = not why and arg[1]
local root = given or (os.getenv "PMLUA_BUILD" or "build") .. "/obj"

--- The folder of an object; code for one cpu belongs to the folder above.
local function folder_of(name) return name:gsub("/x86_64/", "/"):gsub("/aarch64/", "/"):match "^(.*)/" or "." end

--- A build folder may hold objects of removed sources.
local function is_of_now(name)
  if given then return true end
  for _, kind in ipairs { ".c", ".S" } do
    local f <close> = io.open("core/" .. name .. kind)
    if f then return true end
  end
  return false
end

--- The symbols that each object defines and needs, by the place of its source in core. Preloaded objects replace functions of the
--- C library and of pmlua; they are above all other objects, and excluded.
local function read()
  local objects = {}
  local under = given and "" or " -path '*/core/*' -not -path '*/core/preload/*'"
  local out = shell.sh(('find "%s" -name "*.o"%s | LC_ALL=C sort | xargs -r nm -A -P 2>/dev/null'):format(root, under))
  for file, symbol, kind in out:gmatch "([^\n]-)%.o: (%S+) (%a)[^\n]*" do
    local name = given and file:sub(#root + 2) or file:match "/core/(.*)$"
    local o = objects[name] or { defines = {}, needs = {}, now = is_of_now(name) }
    objects[name] = o
    if kind == "U" or kind == "w" or kind == "v" then o.needs[symbol] = true
    elseif kind:find "%u" then o.defines[symbol] = true end
  end
  for name, o in pairs(objects) do
    if not o.now then objects[name] = nil end
  end
  return objects
end

--- Graphs of who needs whom, each a table NODE -> NEEDED -> lines that say by which symbols: of the folders, and of the
--- objects within each folder.
local function graphs(objects)
  local definer, folders, within = {}, {}, {}
  for name, o in pairs(objects) do
    local folder = folder_of(name)
    folders[folder], within[folder] = folders[folder] or {}, within[folder] or {}
    within[folder][name] = {}
    -- Other names are of functions that stand in for the C library's, such as syscall: no object of core needs those.
    for symbol in pairs(o.defines) do
      if symbol:find "pml" then definer[symbol] = name end
    end
  end
  local function note(graph, from, to, line)
    graph[from][to] = graph[from][to] or {}
    table.insert(graph[from][to], line)
  end
  for name, o in pairs(objects) do
    for symbol in pairs(o.needs) do
      local other = definer[symbol]
      if other and other ~= name then
        local from, to, line = folder_of(name), folder_of(other), ("%s -> %s: %s"):format(name, other, symbol)
        if from == to then note(within[from], name, other, line) else note(folders, from, to, line) end
      end
    end
  end
  return folders, within
end

--- The circles of a graph: its strongly connected parts of more than one node, each sorted (Tarjan's algorithm).
local function circles(graph)
  local index, low, on, stack, n, found = {}, {}, {}, {}, 0, {}
  local function visit(v)
    n = n + 1
    index[v], low[v] = n, n
    stack[#stack + 1], on[v] = v, true
    for w in pairs(graph[v]) do
      if not index[w] then visit(w) end
      if on[w] then low[v] = math.min(low[v], low[w]) end
    end
    if low[v] < index[v] then return end
    local circle = {}
    repeat
      local w = table.remove(stack)
      on[w], circle[#circle + 1] = nil, w
    until w == v
    table.sort(circle)
    if #circle > 1 then found[#found + 1] = circle end
  end
  for v in pairs(graph) do
    if not index[v] then visit(v) end
  end
  table.sort(found, function(a, b) return a[1] < b[1] end)
  return found
end

local function explain(graph, circle)
  local inside, lines = {}, {}
  for _, v in ipairs(circle) do inside[v] = true end
  for _, v in ipairs(circle) do
    for w, list in pairs(graph[v]) do
      if inside[w] then table.move(list, 1, #list, #lines + 1, lines) end
    end
  end
  table.sort(lines)
  for _, line in ipairs(lines) do print("  " .. line) end
end

local failed = false

--- libpmlua.so does not contain core/read. PMlib loads it (core/core.mk).
local function judge_wings(folders)
  for from, needs in pairs(folders) do
    for to, lines in pairs(needs) do
      if to:find "^read/" and not from:find "^read/" and from ~= "compat/pmlib" then
        failed = true
        print("what writes needs what reads: " .. table.concat(lines, "; "))
      end
    end
  end
end

local function judge(graph, what)
  for _, circle in ipairs(circles(graph)) do
    if what == "folders" or #circle > MANY then
      failed = true
      print(("a circle of %d %s: %s"):format(#circle, what, table.concat(circle, " ")))
    end
    if why then
      print(("%d %s: %s"):format(#circle, what, table.concat(circle, " ")))
      explain(graph, circle)
    end
  end
end

local objects = read()
if not next(objects) then
  print("objects: none below " .. root .. "; run make")
  os.exit(1)
end
local folders, within = graphs(objects)
judge(folders, "folders")
judge_wings(folders)
for _, graph in pairs(within) do judge(graph, "objects") end
os.exit(not failed)
