-- SPDX-License-Identifier: BSD-3-Clause
-- spec/hot.lua - check of the sources that are compiled without stack protector and FORTIFY, listed in core/hot.mk: none of them
-- reads foreign data; run by `make layers`.
-- Try: lua5.4 spec/hot.lua
--
-- An object reads foreign data if nm shows functions that read logs, archives and texts. Compiler flags are taken from the lines
-- that make would run. Other arguments are a folder of objects and a list to check instead: FOLDER LIST.

package.path = "spec/?.lua;" .. package.path
local shell = require "shell"

--- Functions that read files, logs, archives and texts. read(2) is not among these: counters are read by it.
local READS <const> = { "^open", "^fopen", "^fdopen", "^fgets", "^getline", "^fread", "scanf$", "^strto%l+$", "^ato[ilf]l*$",
  "^pread", "^opendir", "^readdir", "^pml_file_open", "^pml__file_read", "^pml__log_read", "^pml__log_text", "^pml__number",
  "^OTF2_.*Read", "^inflate" }

--- Reading functions that are allowed in a file, and the reason.
local EXCEPT <const> = {
  ["core/source/kernel/pml_counter.c"] = { open = "opens a cgroup's folder, and reads nothing of it",
    open64 = "the same", fopen = "reads one character of the kernel's, on arm64" },
}

local given, list_path = arg[1], arg[2] or "core/hot.mk"
local root = given or (os.getenv "PMLUA_BUILD" or "build") .. "/obj"
local failed = false

local function fail(text, ...)
  failed = true
  print("hot: " .. text:format(...))
end

--- The sources that the list names, as make reads it: $(addprefix FOLDER,FILES), nothing else.
local function listed()
  local f <close> = assert(io.open(list_path))
  local text = f:read("a"):gsub("#[^\n]*", "")
  local sources, n = {}, 0
  for folder, files in text:gmatch "%$%(addprefix ([^,]+),([^)]*)%)" do
    for file in files:gmatch "[%w_.]+" do sources[folder .. file], n = true, n + 1 end
  end
  local rest = text:gsub("%$%(addprefix [^)]*%)", ""):gsub("[%s\\]", "")
  if rest ~= "HOT:=" then fail("%s: names are listed by $(addprefix FOLDER,FILES) only: %s", list_path, rest) end
  if n == 0 then fail("%s: no source", list_path) end
  return sources
end

local function check_reads(sources)
  local names = {}
  for source in pairs(sources) do names[#names + 1] = source end
  table.sort(names)
  local objects, source_of = {}, {}
  for _, source in ipairs(names) do
    local object = source:gsub("%.c$", ".o")
    local built <close> = io.open(("%s/%s"):format(root, object))
    if not built and not source:find "^core/adapter/mpi/" then
      fail("%s is listed, and there is no object of it; run make", source)
    end
    objects[#objects + 1] = ('"%s"/%s "%s"/*/%s'):format(root, object, root, object)
    source_of[object] = source
  end
  local out = shell.sh("nm -A -u -P " .. table.concat(objects, " ") .. " 2>/dev/null")
  for file, symbol in out:gmatch "([^\n]-): ([%w_]+)[^\n]* [Uwv]" do
    local source = source_of[file:match ".*/(core/.*)"]
    for _, pattern in ipairs(READS) do
      local except = EXCEPT[source] and EXCEPT[source][symbol]
      if symbol:find(pattern) and not except then
        fail("%s calls %s: what reads is compiled with a stack protector; take it out of core/hot.mk", source, symbol)
      end
    end
  end
end

--- Each source of core and bindings has a protector, or is listed.
local function check_lines(sources)
  local lines, n = shell.sh "make -n B=/nonexistent all 2>/dev/null", 0
  for line in lines:gmatch "[^\n]+" do
    local source = line:match "%-c (core/%S+%.c) " or line:match "%-c (bindings/%S+%.c) "
    if source and line:find("-o /nonexistent/obj/", 1, true) then
      n = n + 1
      local without = line:find("-fno-stack-protector", 1, true) ~= nil
      local with = line:find("-fstack-protector-strong", 1, true) and line:find("-D_FORTIFY_SOURCE=2", 1, true)
      if without ~= (sources[source] == true) or not (without or with) then
        fail("%s is compiled %s", source, without and "without a stack protector" or "with flags that are not of its list")
      end
    end
  end
  if n < 200 then fail("make -n all shows %d compilations", n) end
end

local sources = listed()
check_reads(sources)
if not given then check_lines(sources) end
os.exit(not failed)
