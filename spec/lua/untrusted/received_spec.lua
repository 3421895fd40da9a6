-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/untrusted/received_spec.lua - a folder of a run from another user is drawn, and nothing in it executed.

local demo = require "spec.lua.demo"
local support = require "spec.core.support"
local lfs = require "lfs"
local plot = require "pmlua.plot"


describe("A received folder", function()
  local run, canary
  before_each(function()
    run = demo.run_folder { { 10, 12, 11 } }
    canary = support.folder() .. "/canary"
  end)

  local function evil(path)
    support.spit(path, ("system('touch %s')\nset terminal svg\nset output 'plot.svg'\nplot x\n"):format(canary))
  end
  local function executed() return lfs.attributes(canary, "mode") ~= nil end

  local draws = support.with "gnuplot"

  local function change_meta(changes)
    local json = require "pmlua.json"
    local meta = json.decode(support.slurp(run .. "/meta.json"))
    for k, v in pairs(changes) do meta[k] = v end
    support.spit(run .. "/meta.json", json.encode(meta))
  end

  draws("is drawn by pmlua's own scripts; its plot.gp, theme.gp and run.gp are not run, and that is said", function()
    for _, name in ipairs { "plot.gp", "theme.gp", "run.gp", ".gnuplot" } do evil(run .. "/" .. name) end
    local status, out, err = support.pmlua("plot " .. run)
    assert.equal(0, status, err)
    assert.is_false(executed())
    assert.equal(run .. "/plot.svg\n" .. run .. "/plot.png\n", out)
    assert.matches("demo", support.slurp(run .. "/plot.svg"))
    assert.matches("plot.gp and theme.gp are not pmlua's and were not run; --trust runs them", err, 1, true)
    assert.equal(0, (support.pmlua("plot --refresh " .. run)))
    support.spit(run .. "/theme.gp", (support.slurp(run .. "/theme.gp"):gsub("#005A94", "#FF00FF")))
    status, out, err = support.pmlua("plot " .. run)
    assert.equal(0, status, out)
    assert.matches("/theme.gp is not pmlua's and was not run; --trust runs it", err, 1, true)
  end)

  draws("is drawn by hand in the formats that the theme knows, and no other is taken for one", function()
    support.pmlua("plot " .. run)
    for format, magic in pairs { svg = "<%?xml", png = "\137PNG", pdf = "%%PDF", eps = "%%!PS" } do
      support.done(support.shell(("cd %s && gnuplot -d -e \"format='%s'\" plot.gp 2>&1"):format(run, format)))
      assert.matches("^" .. magic, support.slurp(run .. "/plot." .. format))
    end
    local status, out = support.shell(("cd %s && gnuplot -d -e \"format='jpg'\" plot.gp 2>&1"):format(run))
    assert.equal(1, status)
    assert.matches("format='jpg' is unknown; choose svg, png, pdf or eps", out, 1, true)
    assert.is_nil(require "lfs".attributes(run .. "/plot.jpg"))
  end)

  draws("is drawn by its own plot.gp with --trust", function()
    evil(run .. "/plot.gp")
    support.pmlua("plot --trust " .. run)
    assert.is_true(executed())
  end)

  draws("names no script: neither beside a path in meta.json, nor by a name with a path in it", function()
    local beside = support.folder()
    for _, name in ipairs { "generic", "mine", "evil" } do evil(("%s/%s.gp"):format(beside, name)) end
    for _, changes in ipairs { { script = beside .. "/x.lua" }, { script = beside .. "/x.lua", plot = "mine" },
      { plot = ".." .. beside .. "/evil" }, { plot = ("../"):rep(20) .. beside:sub(2) .. "/evil" }, { plot = { "x" } },
      { plot = "a\nb" } } do
      change_meta(changes)
      for _, option in ipairs { "", "--refresh ", "--trust --refresh " } do
        local _, _, err = support.pmlua("plot " .. option .. run)
        assert.is_false(executed(), err)
        assert.is_nil(err:find("traceback", 1, true) or err:find("attempt to", 1, true), err)
      end
    end
  end)

  draws("may have any name", function()
    local parent = support.folder()
    for _, name in ipairs { "`touch canary`", "$(touch canary)", "'; touch canary; '", "a \"b\"", "-e", "x\ny", "%d %s" } do
      local path = parent .. "/" .. name
      os.execute(("cp -r %s %s"):format(run, support.quote(path)))
      local files, err = plot.draw(path)
      assert.is_nil(lfs.attributes(parent .. "/canary", "mode") or lfs.attributes("canary", "mode"))
      assert.same({ path .. "/plot.svg", path .. "/plot.png" }, files, err)
    end
  end)

  draws("has links in the place of files that are drawn to: they are replaced, what they name is not touched", function()
    local target = support.folder() .. "/precious"
    support.spit(target, "precious")
    for _, name in ipairs { "run.gp", "run.gp.tmp", "plot.gp", "plot.gp.tmp", "theme.gp", "theme.gp.tmp", "plot.svg", "plot.png",
      ".plot.svg.tmp", ".plot.png.tmp" } do
      assert(lfs.link(target, run .. "/" .. name, true))
    end
    for _, options in ipairs { {}, { refresh = true }, { trust = true } } do
      plot.draw(run, options)
      assert.equal("precious", support.slurp(target))
    end
    assert.equal("file", lfs.symlinkattributes(run .. "/plot.svg", "mode"))
    assert.equal("file", lfs.symlinkattributes(run .. "/run.gp", "mode"))
  end)

  draws("has a FIFO, a device or a folder in the place of a file: nothing waits, nothing is read for ever", function()
    for _, make in ipairs { "mkfifo %s", "ln -s /dev/zero %s", "mkdir %s", "ln -s /dev/tty %s", "truncate -s 10G %s" } do
      for _, name in ipairs { "data.dat", "extra.dat", "meta.json", "rounds.dat", "plot.gp" } do
        local copy = support.folder() .. "/copy"
        os.execute(("cp -r %s %s; rm -rf %s/%s"):format(run, copy, copy, name))
        if os.execute(make:format(copy .. "/" .. name) .. " 2>/dev/null") then
          local status, _, err = support.shell(("timeout 60 %s/pmlua plot %s"):format(support.build, copy))
          assert.is_true(status == 0 or status == 1, ("%s: %d %s"):format(make:format(name), status, err))
          assert.is_nil(err:find("traceback", 1, true), err)
          if status == 1 then assert.matches("^pmlua plot: [^\n]+\n$", err) end
        end
      end
    end
  end)
end)
