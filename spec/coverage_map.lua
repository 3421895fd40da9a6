-- SPDX-License-Identifier: BSD-3-Clause
-- spec/coverage_map.lua - the lines of core, bindings and lua that each spec executes, for spec/mutants_draw.lua.
--
-- Usage: lua5.4 spec/coverage_map.lua DIR [PATTERN] >MAP
--
-- DIR becomes a copy of the checkout that is compiled for gcov, with a hook for lines of Lua (spec/coverage.h); if it exists, it
-- is used again. Each spec whose name matches PATTERN, a Lua pattern, runs there. A row of the map is: spec, its seconds of
-- processor time, file, and executed lines such as 3-7,9, between tabs. Rows of spec "-" contain all lines with code. Lines that
-- only a killed process executed are missing, because gcov writes at a normal end, and so are lines of questions to
-- live programs.

package.path = "spec/?.lua;" .. package.path
local cjson = require "cjson"
local pool = require "pool"

local LINES <const> = 1024 -- bytes for each module, as in spec/coverage.h

local function lines_of(command)
  local p <close> = assert(io.popen(command))
  local list = {}
  for line in p:lines() do list[#list + 1] = line end
  return list
end

local function sh(command) assert(os.execute(command), command) end

local dir, only = arg[1], arg[2] or ""

--- Make the copy. A first line, which is a comment, becomes the #include; children that end by _exit write their counts first.
local function copy()
  sh(("git clone -q . '%s'"):format(dir))
  sh((([[cd 'DIR' && mkdir -p build && git ls-files 'lua/pmlua/*.lua' | sed 's/.*/"&",/' >build/coverage_modules.h &&
    truncate -s 4M build/coverage_rest &&
    sed -i '1s|.*|#include "DIR/spec/coverage.h"|' $(grep -lE 'luaL_setfuncs|luaL_newlib' -r bindings --include=*.c) &&
    sed -i 's/^\( .*\)\b_exit(/\1__gcov_dump(), _exit(/; s/for (;;) (void)pml__system(SYS_exit_group/__gcov_dump(); &/' \
      $(git ls-files 'core/*.c' 'bindings/*.c' | grep -v pml_starter)]]):gsub("DIR", lines_of(("realpath '%s'"):format(dir))[1])))
end

local function build()
  sh((([[cd 'DIR' && make -s -j2 OPT=-O1 WARN=-w all specs 1>&2 \
    SAN='--coverage -fprofile-abs-path -Ibuild -DCOVERAGE_REST="\"DIR/build/coverage_rest\""']]):gsub("DIR", dir)))
end

--- Lines as text: 3-7,9.
local function ranges(set)
  local list, out = {}, {}
  for line in pairs(set) do list[#list + 1] = line end
  table.sort(list)
  local i = 1
  while i <= #list do
    local j = i
    while list[j + 1] == list[j] + 1 do j = j + 1 end
    out[#out + 1] = i == j and list[i] or list[i] .. "-" .. list[j]
    i = j + 1
  end
  return table.concat(out, ",")
end

local function put(files, path, line)
  files[path] = files[path] or {}
  files[path][line] = true
end

local function print_rows(name, seconds, files)
  for path, set in pairs(files) do print(("%s\t%.2f\t%s\t%s"):format(name, seconds, path, ranges(set))) end
  io.flush()
end

local code = {} -- all lines with code

--- Lines of C from a folder of counts, which gcov reads beside the descriptions of the objects.
local function c_lines(folder)
  local files = {}
  for _, text in ipairs(lines_of(([[cd '%s' && find . -name '*.gcda' >list && test -s list && sed 's/^\.//; s/gcda$/gcno/' list |
      while read f; do ln -sf "$f" ".$f"; done && xargs gcov -i -t <list 2>/dev/null]]):format(folder))) do
    local objects = cjson.decode(text).files
    for _, file in ipairs(objects) do
      local path = file.file:sub(1, #dir + 1) == dir .. "/" and file.file:sub(#dir + 2) or file.file
      if path:find "^core/" or path:find "^bindings/" then
        for _, line in ipairs(file.lines) do
          put(code, path, line.line_number)
          if line.count > 0 then put(files, path, line.line_number) end
        end
      end
    end
  end
  return files
end

--- Lines of Lua from a mapped file, added to @files.
local function lua_lines(files, path, modules)
  local f <close> = assert(io.open(path, "rb"))
  for _, module in ipairs(modules) do
    local bytes = f:read(LINES)
    for at in bytes:gmatch "()\1" do put(files, module, at - 1) end
  end
  return files
end

local function lua_code(modules)
  for _, module in ipairs(modules) do
    for _, line in ipairs(lines_of(("cd '%s' && luac5.4 -l -l -p %s"):format(dir, module))) do
      local at = math.tointeger(line:match "^\t%d+\t%[(%d+)%]")
      if at then put(code, module, at) end
    end
  end
end

local function jobs_of(pattern)
  local jobs, slow = {}, {}
  for _, path in ipairs(lines_of(("cd '%s' && ls spec/c/*.c spec/[!w]*/*_spec.lua"):format(dir))) do
    local f <close> = assert(io.open(dir .. "/" .. path))
    local name = path:match "spec/(.*)%.c$" or path:match "spec/(.*)_spec%.lua$"
    local text = f:read "a"
    if name:find(pattern) and not text:find("not a spec by itself", 1, true) then
      local counts = dir .. "/build/counts/" .. name
      local run = path:find "%.c$" and "build/spec/" .. name:sub(3) or "busted --lua=/usr/bin/lua5.4 -o TAP " .. path
      local list = (text:match "^.-\n\n" or text):find "\n[-* ]+Slow: " and slow or jobs
      list[#list + 1] = { name = name, counts = counts, seconds = 300, command = ([[cd '%s' && rm -rf '%s' && mkdir -p '%s' &&
        truncate -s 4M '%s/lua' && export GCOV_PREFIX='%s' COVERAGE_LUA='%s/lua' PMLUA_BUILD=build && exec nice %s]]):format(
        dir, counts, counts, counts, counts, counts, run) }
    end
  end
  return table.move(slow, 1, #slow, #jobs + 1, jobs)
end

if not os.execute(("test -d '%s'"):format(dir)) then copy() end
dir = lines_of(("realpath '%s'"):format(dir))[1]
build()
local modules = lines_of(("cd '%s' && git ls-files 'lua/pmlua/*.lua'"):format(dir))
lua_code(modules)
pool.run(jobs_of(only), 2, function(job, result)
  io.stderr:write(("%s: status %d, %.1f s\n"):format(job.name, result.code, result.processor))
  print_rows(job.name, result.processor, lua_lines(c_lines(job.counts), job.counts .. "/lua", modules))
  sh(("rm -rf '%s'"):format(job.counts))
end)
print_rows("-", 0, code)
