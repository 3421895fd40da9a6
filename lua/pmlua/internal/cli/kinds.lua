-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/kinds.lua - the kinds of values that options and arguments have: how each is read, named and completed.
--
-- Try:  print(require("pmlua.internal.cli.kinds").duration.read("250ms", {}))

---@class pmlua.cli.Kind
---@field value string what stands for it in help
---@field read? fun(text: string, option: pmlua.cli.Option): any, string? the value; nil and what is needed instead
---@field complete? string "file", "dir", "event", "app", "topic": what a shell offers

---@type table<string, pmlua.cli.Kind>
local M = {}

local unit_s = { ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1, m = 60, min = 60, h = 3600 }

local function range(option, what)
  if option.min and option.max then return ("%s from %s to %s"):format(what, option.min, option.max) end
  return option.min and ("%s from %s on"):format(what, option.min) or what
end

local function within(v, option)
  return v == v and v >= (option.min or -math.huge) and v <= (option.max or math.huge) and math.abs(v) < math.huge
end

M.text = { value = "TEXT" }
M.name = { value = "NAME" }
M.glob = { value = "GLOB" }
M.file = { value = "FILE", complete = "file" }
M.dir = { value = "DIR", complete = "dir" }
M.event = { value = "EVENT", complete = "event" }
M.topic = { value = "TOPIC", complete = "topic" }
M.application = { value = "PID|NAME", complete = "app" }

M.picture = {
  value = "FILE", complete = "file",
  read = function(text)
    if text:find "%.svg$" or text:find "%.png$" then return text end
    return nil, "a file that ends in .svg or .png"
  end,
}

M.integer = {
  value = "N",
  read = function(text, option)
    local v = math.tointeger(tonumber(text))
    if v and within(v, option) then return v end
    return nil, range(option, "a whole number")
  end,
}

M.number = {
  value = "NUMBER",
  read = function(text, option)
    local v = tonumber(text)
    if v and within(v, option) then return v end
    return nil, range(option, "a number")
  end,
}

--- A percentage; the value is the fraction.
M.percent = {
  value = "PERCENT",
  read = function(text, option)
    local v = tonumber(text:match "^([%d.]+)%%?$")
    if v and v <= (option.max or math.huge) then return v / 100 end
    return nil, option.max and ("a percentage up to %s"):format(option.max) or "a percentage"
  end,
}

--- A time with its unit; the value is in seconds. Without a unit it is in the option's, or in seconds.
M.duration = {
  value = "TIME",
  read = function(text, option)
    local number, unit = text:match "^([%d.]+)(%a*)$"
    local scale = unit_s[unit ~= "" and unit or option.unit or "s"]
    local v = scale and tonumber(number)
    if v and v > 0 and v * scale <= 1e6 and v * scale >= (option.min or 0) then return v * scale end
    return nil, ("a time such as %s"):format(option.such or "1s or 250ms")
  end,
}

local unit_bytes = { K = 1 << 10, M = 1 << 20, G = 1 << 30, T = 1 << 40 }

--- Bytes, with a unit of 1024, 1024^2, ...: 100M, 2G, also 100MiB.
M.size = {
  value = "SIZE",
  read = function(text, option)
    local number, unit = text:match "^([%d.]+)([KMGT]?)i?B?$"
    local v = number and (tonumber(number) or 0) * (unit_bytes[unit] or 1)
    if v and v >= (option.min or 1) and v <= 1 << 50 then return math.floor(v) end
    local from = option.min and (" from %dM on,"):format(option.min >> 20) or ""
    return nil, ("a size%s such as %s"):format(from, option.such or "100M")
  end,
}

M.choice = {
  value = "WORD",
  read = function(text, option)
    for _, word in ipairs(option.choices) do
      if word == text then return word end
    end
    local last = #option.choices
    if last == 1 then return nil, option.choices[1] end
    return nil, table.concat(option.choices, ", ", 1, last - 1) .. " or " .. option.choices[last]
  end,
}

return M
