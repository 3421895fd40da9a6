-- SPDX-License-Identifier: BSD-3-Clause
-- spec/messages.lua - list of the messages that users can see: `make messages` prints them, the house specs check them.
--
-- Try:  lua5.4 spec/messages.lua
--
-- A message is a literal with words in it, of C, Lua or a shell script. Literals that are joined with `..`, or adjacent in C, are
-- one message, with "%s" for the values between them. With --check, only messages that break a rule are printed, each with its
-- fault, and the status is 1; folders or files on the command line are read instead of the tree.

local LENGTH = 200

-- Functions whose literals are not messages: patterns, commands, names of modules, code.
local SILENT = {}
for name in ([[find match gmatch gsub require popen execute sh run shell bash getenv setenv date dlsym system add_code
  luaL_loadstring luaL_dostring _Static_assert static_assert __asm__ asm include define secure_getenv fopen open
  strcmp strncmp strstr]]):gmatch "%S+" do
  SILENT[name] = true
end

-- Functions whose literals report a failure.
local SPEAKS = {}
for name in ([[pml_fail pml__fail pml_error_note luaL_error luaL_argerror luaL_argcheck refuse error misuse misused complain
  damaged wrong fail fail_at warn unwanted refused]]):gmatch "%S+" do SPEAKS[name] = true end

-- Fields of tables that are help; a paragraph ends with a full stop, a line of a list does not.
local PARAGRAPH = { about = true, notes = true, description = true, caption = true }
local LINE = { help = true, summary = true, missing = true }

local KEYWORDS = {}
for name in ([[and break do else elseif end for function goto if in local not or repeat return then until while]]):gmatch "%S+" do
  KEYWORDS[name] = true
end

local FORBIDDEN = {
  "nobody", "whoever", "of whom", "is told", "are told", "is no %l+%f[%s]", "is none", "are none",
  "there is more after", "told of", "says otherwise", "somebody", "knows no ", "has no word", "without a word", "so it is with",
  "anew%f[%A]", "of nothing", "nothing of this", "is said", "are said", "whose it is", "said twice", "an own", "shall be",
}

-- --- words of a language ---

local escapes = { n = "\n", t = "\t", ["0"] = "\0", a = "\a", r = "\r", e = "\27" }

local function unescape(text)
  return (text:gsub("\\(.)", function(c) return escapes[c] or c end))
end

