-- SPDX-License-Identifier: BSD-3-Clause
-- spec/page.lua - execution of a documentation page: save its files, type its commands, compare the output.
--
-- Try:   lua5.4 -e 'print(require "spec.page".follow("docs/getting-started.md"))'
--
-- A block whose first line is a comment with a file's name is a file. A block of `sh` is typed as a whole. A block of `text`
-- is what the `sh` above it printed: each line is looked for in the output by its words, since numbers differ from run to
-- run. Comments in the page say what differs:
--
--   <!-- slow: WHY -->            the page is followed in check-all only
--   <!-- needs: COMMAND ... -->   without these commands the page cannot be followed here; `watchpoints` is that a variable can
--                                 be watched, `python3-NAME` a module of Debian's Python
--   <!-- not run: WHY -->         the next block is only shown
--   <!-- exact -->                the next block of text is printed letter by letter
--   <!-- head -->                 the next block of text is known by its first line; the other rows depend on the machine
--
-- `make docs-refresh` writes the lines that the commands print now into the blocks of text.

local support = require "spec.core.support"
local shell = require "spec.shell"

local M = {}

local build = os.getenv "PMLUA_BUILD" or "build"

local read = support.slurp

local function lines_of(text) return (text:gsub("\n?$", "\n")):gmatch "(.-)\n" end

