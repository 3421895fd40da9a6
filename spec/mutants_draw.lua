-- SPDX-License-Identifier: BSD-3-Clause
-- spec/mutants_draw.lua - break lines at random, spread evenly over core, bindings and lua, and see which spec notices.
--
-- Usage: lua5.4 spec/mutants_draw.lua SEED COUNT [FOLDER...], after make all specs
--
-- Each mutant is one edit of one line: a comparison, a constant, a condition, an error code, a statement left out. It is
-- built in a copy of the checkout, where the specs that share most words with its file run until one fails. A row for each
-- goes to standard output: file, spec that caught it or "alive", text, replacement, between tabs. A mutant that is alive
-- shows a hole in the specs, or that the text makes no difference. A minute each, or two.

package.path = "spec/?.lua;" .. package.path
local sh = require("tally").sh

local M = {}
local most_specs, spec_seconds = 8, 120
local now = require("tally").now

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

--- Edits: a pattern of what is replaced, by what; the same for both languages, or for one of them.
local edits = {
  { " < ", " <= " }, { " <= ", " < " }, { " > ", " >= " }, { " >= ", " > " }, { " == ", { c = " != ", lua = " ~= " } },
  { " != ", " == ", of = "c" }, { " ~= ", " == ", of = "lua" }, { " && ", " || " }, { " || ", " && " },
  { " and ", " or ", of = "lua" }, { " or ", " and ", of = "lua" }, { " %+ ", " - " }, { " %- ", " + " }, { " %* ", " + " },
  { "%f[%w_.]0%f[^%w_.]", "1" }, { "%f[%w_.]1%f[^%w_.]", "2" }, { "%f[%w]true%f[%W]", "false" }, { "%f[%w]false%f[%W]", "true" },
  { "if %(", "if (!", of = "c", whole = "^%s*if %([^;]*%) [^{]*;$" }, { "^(%s*)if not ", "%1if ", of = "lua" },
  { "%-E%u+%f[%W]", "-EDOM", of = "c" }, { "PML_E_%u+%f[%W]", "PML_E_FORMAT", of = "c" },
  { "^(%s*)[%w_>.%[%]-]+ [-+|&]?= [^;{]*;$", "%1;", of = "c" }, { "^(%s*)[%l_]+%([^;{]*%);$", "%1;", of = "c" },
  { "^(%s*)[%w_.%[%]]+ = [^{}]*$", "%1", of = "lua" }, { "^(%s*)[%w_.:]+%([^{}]*%)$", "%1", of = "lua" },
}

--- The files that may be broken, each with its lines. Data, and annotations for editors, are none.
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

