-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/experiment_progress_spec.lua - what an experiment says of how far it is.
require "spec.core.support"

describe("progress", function()
  local progress = require "pmlua.internal.experiment.progress"

  local function sink()
    local text = {}
    return { write = function(_, ...) for _, s in ipairs { ... } do text[#text + 1] = s end end, flush = function() end }, text
  end

  local function drive(o)
    local now, out, text = 0, sink()
    o.out = out
    o.now = function() return now end
    local p = progress.new(o)
    for round = 1, 2 do
      for _, cell in ipairs { "a", "b" } do
        p:step(cell, round)
        now = now + (o.step or 40)
        p:advance()
      end
    end
    p:done()
    return table.concat(text)
  end

  it("is a line at most every ten seconds where there is no terminal", function()
    assert.equal("25 % of the cells measured, 2 min 00 s left\n50 % of the cells measured, 1 min 20 s left\n"
      .. "75 % of the cells measured, 40 s left\n100 % of the cells measured\n", drive { total = 4, rounds = 2 })
    assert.equal("50 % of the cells measured, 12 s left\n100 % of the cells measured\n",
      drive { total = 4, rounds = 2, step = 6 })
    assert.equal("", drive { total = 4, rounds = 2, step = 2 })
  end)

  it("is one changing line on a terminal, taken back at the end", function()
    local text = drive { total = 4, rounds = 2, tty = true }
    assert.is_nil(text:find("\n"))
    assert.matches("\rround 2/2   75 %%  b  %(40 s left%)", text)
    assert.matches("\r +\r$", text)
  end)

  it("estimates the end from a budget, where there is one", function()
    assert.matches("^50 %% of the cells measured, 40 s left\n",
      drive { total = 400, rounds = 200, budget = { seconds = 90, rounds = 1 } })
  end)

  it("is silent when asked to be", function()
    assert.equal("", drive { total = 4, rounds = 2, quiet = true })
  end)
end)
