-- SPDX-License-Identifier: BSD-3-Clause
-- spec/mutants_draw.lua - random mutants, spread evenly over core, bindings and lua, and the spec that catches each.
--
-- Usage: lua5.4 spec/mutants_draw.lua SEED COUNT [FOLDER...] [seconds=N] [alive=N] [map=FILE], after make all specs
--
-- Each mutant is one edit of one line: a comparison, a constant, a condition, an error code, an omitted statement. It is built in
-- a copy of the checkout, where specs run until one fails: those that contain rare words of the line, the name of its function,
-- or words of the file's name, C specs first. With map=FILE, which spec/coverage_map.lua writes, these are the specs that execute
-- the line, at most 12, cheap and likely ones first; a line that none executes is alive at once. Each mutant has a row on the
-- standard output: file, spec that caught it or "alive", text, replacement, between tabs. A mutant that is alive shows a gap in
-- the specs, or that the text makes no difference.
--
-- The selection of lines and of edits depends only on the seed, the file's name and the line's text: a change of other lines
-- leaves the sample unchanged. Mutants in spec/data/mutants_alive.tsv are known to live, each for a reason. After seconds=N no
-- more are drawn. At the end it counts passed (caught), failed (more than alive=N live without a known reason) and skipped (the
-- others that live, or were not reached).

package.path = "spec/?.lua;" .. package.path
local sh = require("tally").sh

local M = {}
local most_specs, most_mapped, spec_seconds = 10, 12, 60
local now = require("tally").now
local KNOWN <const> = "spec/data/mutants_alive.tsv" -- file, text, reason

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read "a"
end

local function write(path, text)
  os.remove(path)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