--- One edit of a line that occurs once in its file: the line and what it becomes; nil where this line offers none.
function M.edit(file, at)
  local line = file.lines[at]
  if line:match "^%s*/?%*" or line:match "^%s*[-/#][-/%l]" or line:match "^%s*local function" then return nil end
  local code = line:match "^(.-)%s*/[/*]" or line:match "^(.-)%s+%-%- " or line
  local text = table.concat(file.lines, "\n")
  local from, to = text:find(line, 1, true)
  if line == "" or not from or text:find(line, to + 1, true) then return nil end
  local found = {}
  for _, e in ipairs(edits) do
    if (not e.of or e.of == file.language) and (not e.whole or code:find(e.whole)) then
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
      local spec = { name = name, path = path, text = text, words = {} }
      for word in spec.name:gsub("^%l+/", ""):gmatch "%l%l%l+" do
        spec.words[word], with[word] = true, (with[word] or 0) + 1
      end
      list[#list + 1] = spec
    end
  end
  return list, with
end

--- The specs, best first: those that share rare words with the file, or use what it defines.
function M.specs(file)
  if not M.all then M.all, M.with = all_specs() end
  local words, names = {}, {}
  for word in file.path:gsub("^%l+/", ""):gsub("pml_", ""):gsub("/l(%l+%.c)$", "/%1"):gmatch "%l%l%l+" do words[word] = true end
  for _, line in ipairs(file.lines) do
    local name = file.language == "c" and line:match "^[^ ].-(pml_[%l%d_]+)%("
    if name then names[name] = true end
  end
  local ranked = {}
  for _, spec in ipairs(M.all) do
    local score = 0
    for word in pairs(words) do
      if spec.words[word] then score = score + 2 + 20 / M.with[word] end
      if spec.text:find(word, 1, true) then score = score + 1 end
    end
    for name in pairs(names) do score = score + (spec.text:find(name, 1, true) and 5 or 0) end
    if score > 3 then ranked[#ranked + 1] = { name = spec.name, path = spec.path, score = score } end
  end
  table.sort(ranked, function(a, b) return a.score > b.score or a.score == b.score and a.name < b.name end)
  return table.move(ranked, 1, most_specs, 1, {})
end

--- Run a spec in a copy of the checkout: whether it passes.
function M.passes(dir, spec)
  local run = spec.path:match "%.c$"
    and ("make -s build/%s >/dev/null 2>&1; build/%s"):format(spec.name:gsub("^c/", "spec/"), (spec.name:gsub("^c/", "spec/")))
    or ("busted --lua=/usr/bin/lua5.4 -o TAP " .. spec.path)
  local _, code = sh(("cd %s && mkdir -p tmp && TMPDIR=$PWD/tmp PMLUA_BUILD=build nice %s"):format(dir, run), spec_seconds)
  return code == 0 or code == 77
end

--- A copy of the checkout, with what is built.
function M.copy(dir)
  assert(os.execute(("rm -rf %s && mkdir -p %s/build && cp -a $(git ls-files | cut -d/ -f1 | sort -u) .git %s && "
    .. "cp -a $(ls -d build/* | grep -v 'asan\\|tsan\\|fuzz\\|clang') %s/build"):format(dir, dir, dir, dir)))
end

--- Build what a C spec links, or all that Lua specs need.
function M.builds(dir, file, for_lua)
  if file.language == "lua" then return true end
  local in_library = file.path:match "^core/" and not file.path:match "^core/%l+/shim/" and not for_lua
  local _, code = sh(("cd %s && nice make -s -j2 %s"):format(dir, in_library and "build/libpmlua.a" or "all"), 600)
  return code == 0
end

--- What catches a mutant: the name of a spec, nil if none does, or false if it does not compile.
function M.judge(dir, file, text, replacement, specs)
  local source = read(file.path)
  local from, to = source:find(text, 1, true)
  write(dir .. "/" .. file.path, source:sub(1, from - 1) .. replacement .. source:sub(to + 1))
  local caught, whole = nil, false
  if not M.builds(dir, file) then caught = false end
  for _, spec in ipairs(caught == nil and specs or {}) do
    if not whole and not spec.path:match "%.c$" then whole = M.builds(dir, file, true) end
    if not M.passes(dir, spec) then
      caught = spec.name
      break
    end
  end
  assert(os.execute(("cp -p %s %s/%s && touch %s/%s"):format(file.path, dir, file.path, dir, file.path)))
  return caught
end

local function main(seed, count, folders)
  math.randomseed(seed)
  local files, sum = M.files(#folders > 0 and folders or { "core", "bindings", "lua" })
  local clean, dir = os.tmpname() .. ".d", os.tmpname() .. ".d"
  M.copy(clean)
  M.copy(dir)
  local sound, done = {}, 0
  while done < count do
    local at = math.random(sum)
    local file
    for _, f in ipairs(files) do
      if at <= f.upto then file = f break end
    end
    local text, replacement = M.edit(file, at - file.upto + #file.lines)
    if text then
      local specs = {}
      for _, spec in ipairs(M.specs(file)) do
        if sound[spec.name] == nil then
          local began = now()
          sound[spec.name] = M.passes(clean, spec) and now() - began
        end
        spec.score = sound[spec.name] and spec.score / (3 + sound[spec.name])
        if spec.score then specs[#specs + 1] = spec end
      end
      table.sort(specs, function(a, b) return a.score > b.score end)
      local caught = M.judge(dir, file, text, replacement, specs)
      if caught ~= false then
        done = done + 1
        print(table.concat({ file.path, caught or "alive", text, replacement }, "\t"))
        io.flush()
      end
    end
  end
  os.execute(("rm -rf %s %s"):format(clean, dir))
end

if arg and arg[0] and arg[0]:find "mutants_draw" then
  main(math.tointeger(arg[1]), math.tointeger(arg[2]), table.move(arg, 3, #arg, 1, {}))
end

return M
