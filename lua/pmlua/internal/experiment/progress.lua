-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/progress.lua - how far a run is, on stderr: a line that changes on a terminal, else a
-- line every ten seconds.
--
-- Try:  local p = require("pmlua.internal.experiment.progress").new{ total = 3, rounds = 1 };  p:step("a", 1);
--       p:advance();  p:done()

local M = {}

local pause_s = 10

local Progress = {}
Progress.__index = Progress

---@param o {total: integer, rounds: integer, quiet?: boolean, tty?: boolean, out?: file*, now?: (fun(): number),
---  budget?: { seconds: number, rounds: integer }} budget: as an experiment's
function M.new(o)
  return setmetatable({
    total = o.total, rounds = o.rounds, quiet = o.quiet, tty = o.tty, out = o.out or io.stderr,
    now = o.now or os.time, budget = o.budget, visited = 0, width = 0,
  }, Progress)
end

-- The number of cells to measure, or, if a budget ends the run, the number that it is likely to allow.
function Progress:expected()
  local b, spent = self.budget, self.now() - (self.started or self.now())
  if not b or self.visited == 0 or spent <= 0 then return math.max(self.total, 1) end
  local least = self.total // self.rounds * b.rounds
  return math.min(self.total, math.max(self.visited, least, math.floor(self.visited * b.seconds / spent)))
end

local function duration(seconds)
  if seconds < 60 then return ("%d s"):format(math.ceil(seconds)) end
  if seconds < 3600 then return ("%d min %02d s"):format(seconds // 60, math.floor(seconds % 60)) end
  return ("%d h %02d min"):format(seconds // 3600, math.floor(seconds % 3600) // 60)
end

function Progress:left()
  if self.visited == 0 then return nil end
  local each = (self.now() - self.started) / self.visited
  return each * (self:expected() - self.visited)
end

--- A cell is about to be measured.
function Progress:step(label, round)
  self.started = self.started or self.now()
  if self.quiet or not self.tty then return end
  local left = self:left()
  local rounds = self.budget and "" or "/" .. self.rounds
  local text = ("round %d%s  %3d %%  %s%s"):format(round, rounds, 100 * self.visited // self:expected(), label,
    left and ("  (%s left)"):format(duration(left)) or "")
  -- a longer line would wrap and could not be taken back
  text = text:sub(1, 100)
  self.out:write("\r", text, (" "):rep(self.width - #text))
  self.out:flush()
  self.width = #text
end

-- Without a terminal: a line at most every ten seconds.
function Progress:tell(what)
  if self.quiet or self.tty or self.now() < (self.said or self.started or self.now()) + pause_s then return end
  self.said = self.now()
  local left = self:left()
  self.out:write(what, left and left > 0 and (", %s left"):format(duration(left)) or "", "\n")
end

--- A cell has been measured.
function Progress:advance()
  self.visited = self.visited + 1
  self:tell(("%d %% of the cells measured"):format(100 * self.visited // self:expected()))
end

--- Take the changing line back, before something else is written.
function Progress:clear()
  if self.width > 0 then
    self.out:write("\r", (" "):rep(self.width), "\r")
    self.out:flush()
    self.width = 0
  end
end

function Progress:done()
  self:clear()
end

return M
