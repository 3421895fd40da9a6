-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua plot DIR`: draw the figure of a run again, without measuring.
--
--     pmlua plot results/read_overhead/latest

local common = require "pmlua.internal.cli.common"
local complain = require "pmlua.internal.cli.complain" "plot"
local figure = require "pmlua.internal.experiment.figure"

local function level_of(text)
  local name, value = text:match "^([^=]+)=(.*)$"
  if name then return { name = name, value = value } end
  return nil, ("'%s' is not FACTOR=VALUE"):format(text)
end

local function size_of(text)
  local width, height = text:match "^(%d+)[,x](%d+)$"
  width, height = math.tointeger(width), math.tointeger(height)
  if width and width >= 100 and height >= 100 and width <= 10000 and height <= 10000 then return { width, height } end
  return nil, ("'%s' is not WIDTH,HEIGHT in pixels, each from 100 to 10000"):format(text)
end

local function range_of(text)
  local low, high = text:match "^([^,]*),([^,]*)$"
  if low and (low == "" or tonumber(low)) and (high == "" or tonumber(high)) then
    return { low = tonumber(low), high = tonumber(high) }
  end
  return nil, ("'%s' is not LOW,HIGH"):format(text)
end

local function order_of(text)
  local name, list = text:match "^([^=]+)=(.+)$"
  if not name then return nil, ("'%s' is not FACTOR=VALUE,..."):format(text) end
  local values = {}
  for value in list:gmatch "[^,]+" do values[#values + 1] = value end
  return { name = name, value = values }
end

local read = { xrange = range_of, yrange = range_of, order = order_of, rename = level_of }

local M = {
  summary = "draw the figure of a run again, without measuring",
  arguments = { { name = "DIR", key = "dirs", kind = "dir", many = true, missing = "no folder given" } },
  about = [[
DIR is the folder of a run, such as results/read_overhead/latest. plot.svg and plot.png are drawn from its tables.

The folder may come from an untrusted source. pmlua therefore draws with its own scripts and theme and executes nothing in
the folder: neither its plot.gp nor a file that meta.json names. gnuplot runs in a separate folder and cannot start
programs.

The page of --html needs no other file. Text from the folder stays text, the figure is an image, and the only script is
pmlua's, which sorts the table. If there are many samples, the page shows quantiles.]],
  options = {
    common.with("out", { short = "o", was = false, help = "draw into FILE instead, which ends in .svg, .png, .pdf or .eps; "
      .. "several runs become a factor of one figure" }),
    { name = "size", kind = "text", value = "W,H", read = size_of, shown = "960,600",
      help = "width and height in pixels of 1/96 inch" },
    { name = "title", kind = "text", value = "TEXT", help = "title of the figure" },
    { name = "where", kind = "text", value = "FACTOR=VALUE", many = true, read = level_of, help = "draw only these cells" },
    { name = "trust", help = "run the folder's own plot.gp, such as one that you edited; it has all your permissions" },
    { name = "refresh", help = "first replace plot.gp and theme.gp by pmlua's current ones" },
    { name = "html", help = "write page.html: figure, tooltips, table, samples, machine, script and command, in one file" },
    common.with "quiet",
  },
  notes = "The figure of an incomplete run (interrupted, killed) shows the available data, and its caption says incomplete.",
  exclusive = { { "out", "trust" }, { "out", "refresh" }, { "out", "html" } },
  examples = {
    { "pmlua plot results/read_overhead/latest", needs = { "gnuplot" } },
    { "pmlua plot -o reads.pdf --size 600,400 --title Reads results/read_overhead/latest", needs = { "gnuplot" } },
  },
}

local FIGURE <const> = { "size", "title", "where" }
for i, f in ipairs(figure.FIELDS) do
  FIGURE[#FIGURE + 1] = f.name
  table.insert(M.options, 4 + i, { name = f.name, value = f.value, choices = f.choices,
    kind = f.choices and "choice" or read[f.name] and "text" or f.value and "name",
    read = read[f.name], many = f.name == "order" or f.name == "rename", help = f.help })
end

function M.check(o)
  for _, name in ipairs(o.out and {} or FIGURE) do
    if o[name] then return ("--%s needs --out FILE"):format(name) end
  end
end

--- The pairs of an option that may be repeated, by name.
local function by_name(pairs_given)
  if not pairs_given then return nil end
  local out = {}
  for _, pair in ipairs(pairs_given) do out[pair.name] = pair.value end
  return out
end

local function draw_file(o)
  local size = o.size or {}
  local how = { out = o.out, width = size[1], height = size[2], title = o.title, where = o.where }
  for _, f in ipairs(figure.FIELDS) do how[f.name] = o[f.name] end
  how.order, how.rename = by_name(o.order), by_name(o.rename)
  local files, err = require "pmlua.plot".draw(o.dirs, how)
  if err then complain(err) end
  if files then print(files[1]) end
  return files and 0 or 1
end

---@return integer status
function M.run(options)
  if options.out then return draw_file(options) end
  local status = 0
  for _, dir in ipairs(options.dirs) do
    local how = { trust = options.trust, refresh = options.refresh }
    local files, err, run = require "pmlua.plot"[options.html and "page" or "draw"](dir, how)
    if err then complain(err) end
    if not files then status = 1 end
    if run and not run.complete and not options.quiet then
      complain(("%s: this run is incomplete (%s)"):format(run.path, run.ending))
    end
    for _, file in ipairs(files or {}) do print(file) end
  end
  return status
end

return M