--- The token at a place: kind, text, the next place; kind nil: nothing to look at.
local function lua_token(s, at)
  local equals = s:match("^%-%-%[(=*)%[", at) or s:match("^%[(=*)%[", at)
  if equals then
    local comment = s:sub(at, at + 1) == "--"
    local _, stop, body = s:find(("%%[%s%%[(.-)%%]%s%%]"):format(equals, equals), at)
    return not comment and "long", body, stop + 1
  end
  if s:find("^%-%-", at) then return nil, nil, (s:find("\n", at, true) or #s) + 1 end
  return nil
end

local function c_token(s, at)
  if s:find("^/%*", at) then return nil, nil, select(2, s:find("*/", at, true)) + 1 end
  if s:find("^//", at) then return nil, nil, (s:find("\n", at, true) or #s) + 1 end
  if s:find("^#%s*include", at) then return nil, nil, s:find("\n", at, true) or #s + 1 end
  return nil
end

local function shell_token(s, at)
  if s:find("^#", at) then return nil, nil, (s:find("\n", at, true) or #s) + 1 end
  return nil
end

local own_token = { lua = lua_token, c = c_token, h = c_token, sh = shell_token }
local begins_own = { lua = "[-%[]", c = "[/#]", h = "[/#]", sh = "#" }

local function string_at(s, at)
  local quote, stop = s:sub(at, at), at + 1
  while true do
    local c = s:sub(stop, stop)
    if c == quote or c == "" or c == "\n" then return unescape(s:sub(at + 1, stop - 1)), stop + 1 end
    stop = stop + (c == "\\" and 2 or 1)
  end
end

local function tokens(s, language)
  local list, at, line = {}, 1, 1
  local function add(kind, text, stop)
    list[#list + 1] = kind and { kind = kind, text = text, line = line } or nil
    if kind ~= "name" and kind ~= "mark" then line = line + select(2, s:sub(at, stop - 1):gsub("\n", "")) end
    at = stop
  end
  local own, begins = own_token[language], begins_own[language]
  while at <= #s do
    local c, kind, text, stop = s:sub(at, at), nil, nil, nil
    if c:find(begins) then kind, text, stop = own(s, at) end
    if stop then add(kind, text, stop)
    elseif c == '"' or c == "'" then
      text, stop = string_at(s, at)
      add((c == '"' or language ~= "c" and language ~= "h") and "text" or nil, text, stop)
    elseif c:find "%s" then add(nil, nil, s:find("%S", at) or #s + 1)
    elseif c:find "[%a_]" then
      text = s:match("^[%w_]+", at)
      add("name", text, at + #text)
    elseif s:find("^%.%.%.?", at) then
      text = s:match("^%.%.%.?", at)
      add("mark", text, at + #text)
    else add("mark", c, at + 1) end
  end
  return list
end

-- --- sentences ---

local OPEN, CLOSE = { ["("] = true, ["{"] = true, ["["] = true }, { [")"] = true, ["}"] = true, ["]"] = true }

local Walk = {}
Walk.__index = Walk

function Walk:top() return self.stack[#self.stack] end

--- The use of a literal: the call or the field that contains it, from the inside out.
function Walk:purpose()
  for i = #self.stack, 1, -1 do
    local frame = self.stack[i]
    if frame.field and (PARAGRAPH[frame.field] or LINE[frame.field]) then return frame.field end
    if SPEAKS[frame.callee] or SILENT[frame.callee] then return frame.callee end
    if frame.callee == "format" and frame.of then return frame.of end
  end
  return ""
end

local function is_prose(text)
  local words = 0
  for word in text:gmatch "%f[%w%%]%a[%a'-]+%f[^%w_]" do words = words + (word:find "%l%l" and 1 or 0) end
  return words >= 2 and text:find "%l%l,? %a" ~= nil
end

function Walk:flush()
  local frame = self:top()
  local m = frame.message
  frame.message, frame.joins, frame.filled, frame.leads = nil, false, false, false
  if not m or SILENT[m.purpose] or not is_prose(m.text) then return end
  m.file = self.file
  self.found[#self.found + 1] = m
end

function Walk:text(token, purpose)
  local frame = self:top()
  if frame.message and not frame.joins and not self.side_by_side then self:flush() end
  local m = frame.message
  if not m then
    m = { text = frame.leads and "%s" or "", line = token.line, purpose = purpose or self:purpose(), long = token.kind == "long" }
    frame.message = m
  end
  m.text, frame.joins, frame.filled, frame.leads = m.text .. token.text, false, false, false
end

--- Something between two literals that are joined.
function Walk:other()
  local frame = self:top()
  if not frame.joins then return self:flush() end
  if not frame.filled then frame.message.text, frame.filled = frame.message.text .. "%s", true end
end

function Walk:join()
  local frame = self:top()
  if frame.message then frame.joins, frame.filled = true, false else frame.leads = true end
end

function Walk:close()
  local inner = table.remove(self.stack)
  self.stack[#self.stack + 1] = inner
  if inner.callee == "" and inner.message and #self.stack > 1 and inner.mark == "(" then
    table.remove(self.stack)
    self:text({ text = inner.message.text, line = inner.message.line }, inner.message.purpose)
    return
  end
  self:flush()
  if #self.stack > 1 then table.remove(self.stack) end
end

local function called(before)
  if before and before.kind == "name" and not KEYWORDS[before.text] then return before.text end
  return ""
end

function Walk:mark(token, before)
  local text = token.text
  if OPEN[text] then
    local callee = called(before)
    if callee == "" and (text ~= "(" or before and CLOSE[before.text]) then self:other() end
    self.stack[#self.stack + 1] = { callee = callee, mark = text }
  elseif CLOSE[text] then self:close()
  elseif text == ".." and self.language == "lua" then self:join()
  elseif text == "," or text == ";" then
    self:flush()
    self:top().field = nil
  elseif text == "=" and before and before.kind == "name" then
    self:flush()
    self:top().field = before.text
  elseif self.side_by_side or text ~= ":" and text ~= "." then self:other() end
end

function Walk:name(token, before)
  if before and (before.text == ":" or before.text == ".") and before.kind == "mark" then return end
  if KEYWORDS[token.text] and self.language == "lua" then return self:flush() end
  if self.side_by_side and token.text:find "^[A-Z][%w_]+$" and before and before.kind == "text" then
    self:top().message.text = self:top().message.text .. "%s"
    return
  end
  self:other()
end

--- The sentences of a text.
local function sentences(text, language, file)
  local self = setmetatable({ stack = { { callee = "" } }, found = {}, file = file, language = language,
    side_by_side = language ~= "lua" }, Walk)
  local before
  for _, token in ipairs(tokens(text, language)) do
    if token.kind == "text" or token.kind == "long" then
      local callee = called(before)
      if callee ~= "" and language == "lua" then self:flush() end
      self:text(token, callee ~= "" and (SPEAKS[callee] or SILENT[callee]) and callee or nil)
    elseif token.kind == "mark" then self:mark(token, before)
    else self:name(token, before) end
    before = token
  end
  self:flush()
  return self.found
end

-- --- rules ---

local PROPER = {}
for name in ("Linux Debian Lua Score Fortran Graphviz Sobel"):gmatch "%S+" do PROPER[name] = true end

local function begins_wrongly(text)
  local word = text:match "^(%u%l[%a]*)"
  return word and not PROPER[word] and not text:find "^No such file" -- as the C library has it
end

--- The broken rule of a message, or nil.
local function fault(m)
  local lower = m.text:lower()
  for _, phrase in ipairs(FORBIDDEN) do
    local first, last = lower:find("%f[%w]" .. phrase)
    if first and lower:sub(first - 6, first - 1) ~= "there " then
      return ("'%s' reads as translated"):format(lower:sub(first, last))
    end
  end
  local speaks = SPEAKS[m.purpose]
  if not speaks and not LINE[m.purpose] then return end
  if speaks and #m.text > LENGTH then return ("%d characters, more than %d"):format(#m.text, LENGTH) end
  if begins_wrongly(m.text) then return "begins with a capital" end
  if m.text:find "%l%.\n?$" then return "ends with a full stop" end
end

-- --- files ---

local TREE = "git ls-files core bindings lua scripts"
local NOT_READ = { "^lua/pmlua/meta/", "/include/", "^lua/pmlua/internal/wrap/templates", "^scripts/wrap/" }

local function is_read(path)
  for _, pattern in ipairs(NOT_READ) do
    if path:find(pattern) then return false end
  end
  return own_token[path:match "%.(%w+)$"] ~= nil
end

local function all(roots)
  local command = #roots == 0 and TREE or ("find '%s' -type f | sort"):format(table.concat(roots, "' '"))
  local list <close> = assert(io.popen(command))
  local found = {}
  for path in list:lines() do
    if is_read(path) then
      local f <close> = assert(io.open(path))
      for _, m in ipairs(sentences(f:read "a", path:match "%.(%w+)$", path)) do found[#found + 1] = m end
    end
  end
  return found
end

local check, roots = false, {}
for _, word in ipairs(arg) do
  if word == "--check" then check = true else roots[#roots + 1] = word end
end
local faults = 0
for _, m in ipairs(all(roots)) do
  local wrong = check and fault(m)
  faults = faults + (wrong and 1 or 0)
  if wrong or not check then
    local text = m.text:gsub("^%s+", ""):gsub("%s+", " ")
    io.write(("%s:%d: %s%s\n"):format(m.file, m.line, wrong and wrong .. ": " or "", text))
  end
end
os.exit(faults == 0 and 0 or 1)