local function lines_of(command)
  local p <close> = assert(io.popen(command))
  local list = {}
  for line in p:lines() do list[#list + 1] = line end
  return list
end

--- Edits: a pattern and its replacement; the same for both languages, or for one of them.
local edits = {
  { " < ", " <= " }, { " <= ", " < " }, { " > ", " >= " }, { " >= ", " > " }, { " == ", { c = " != ", lua = " ~= " } },
  { " != ", " == ", of = "c" }, { " ~= ", " == ", of = "lua" }, { " && ", " || " }, { " || ", " && " },
  { " and ", " or ", of = "lua" }, { " or ", " and ", of = "lua" }, { " %+ ", " - " }, { " %- ", " + " }, { " %* ", " + " },
  { "%f[%w_.]0%f[^%w_.]", "1" }, { "%f[%w_.]1%f[^%w_.]", "2" }, { "%f[%w]true%f[%W]", "false" }, { "%f[%w]false%f[%W]", "true" },
  { "if %(", "if (!", of = "c", whole = "^%s*if %([^;]*%) [^{]*;$" }, { "^(%s*)if not ", "%1if ", of = "lua" },
  { "%-E%u+%f[%W]", "-EDOM", of = "c", unless = "ENOMEM" }, -- no spec takes the memory away
  { "PML_E_%u+%f[%W]", "PML_E_FORMAT", of = "c" },
  { "^(%s*)[%w_>.%[%]-]+ [-+|&]?= [^;{]*;$", "%1;", of = "c" }, { "^(%s*)[%l_]+%([^;{]*%);$", "%1;", of = "c" },
  { "^(%s*)[%w_.%[%]]+ = [^{}]*$", "%1", of = "lua" }, { "^(%s*)[%w_.:]+%([^{}]*%)$", "%1", of = "lua" },
}

--- The files that may be broken, each with its lines. Data, and annotations for editors, are excluded.
function M.files(folders)
  local list, sum = {}, 0
  for _, path in ipairs(lines_of("git ls-files " .. table.concat(folders, " "))) do
    local language = path:match "%.([ch])$" and "c" or path:match "%.lua$" and "lua"
    local data = path:match "^lua/pmlua/[gpem][a-z]*/" and not path:match "^lua/pmlua/plugins/" or path:match "/include/"
    if language and not data then
      local lines = {}
      for line in read(path):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
      sum = sum + #lines
      list[#list + 1] = { path = path, language = language, lines = lines, upto = sum }
    end
  end
  return list, sum
end

--- A number that the text and the seed make (FNV-1a).
local function hash(text)
  local h = 0xcbf29ce484222325
  for i = 1, #text do h = (h ~ text:byte(i)) * 0x100000001b3 end
  return h
end

--- All lines of the files, in the order in which they are drawn.
function M.order(files, seed)
  local list = {}
  for _, file in ipairs(files) do
    local start = hash(seed .. "\t" .. file.path)
    for at, line in ipairs(file.lines) do list[#list + 1] = { file = file, at = at, key = hash(start .. "\t" .. line) } end
  end
  table.sort(list, function(a, b)
    if a.key ~= b.key then return a.key < b.key end
    return a.file.path < b.file.path or a.file.path == b.file.path and a.at < b.at
  end)
  return list
end

--- Layout that the compiler checks: a difference there does not compile.
local function is_layout(line)
  return line:find "_Static_assert" or line:find "sizeof.*[%]<>=,]" and not line:find "[(=] *%l+%("
end

--- Whether "or equal" makes no difference, because the same line has excluded it: if x ~= y then return x < y end.
local function excludes_equal(code, e)
  local x, y = code:match "([%w_.>%[%]-]+) [~!]= ([%w_.>%[%]-]+)"
  return x and e[1]:find "^ [<>] $" and code:find(x .. e[1] .. y, 1, true)
end

--- One edit of a line that occurs once in its file: the line and what it becomes; nil where this line offers none.
function M.edit(file, at)
  local line = file.lines[at]
  if line:match "^%s*/?%*" or line:match "^%s*[-/#][-/%l]" or line:match "^%s*local function" then return nil end
  if file.language == "c" and is_layout(line) then return nil end
  local code = line:match "^(.-)%s*/[/*]" or line:match "^(.-)%s+%-%- " or line
  local text = table.concat(file.lines, "\n")
  local from, to = text:find(line, 1, true)
  if line == "" or not from or text:find(line, to + 1, true) then return nil end
  local before = text:sub(1, from) -- text of a long string is data
  if file.language == "lua" and (before:match "^.*()%[%[" or 0) > (before:match "^.*()%]%]" or 0) then return nil end
  local found = {}
  for _, e in ipairs(edits) do
    if (not e.of or e.of == file.language) and (not e.whole or code:find(e.whole))
      and not (e.unless and code:find(e.unless)) and not excludes_equal(code, e) then
      local with = type(e[2]) == "table" and e[2][file.language] or e[2]
      if not code:match '^[^"]*"[^"]*$' and code:gsub('"[^"]*"', ""):find(e[1]) then
        local n = select(2, code:gsub(e[1], "%0"))
        local k, seen = math.random(n), 0
        local changed = code:gsub(e[1], function(first)
          seen = seen + 1
          if seen ~= k then return nil end
          return (with:gsub("%%1", (first or ""):match "^%s*$" and first or ""))
        end)
        if changed ~= code then found[#found + 1] = changed end
      end
    end
  end
  if #found == 0 then return nil end
  return code, found[math.random(#found)]
end

--- All specs, with their texts, and how many have each word in their name.
local function all_specs()
  local list, with = {}, {}
  for _, path in ipairs(lines_of "ls spec/c/*.c spec/[!w]*/*_spec.lua") do
    local text = read(path)
    if not text:find("not a spec by itself", 1, true) then
      local name = path:match "spec/(.*)%.c$" or path:match "spec/(.*)_spec%.lua$"
      local slow = (text:match "^.-\n\n" or text):find "\n[-* ]+Slow: "
      local spec = { name = name, path = path, text = text, words = {}, tokens = {},
        weight = slow and 0.25 or path:find "%.c$" and 1.5 or text:find "mpirun" and 0.5 or text:find "compile" and 0.75 or 1,
        binary = path:match "%.c$" and name:gsub("^c/", "build/spec/") or nil }
      for token in text:gmatch "[%a_][%w_]+" do spec.tokens[token] = true end
      for word in spec.name:gsub("^%l+/", ""):gmatch "%l%l%l+" do
        spec.words[word], with[word] = true, (with[word] or 0) + 1
      end
      list[#list + 1] = spec
    end
  end
  return list, with
end

--- The words and quoted texts of a line, error codes on the next ones, and the name of the function around it: the specs that
--- contain each rare one.
local function specs_with(file, at)
  local names, found = {}, {}
  for word in file.lines[at]:gmatch "[%a_][%w_]+" do names[word] = #word > 4 or nil end
  for text in file.lines[at]:gmatch '"([^"%%]+)"' do names[text] = #text > 4 or nil end
  for code in table.concat(file.lines, "\n", at, math.min(at + 3, #file.lines)):gmatch "%-(E%u+)" do names[code] = true end
  for k = at, 1, -1 do
    local name = file.lines[k]:match(file.language == "c" and "^%l[^;=]-([%w_]+)%(" or "function [%w_]-[.:]?([%w_]+)%(")
    if name then names[name] = true break end
  end
  for name in pairs(names) do
    local list = {}
    for _, spec in ipairs(M.all) do
      if spec.tokens[name] or name:find "[^%w_]" and spec.text:find(name, 1, true) then list[#list + 1] = spec end
    end
    for _, spec in ipairs(#list <= 20 and list or {}) do found[spec] = (found[spec] or 0) + 20 / #list end
  end
  return found
end

--- Read a map of executed lines (spec/coverage_map.lua): by file, a list of specs with their seconds and ranges of lines.
function M.read_map(path)
  M.map, M.code = {}, {}
  for line in io.lines(path) do
    local name, seconds, file, text = line:match "^([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$"
    local ranges = {}
    for from, to in text:gmatch "(%d+)%-?(%d*)" do ranges[#ranges + 1] = { tonumber(from), tonumber(to) or tonumber(from) } end
    local list = M.map[file] or {}
    M.map[file] = list
    if name == "-" then M.code[file] = ranges end
    list[#list + 1] = name ~= "-" and { name = name, seconds = tonumber(seconds), ranges = ranges } or nil
  end
end

local function has(ranges, at)
  for _, range in ipairs(ranges) do
    if range[1] <= at and at <= range[2] then return true end
  end
  return false
end

--- The specs that execute a line, cheap and likely ones first. A line without code belongs to the statement that began up to
--- six lines before, or else, such as a table's, to the whole file.
local function executing(file, at, scores)
  local code, from = M.code[file.path] or {}, at
  while from > at - 6 and file.lines[from] ~= "" and not has(code, from) do from = from - 1 end
  local anywhere, list, seconds = not has(code, from), {}, {}
  for _, row in ipairs(M.map[file.path] or {}) do
    if anywhere or has(row.ranges, from) then seconds[row.name] = row.seconds end
  end
  for _, spec in ipairs(M.all) do
    if seconds[spec.name] then list[#list + 1] = setmetatable({ seconds = seconds[spec.name] }, { __index = spec }) end
  end
  local function cost(spec) return (spec.seconds + (spec.binary and 0.2 or 1)) / (1 + (scores[spec.name] or 0)) end
  table.sort(list, function(a, b) return cost(a) < cost(b) or cost(a) == cost(b) and a.name < b.name end)
  return table.move(list, 1, most_mapped, 1, {})
end

--- The specs, best first: those that contain rare words of the line, share some with the file's name, or use what it defines.
--- C specs among these come earlier, and specs that run compilers or jobs later, because of the time that they take.
function M.specs(file, at)
  if not M.all then M.all, M.with = all_specs() end
  local found = specs_with(file, at)
  local words, names, module = {}, {}, nil
  local stem = file.path:gsub("^%l+/", ""):gsub("pml_", ""):gsub("/l([%l_]+%.c)$", "/%1"):gsub("%.%l+$", "")
  for part, rest in stem:gmatch "([^/]+)()" do
    local weight = not stem:find("/", rest) and 1 or not stem:find("/.*/", rest) and 0.8 or 0.3
    for word in part:gmatch "%l%l%l+" do words[word] = word ~= "pmlua" and weight or nil end
  end
  if file.language == "lua" then module = stem:gsub("/", ".") end
  for _, line in ipairs(file.lines) do
    local name = file.language == "c" and line:match "^[^ ].-(pml_[%l%d_]+)%("
    if name then names[name] = true end
  end
  local ranked, scores = {}, {}
  for _, spec in ipairs(M.all) do
    local score = found[spec] or 0
    for word, weight in pairs(words) do
      if spec.words[word] then score = score + weight * (2 + 20 / M.with[word]) end
      if spec.text:find(word, 1, true) then score = score + weight end
    end
    for name in pairs(names) do score = score + (spec.tokens[name] and 5 or 0) end
    if module and spec.text:find(module, 1, true) then score = score + 5 end
    scores[spec.name] = score
    local runs_it = file.language == "c" or not spec.binary
    if score > 0 and runs_it then ranked[#ranked + 1] = setmetatable({ score = score }, { __index = spec }) end
  end
  if M.map then return executing(file, at, scores) end
  local function sort_by(key)
    table.sort(ranked, function(a, b) return key(a) > key(b) or key(a) == key(b) and a.name < b.name end)
  end
  sort_by(function(spec) return spec.score end)
  ranked = table.move(ranked, 1, most_specs, 1, {})
  sort_by(function(spec) return spec.score * spec.weight end)
  return ranked
end

local function limit(spec)
  if spec.seconds then return spec_seconds + 10 * spec.seconds end
  return spec.weight < 0.5 and 5 * spec_seconds or spec_seconds
end

--- Run a spec in a copy of the checkout: whether it passes; nil if it is not known, because it took too long, except a C spec
--- that had all its time.
function M.passes(dir, spec, seconds)
  local run = spec.binary or "busted --lua=/usr/bin/lua5.4 --no-keep-going -o TAP " .. spec.path
  local _, code = sh(("cd %s && mkdir -p tmp && TMPDIR=$PWD/tmp PMLUA_BUILD=build nice %s"):format(dir, run), seconds)
  if code == 124 and not (spec.binary and seconds >= limit(spec)) then return nil end
  return code == 0 or code == 77
end

--- Copy the checkout, with the build. Programs of specs are hard links: the linker replaces them.
function M.copy(dir)
  assert(os.execute((([[
    rm -rf DIR && mkdir -p DIR/build && cp -a $(git ls-files | cut -d/ -f1 | sort -u) .git DIR &&
    cp -a $(ls -d build/* | grep -v 'asan\|tsan\|fuzz\|clang\|build/spec$') DIR/build &&
    { cp -al build/spec DIR/build 2>/dev/null || cp -a build/spec DIR/build; }]]):gsub("DIR", dir))))
end

--- Build what a spec needs: a C spec only itself and what it links, if the file is in the library.
function M.builds(dir, file, spec)
  if file.language == "lua" then return true end
  local in_library = file.path:match "^core/" and not file.path:match "^core/%l+/shim/" and spec.binary
  local _, code = sh(("cd %s && nice make -s -j2 %s %s"):format(dir, in_library and "" or "all", spec.binary or ""), 600)
  return code == 0
end

--- Whether a spec passes with an additional empty line in the file: a spec that does not cannot judge a mutant. A spec that
--- passed with a mutant need not be tried.
local sound = {}
local function is_sound(dir, file, source, spec)
  if sound[spec.name] == nil then
    write(dir .. "/" .. file.path, source .. (file.language == "c" and "/* */\n" or "--\n"))
    sound[spec.name] = M.builds(dir, file, spec) and M.passes(dir, spec, 5 * spec_seconds) or false
  end
  return sound[spec.name]
end

--- The catcher of a mutant: the name of a spec, nil if all specs pass, or false if it is not known: the mutant does not compile,
--- it is @late, or a spec also fails without the mutant, for example on a busy machine.
function M.judge(dir, file, text, replacement, specs, late)
  local source = read(file.path)
  local from, to = source:find(text, 1, true)
  local broken = source:sub(1, from - 1) .. replacement .. source:sub(to + 1)
  write(dir .. "/" .. file.path, broken)
  local caught, whole, is_known = nil, false, true
  for _, spec in ipairs(specs) do
    if now() >= late then caught = false break end
    if (spec.binary or not whole) and not M.builds(dir, file, spec) then caught = false break end
    whole = whole or not spec.binary
    local passes = M.passes(dir, spec, math.ceil(math.min(limit(spec), late - now())))
    if passes then
      sound[spec.name] = true
    elseif passes == nil then
      is_known = false
    elseif is_sound(dir, file, source, spec) then
      caught = spec.name
      break
    else
      write(dir .. "/" .. file.path, broken)
      whole, is_known = false, false
    end
  end
  assert(os.execute(("cp -p %s %s/%s && touch %s/%s"):format(file.path, dir, file.path, dir, file.path)))
  if caught == nil and not is_known then return false end
  return caught
end

--- Mutants that are known to live: reasons by file and text.
function M.known()
  local reasons = {}
  for line in io.lines(KNOWN) do
    local path, text, reason = line:match "^([^#\t][^\t]*)\t([^\t]*)\t([^\t]+)$"
    if path then reasons[path .. "\t" .. text] = reason end
  end
  return reasons
end

--- Draw and judge, until there are so many or the time is over: numbers of those caught, of those that live for no known
--- reason, and of those that were not reached or live for one.
local function draw(o, report)
  local known, files = M.known(), M.files(#o.folders > 0 and o.folders or { "core", "bindings", "lua" })
  local dir, began, caught, alive, explained = lines_of("mktemp -d")[1], now(), 0, 0, 0
  M.copy(dir)
  for _, line in ipairs(M.order(files, o.seed)) do
    if caught + alive + explained >= o.count or now() - began > o.seconds then break end
    math.randomseed(line.key)
    local text, replacement = M.edit(line.file, line.at)
    local specs = text and M.specs(line.file, line.at)
    local by = text and M.judge(dir, line.file, text, replacement, specs, began + o.seconds)
    local reason = text and not by and known[line.file.path .. "\t" .. text:match "^%s*(.-)[ \\]*$"]
    if text and by ~= false then
      if by then caught = caught + 1 elseif reason then explained = explained + 1 else alive = alive + 1 end
      report(line.file.path, by or "alive", text, replacement, reason or #specs == 0 and "no spec executes it" or nil)
    end
  end
  os.execute(("rm -rf %s"):format(dir))
  return caught, alive, o.count - caught - alive
end

local function main(words)
  local o = { seed = math.tointeger(words[1]), count = math.tointeger(words[2]), seconds = math.huge, alive = math.huge,
    folders = {} }
  for i = 3, #words do
    local key, value = words[i]:match "^(%l+)=(%d+)$"
    local map = words[i]:match "^map=(.+)$"
    if map then M.read_map(map) elseif key then o[key] = math.tointeger(value) else table.insert(o.folders, words[i]) end
  end
  local caught, alive, others = draw(o, function(...)
    print((table.concat({ ... }, "\t")))
    if select(2, ...) == "alive" then print("ok # SKIP alive: " .. table.concat({ ... }, " | ", 3) .. " in " .. (...)) end
    io.flush()
  end)
  local failed = alive > o.alive and alive or 0
  if failed > 0 then print(("not ok - %d mutants are alive, at most %d may be"):format(alive, o.alive)) end
  print(("%d passed, %d failed, %d skipped"):format(caught, failed, others + alive - failed))
  os.exit(failed == 0)
end

if arg and arg[0] and arg[0]:find "mutants_draw" then main(arg) end

return M
