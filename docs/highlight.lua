-- SPDX-License-Identifier: BSD-3-Clause
-- docs/highlight.lua - code as HTML, with comments, strings, numbers, keywords and directives in spans of a class each.
--
-- Try:  lua5.4 -e 'package.path = "docs/?.lua"; print(require "highlight" ("local n = 1 -- one", "lua"))'

local function set(words)
  local list = {}
  for word in words:gmatch "%S+" do list[word] = true end
  return list
end

local C = set [[break case char const continue default do double else enum extern float for if int long return short signed sizeof
  static struct switch typedef union unsigned void volatile while bool true false NULL size_t uint64_t uint32_t int64_t]]
local CPP = set [[auto class namespace new nullptr private public template throw try catch using virtual]]
for word in pairs(C) do CPP[word] = true end

local QUOTED, TICKED = '^"[^"\n]-"', "^'[^'\n]-'"
local ESCAPED = '^"[^"\\\n]*\\.-"' -- a string with a backslash, up to the next quotation mark

-- Patterns of comments (c), strings (s) and directives (d), tried in this order at each position, and keywords.
local HASH = { "c^#[^\n]*", "s" .. QUOTED, "s" .. TICKED }
local SLASHES = { "c^/%*.-%*/", "c^//[^\n]*", "d^#%s*%l+", "s" .. ESCAPED, "s" .. QUOTED, "s" .. TICKED }
local LANGUAGES = {
  c = { SLASHES, C }, cpp = { SLASHES, CPP },
  js = { { "c^//[^\n]*", "s^`.-`", "s" .. QUOTED, "s" .. TICKED }, set [[await const for function if import from let new of
    return]] },
  lua = { { "c^%-%-[^\n]*", "s^%[%[.-%]%]", "s" .. ESCAPED, "s" .. QUOTED, "s" .. TICKED }, set [[and break do else elseif end
    false for function goto if in local nil not or repeat return then true until while]] },
  sh = { { "c^#[^\n]*", 's^"[^"]-"', "s^'[^']-'", "d^%$[%w_]+", "d^%${[^}\n]*}" },
    set "case do done else esac export fi for if in sudo then while" },
  python = { HASH, set "as def else for from if import in lambda None not print return True False while with" },
  r = { HASH, set "else for function if in library NULL TRUE FALSE while" },
  julia = { HASH, set "begin do else end for function if in let println return using while" },
  gnuplot = { HASH, set "do else eval for if load plot print set splot unset using with" },
  fortran = { { "c^![^\n]*", "s" .. QUOTED, "s" .. TICKED }, set [[call character contains do end function implicit integer
    intent kind module none only parameter print program real subroutine type use]] },
}

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function escaped(text) return (text:gsub('[&<>"]', ENTITIES)) end

-- The class and the end of the token at @at; no class: plain text.
local function token(code, at, language)
  local before = at == 1 and "\n" or code:sub(at - 1, at - 1)
  for _, pattern in ipairs(language[1]) do
    local _, last = code:find(pattern:sub(2), at)
    -- $# and name#1 of a shell are no comments.
    if last and (pattern:sub(1, 3) ~= "c^#" or before:find "%s") then return pattern:sub(1, 1), last end
  end
  local _, word = code:find("^[%a_][%w_]*", at)
  if word then return language[2][code:sub(at, word)] and "k" or nil, word end
  local _, number = code:find("^%d[%w.]*", at)
  if number then return "n", number end
  return nil, at
end

--- Code as HTML. An unknown language is plain text.
---@param code string
---@param name string
---@return string
return function(code, name)
  local language = LANGUAGES[name]
  if not language then return escaped(code) end
  local parts, at = {}, 1
  while at <= #code do
    local class, last = token(code, at, language)
    local text = escaped(code:sub(at, last))
    parts[#parts + 1] = class and ('<span class="%s">%s</span>'):format(class, text) or text
    at = last + 1
  end
  return table.concat(parts)
end