--- The blocks of a page: { language, text, marks = { ... }, first and last line }.
function M.blocks(page)
  local list, marks, block, n = {}, {}, nil, 0
  for line in lines_of(page) do
    n = n + 1
    local mark, rest = line:match "^<!%-%- ([%l ]+):? ?(.-) ?%-%->$"
    local language = line:match "^```(%l+)$"
    if block and line == "```" then
      block.text, block.last = table.concat(block, "\n") .. "\n", n - 1
      list[#list + 1], block = block, nil
    elseif block then
      block[#block + 1] = line
    elseif language then
      block, marks = { language = language, marks = marks, first = n + 1 }, {}
    elseif mark then
      marks[mark:gsub("%s+$", "")] = rest
    end
  end
  return list
end

--- The value of a page's comment such as `slow`, or nil.
function M.mark(path, name) return read(path):match("<!%-%- " .. name .. ": (.-) %-%->") end

local function no_watchpoints()
  local out = shell.sh(build .. [[/pmlua -e 'local _, why = pml.watchpoint.available() io.write(tostring(why or ""))']])
  return out ~= "" and out or nil
end

--- Why the first thing that a page needs is not on this machine.
function M.lacks(path)
  for need in (M.mark(path, "needs") or ""):gmatch "%S+" do
    if need == "watchpoints" then
      local why = no_watchpoints()
      if why then return why end
    else
      local module = need:match "^python3%-(.*)"
      local has = module and "/usr/bin/python3 -c 'import " .. module .. "'" or "command -v " .. need
      if select(2, shell.sh(has)) ~= 0 then return need .. " is not installed" end
    end
  end
end

--- A line by its words: numbers, their units and how columns are filled differ from run to run.
local function words(line)
  local list = {}
  line = line:gsub("%f[%w]%d[%d.,]*[eE]?[-+]?%d*%s?[nmukMGTµ]?[sB]?%f[^%w_/]", " ")
  for word in line:gmatch "%f[%w_]%a[%w_]+" do list[#list + 1] = word end
  return table.concat(list, " ")
end

local function printed(out, line)
  for one in lines_of(out) do
    if words(one) == words(line) then return true end
  end
end

--- The first line of a block of text that is missing in an output, or nil.
local function missing(block, out)
  if block.marks.exact then
    return not out:find(block.text, 1, true) and block.text or nil
  end
  for line in lines_of(block.text) do
    if line ~= "..." and not printed(out, line) then return line end
    if block.marks.head then return end
  end
end

-- The name in a file's first line: "-- NAME.lua", "/* NAME.c - ...", "# NAME".
local function file_name(text) return text:match "^[^\n%w]* ?([%w_-]+%.[%w_]+)%f[^%w_]" or text:match "^# (Makefile)\n" end

-- The shell of the page's reader: pmlua is installed, and the checkout's scripts are in the folder.
local function environment(dir, prefix)
  return ("cd %s && export PATH=%s/bin:$PATH PKG_CONFIG_PATH=%s/lib/pkgconfig LD_LIBRARY_PATH=%s/lib MANPATH=%s/share/man "
    .. "XDG_RUNTIME_DIR=%s XDG_STATE_HOME=%s/state "
    .. "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 && set -e\n")
    :format(dir, prefix, prefix, prefix, prefix, dir, dir)
end

--- Install pmlua into a folder.
function M.install()
  local prefix = support.folder()
  shell.done(("make --no-print-directory -s install PREFIX=%s B=%s"):format(prefix, build))
  return prefix
end

--- The first file that no command names.
local function unused(files, typed)
  for _, name in ipairs(files) do
    if not typed:find(name:match "^[^.]*", 1, true) then return name end
  end
end

--- The number of the printed line with the words of the first line of a block, preferably above the words of the second.
local function head_of(block, lines)
  local first
  for i, line in ipairs(lines) do
    if words(line) == words(block[1]) then
      if words(lines[i + 1] or "") == words(block[2] or "") then return i end
      first = first or i
    end
  end
  return first or 1
end

--- The lines of a block of text as a command prints them now, in place: of a block with `head`, all lines from the first on,
--- of others each line by its words. "..." stays, alone it is the whole output; a line that names the folder stays as well.
local function renew(block, out, dir)
  if block.text == "...\n" then return (out:gsub("\n$", "")) end
  local lines, now_printed, at = {}, {}, 0
  for line in lines_of(out) do now_printed[#now_printed + 1] = line end
  if block.marks.head then at = head_of(block, now_printed) - 1 end
  for _, line in ipairs(block) do
    local now = at + 1
    while not block.marks.head and now_printed[now] and words(now_printed[now]) ~= words(line) do now = now + 1 end
    local new = now_printed[now]
    if line ~= "..." and new and not new:find(dir, 1, true) then line, at = new, now end
    if line == "..." or new then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

--- Write the lines that the commands of a page print now into its blocks of text.
---@return string? why the failure; the page is then as it was
function M.refresh(path, prefix)
  local lines, texts = {}, {}
  for line in lines_of(read(path)) do lines[#lines + 1] = line end
  local done, why = M.follow(path, prefix, function(block, out, dir)
    if not block.marks.exact then texts[#texts + 1] = { block, renew(block, out, dir) } end
  end)
  shell.sh("rm -rf " .. done.dir)
  if why then return why end
  for i = #texts, 1, -1 do
    local block, text = table.unpack(texts[i])
    for at = block.last, block.first, -1 do table.remove(lines, at) end
    table.insert(lines, block.first, text)
  end
  shell.write(path, table.concat(lines, "\n") .. "\n")
end

--- Refresh all pages whose path matches a pattern, and print those that cannot be followed.
---@return boolean ok
function M.refresh_all(pattern)
  io.stdout:setvbuf "line"
  local prefix, ok = M.install(), true
  for path in shell.sh "ls README.md docs/*.md docs/*/*.md":gmatch "%S+" do
    local lacks = M.lacks(path)
    if path:find(pattern) then
      local why = not lacks and M.refresh(path, prefix)
      print(path, lacks or why or "ok")
      ok = ok and not why
    end
  end
  return ok
end

--- Follow a page in a new folder. @seen, if any, gets each block of text with its output and the folder.
---@return table done numbers of commands typed, files saved and texts compared, and the `dir`
---@return string? why the failure
function M.follow(path, prefix, seen)
  local dir, root = support.folder(), support.root
  local done, out = { dir = dir, commands = 0, files = 0, texts = 0 }, ""
  local files, typed = {}, ""
  shell.sh(("ln -s %s/scripts %s/scripts && chmod 700 %s"):format(root, dir, dir))
  for _, block in ipairs(M.blocks(read(path))) do
    local name = block.language ~= "sh" and block.language ~= "text" and file_name(block.text)
    if block.marks["not run"] then goto continue end
    if block.language == "sh" then
      local status
      out, status = shell.sh(environment(dir, prefix) .. block.text)
      if status ~= 0 then return done, ("%s: status %d of:\n%s\n%s"):format(path, status, block.text, out) end
      done.commands, typed = done.commands + 1, typed .. block.text
    elseif block.language == "text" then
      local line = missing(block, out)
      if line then return done, ("%s: '%s' is not in:\n%s"):format(path, line, out) end
      if seen then seen(block, out, dir) end
      done.texts = done.texts + 1
    elseif name then
      shell.write(dir .. "/" .. name, block.text)
      done.files, files[#files + 1] = done.files + 1, name
    else
      return done, ("%s: a file without a name: %s"):format(path, block.text)
    end
    ::continue::
  end
  local name = unused(files, typed)
  return done, name and ("%s: no command uses %s"):format(path, name)
end

--- The pages that are followed: slow ones, or the others.
function M.pages(slow)
  local list = {}
  for path in shell.sh "ls README.md docs/*.md docs/*/*.md":gmatch "%S+" do
    if (M.mark(path, "slow") ~= nil) == slow then list[#list + 1] = path end
  end
  return list
end

--- A spec for each page, slow ones or the others: it works as it says. @more looks at its folder.
function M.specs(slow, more)
  local busted, prefix = require "busted", nil
  busted.setup(function() prefix = M.install() end)
  for _, path in ipairs(M.pages(slow)) do
    busted.it("works as it says: " .. path, function()
      local lacks = M.lacks(path)
      if lacks then return busted.pending(lacks) end
      local done, why = M.follow(path, prefix)
      if more and not why then more(path, done.dir) end
      shell.sh("rm -rf " .. done.dir)
      if why then error(why, 0) end
    end)
  end
end

return M
