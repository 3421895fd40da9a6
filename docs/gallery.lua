-- SPDX-License-Identifier: BSD-3-Clause
-- docs/gallery.lua - the figures of docs/gallery and their page: every experiment, by the command of its page, on this machine.
--
-- Try:  make gallery QUICK=1
-- Without QUICK, most of the time goes to roofline, kernel_sweep and scaling, whose grids have the most cells.
-- After a change of plots/, `lua5.4 docs/gallery.lua draw` draws the runs in build/gallery again, without measuring.

local BUILD <const> = os.getenv "PMLUA_BUILD" or "build"

local M = {}

local function read(path)
  local f <close> = io.open(path)
  return f and f:read "a"
end

local function write(path, text)
  local f <close> = assert(io.open(path, "w"))
  assert(f:write(text))
end

local function lines_of(command)
  local f <close> = assert(io.popen(command))
  local out = {}
  for line in f:lines() do out[#out + 1] = line end
  return out
end

--- The pages of experiments: name, title, and the arguments of each command, as a reader would type them.
---@return { name: string, title: string, arguments: string[] }[]
function M.experiments()
  local out = {}
  for _, path in ipairs(lines_of "ls docs/experiments/*.md") do
    local name, text, all = path:match "([%w_]+)%.md$", read(path), {}
    for arguments in text:gmatch("\n    pmlua scripts/" .. name .. "%.lua([^\n]*)") do all[#all + 1] = arguments end
    if #all > 0 then out[#out + 1] = { name = name, title = text:match "^# ([^\n]+)", arguments = all } end
  end
  return out
end

--- The shell commands that run an experiment into a folder.
---@param experiment { name: string, arguments: string[] }
---@param folder string
---@param options string such as "--quick"
---@return string[]
function M.commands(experiment, folder, options)
  local out = {}
  for i, arguments in ipairs(experiment.arguments) do
    out[i] = ("%s/pmlua scripts/%s.lua %s --quiet -o %s%s"):format(BUILD, experiment.name, options, folder, arguments)
  end
  return out
end

--- The README's first experiment, as a reader would save it.
local function first_touch(folder)
  write(folder .. "/first_touch.lua", read "README.md":match "```lua\n(%-%- first_touch%.lua\n.-)```")
  return ("%s/pmlua %s/first_touch.lua --quiet -o %s"):format(BUILD, folder, folder)
end

local function run_any(commands)
  for _, command in ipairs(commands) do
    local begin = os.time()
    local done = os.execute(command .. " >/dev/null")
    print(("%5d s  %s%s"):format(os.time() - begin, command, done and "" or "  (failed)"))
    if done then return end
  end
end

--- Draw a run for the screen, a dot for each pixel of its figure; return its caption.
local function draw(folder, name)
  local run = ("%s/%s/latest"):format(folder, name)
  local again = ([[cd %s && gnuplot -e "format='png'; png_scale=1; output_file='gallery.png'" plot.gp 2>/dev/null]]):format(run)
  if not os.execute(("%s/pmlua plot --refresh %s >/dev/null && %s"):format(BUILD, run, again)) then return nil end
  assert(os.execute(("mv %s/gallery.png docs/gallery/%s.png"):format(run, name)))
  local graph = read(("%s/%s.png"):format(run, name)) -- by Graphviz
  if graph then write(("docs/gallery/%s_graph.png"):format(name), graph) end
  return read(run .. "/run.gp"):match "run_subtitle = .([^\n]*).\n"
end

local function page(experiments, folder)
  local figures, date, version = {}, nil, nil
  for _, e in ipairs(experiments) do
    local caption = draw(folder, e.name)
    if caption then
      date, version = caption:match "(%d+%-%d%d%-%d%d)T[^·]*· pmlua ([%d.]+)"
      local figure = "## [%s](../experiments/%s.md)\n\n![%s](%s.png)\n\n%s\n"
      figures[#figures + 1] = figure:format(e.title, e.name, e.title, e.name, caption)
    end
  end
  local about = ("`make gallery` measured and drew these figures on one machine, with pmlua %s, on %s."):format(version, date)
  write("docs/gallery/index.md", ("# Gallery\n\n%s\n\n%s"):format(about, table.concat(figures, "\n")))
  draw(folder, "first_touch")
end

function M.make(folder, measure, options)
  os.execute("mkdir -p " .. folder)
  local experiments = M.experiments()
  if measure then
    for _, e in ipairs(experiments) do run_any(M.commands(e, folder, options)) end
    run_any { first_touch(folder) }
  end
  page(experiments, folder)
end

if arg and (arg[0] or ""):find "docs/gallery%.lua$" then
  M.make(BUILD .. "/gallery", arg[1] ~= "draw", (os.getenv "QUICK" or "") ~= "" and "--quick" or "")
end

return M
