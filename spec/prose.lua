-- spec/prose.lua - check for sentences in comments and documentation that match a habit of unclear English. Try: make prose
--
-- Prints each sentence with its place and habit, then a count per folder. The counts of spec/data/prose.tsv are limits, which
-- only fall: --check prints nothing but a folder over its limit, --write lowers the limits.
-- With a folder as the last argument, that tree is read.

local LIMITS <const> = "spec/data/prose.tsv"

-- A habit, and Lua patterns of sentences in small letters with one blank between words and at each end. Headings are not read.
local HABITS <const> = {
  { "trailing 'too'", " too[%.;:,]" },
  { "free relative", "^ what [^?]*$", "[,;:] what [^?]*$", " what is ", " what was ", " whatever ", " whoever ",
    " whichever " },
  { "topic in front", "^ of [^?]*$", "; of a[n ]" },
  { "pronoun instead of a noun", " that of ", " those of ", " the one before", " the ones before", " one that " },
  { "denied noun", " is none[ %.;:,]", " are none[ %.;:,]", " there is none", " none that ", " nothing that " },
  { "tool that speaks", " is told ", " are told ", " is asked ", " are asked ", " asks for ", " says so",
    " answers[ %.;:,]", " knows [^n]" },
  { "'of its own'", " of its own", " of their own", " of our own", " of one's own" },
  { "vague verb", " goes on[ %.;:,]", " go on[ %.;:,]", " let go[ %.;:,]", " put back", " gives? up[ %.;:,]",
    " stands for ", " is taken for " },
  { "vague state", " as it is[ %.;:,]", " as they are[ %.;:,]", " as it was[ %.;:,]", " for all that", " in any case" },
}

local FOLDERS <const> = { "core", "bindings", "lua", "scripts", "plots", "spec", "docs" }

local function output(command)
  local p <close> = assert(io.popen(command))
  return p:read "a"
end

local function habit_of(sentence)
  local text = " " .. sentence:lower():gsub("%s+", " ") .. " "
  for _, h in ipairs(HABITS) do
    for i = 2, #h do
      if text:find(h[i]) then return h[1] end
    end
  end
end

--- Call @f with each sentence of @lines, pairs of a line's number and its text.
local function sentences(lines, f)
  local begun, text = nil, ""
  for _, l in ipairs(lines) do
    begun, text = begun or l[1], text .. " " .. l[2]
    while true do
      local sentence, rest = text:match "^%s*(.-[%.!?])%s+(%u.*)$"
      if not sentence then break end
      f(begun, sentence)
      begun, text = l[1], rest
    end
  end
  if text:find "%a" then f(begun, (text:gsub("^%s+", ""))) end
end

-- The prose in a line, by the end of the file's name. A comment's block ends at a line without comment.
local function of_c(line, state)
  local text = state.open and line or line:match "/[%*/](.*)"
  if not text then return end
  state.open = not text:find "%*/" and (state.open or not line:find "//")
  return (text:gsub("%*+/.*", ""):gsub("^%s*%*+", ""))
end

local function of_lua(line) return line:match "^%s*%-%-+%s?(.*)" or line:match "%s%-%-%s(.*)" end
local function of_gnuplot(line) return line:match "^%s*#%s?(.*)" end

local function of_markdown(line, state)
  if line:find "^```" then state.code = not state.code end
  if state.code or line:find "^[`<!#]" or line:find "^    " then return end
  return (line:gsub("^[%-%*|%s]+", ""))
end

local PROSE <const> = { c = of_c, h = of_c, cpp = of_c, hpp = of_c, lua = of_lua, gp = of_gnuplot, md = of_markdown }

--- Each sentence with a habit: f(line, habit, sentence).
local function each(path, f)
  local prose, state, block, n = PROSE[path:match "%.(%w+)$"], {}, {}, 0
  local function finish()
    sentences(block, function(line, sentence)
      local habit = habit_of(sentence)
      if habit then f(line, habit, sentence) end
    end)
    block = {}
  end
  for line in io.lines(path) do
    n = n + 1
    local text = prose(line, state)
    local part = text and text:find "%S" and not text:find "^%s*@"
    if not part then finish() else block[#block + 1] = { n, text } end
  end
  finish()
end

local mode, root = nil, "."
for _, word in ipairs(arg) do
  if word:find "^%-%-" then mode = word else root = word end
end

local function limits()
  local list = {}
  local f <close> = io.open(root .. "/" .. LIMITS)
  for line in f and f:lines() or function() end do
    local folder, n = line:match "^(%S+)\t(%d+)$"
    if folder then list[folder] = tonumber(n) end
  end
  return list
end

local counts, over = {}, 0
for _, folder in ipairs(FOLDERS) do
  counts[folder] = 0
  for path in output(("cd '%s' && find %s -type f 2>/dev/null | sort"):format(root, folder)):gmatch "[^\n]+" do
    if PROSE[path:match "%.(%w+)$"] then
      each(root .. "/" .. path, function(line, habit, sentence)
        counts[folder] = counts[folder] + 1
        if not mode then print(("%s:%d: %s: %s"):format(path, line, habit, (sentence:gsub("%s+", " ")))) end
      end)
    end
  end
end
if mode == "--write" then
  local f <close> = assert(io.open(root .. "/" .. LIMITS, "w"))
  for _, folder in ipairs(FOLDERS) do f:write(folder, "\t", counts[folder], "\n") end
  return
end
local most = limits()
for _, folder in ipairs(FOLDERS) do
  local n, limit = counts[folder], most[folder] or 0
  if n > limit then over = over + 1 end
  print(("%s - %s has %d sentences to rewrite, of %d at most%s"):format(n > limit and "not ok" or "ok", folder, n, limit,
    n > limit and ": make prose lists them" or n < limit and "; lower the limit by spec/prose.lua --write" or ""))
end
print(("%d passed, %d failed, 0 skipped"):format(#FOLDERS - over, over))
os.exit(over == 0 and 0 or 1)
