-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/host/files.lua - files of /proc and /sys, below a root that may be a described machine.
--
-- Try:  print(require("pmlua.internal.host.files").new():read("proc/loadavg"))

local refuse = require "pmlua.core".failure.refuse

local M = {}

local MOST = 1 << 20 -- bytes of a file: the kernel's files are not longer

---@class pmlua.host.Files
local Files = {}
Files.__index = Files

---@param root? string where proc and sys are; "/" unless said
---@return pmlua.host.Files
function M.new(root) return setmetatable({ root = (root or "/"):gsub("/*$", "/") }, Files) end

--- The text of a file.
---@param path string "proc/loadavg"
---@return string? text, string? reason
function Files:read(path)
  local f <close>, err = io.open(self.root .. path, "r")
  if not f then return nil, err end
  local text, unreadable = f:read(MOST)
  if text then return text end
  return refuse("EIO", ("%s%s: %s"):format(self.root, path, unreadable or "the file is empty"))
end

--- The first line of a file; nil if it cannot be read.
---@return string? line, string? reason
function Files:line(path)
  local text, err = self:read(path)
  return text and text:match("^[^\n]*"), err
end

--- The entries of a folder in alphabetical order, numbers in numerical order; an empty list if it cannot be read.
function Files:list(path)
  local names = {}
  local good, entries, state = pcall(require("lfs").dir, self.root .. path)
  if not good then return names end
  for name in entries, state do
    if name:sub(1, 1) ~= "." then names[#names + 1] = name end
  end
  local function key(name) return (name:gsub("%d+", function(digits) return ("0"):rep(12 - #digits) .. digits end)) end
  table.sort(names, function(a, b)
    local x, y = key(a), key(b)
    if x ~= y then return x < y end
    return a < b
  end)
  return names
end

--- Parse a text that contains a single number.
---@return table<string, integer>
function M.number(text) return { value = M.integer(text:match("^%s*(%-?%d+)%s*$")) } end

--- The integer in a text of digits; nil if it has other characters or is too large.
---@param digits string?
---@return integer?
function M.integer(digits) return digits and math.tointeger(tonumber(digits)) end

return M
