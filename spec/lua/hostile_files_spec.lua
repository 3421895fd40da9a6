-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/hostile_files_spec.lua - tests of verbs on arbitrary files: an error message, but never a Lua error, a hang, much
-- memory, or a picture that no program can show.

local cjson = require "cjson"
local support = require "spec.core.support"
local shell = require "spec.shell"
local sh = shell.sh

local folder = support.folder()
local pmlua = "timeout 30 " .. support.build .. "/pmlua "

--- Returns nil unless a command has printed a Lua error, has hung, or has crashed; else the output or the status.
local function complaint(command)
  local out, code = sh(command, 60)
  for _, ours in ipairs { "%.lua:%d+:", "stack traceback", "not enough memory" } do
    if out:find(ours) then return out end
  end
  if code ~= 0 and code ~= 1 and code ~= 2 then return ("status %s: %s"):format(code, out) end
end

local function run_of_an_experiment()
  shell.write(folder .. "/run.lua", [[return require "pmlua".experiment { name = "run", factors = { n = { 1, 2 } }, repeats = 3,
    unit = "s", measure = function(_, p) return p.n end }]])
  shell.done(("%s %s/run.lua -o %s/results"):format(pmlua, folder, folder), 60)
  return folder .. "/results/run/latest"
end

describe("a foreign file", function()
  it("is refused in a sentence by each verb that cannot read it", function()
    local files = { empty = "", zeros = ("\0"):rep(70000),
      text = "no file of ours\n", json = '{"a": [1, {"b": null}]}', list = "[[]]", svg = "<svg></svg>",
      number = "17", elf = "\127ELF\2\1\1" .. ("\0"):rep(60), gzip = "\31\139\8\0\0\0\0\0\0\3", lua = "return {}",
      log = "PMLUALOG" .. ("\255"):rep(9000), ["cut.pmlog"] = "PMLUALOG\3", ["x.otf2"] = "\3BOTF2" .. ("\255"):rep(300) }
    local names = {}
    for name, text in pairs(files) do
      shell.write(folder .. "/" .. name, text)
      names[#names + 1] = name
    end
    local others = "cd %s && mkfifo fifo && mkdir folder && truncate -s 10G sparse && ln -s /dev/zero zero"
    assert.are.equal(0, select(2, sh(others:format(folder))))
    table.move({ "fifo", "folder", "sparse", "zero" }, 1, 4, #names + 1, names)
    local verbs = { "report %s", "compare %s %s", "plot %s", "trace %s", "flame %s --out " .. folder .. "/x.svg",
      "export %s --to folded", "export %s --to perfetto", "import %s -o " .. folder .. "/imported", "record --finish %s",
      "guard %s -- true", "record --filter %s -o /nowhere/x -- true", "choose --groups %s FLOPS", "wrap build %s", "attach %s",
      "wrap init --recipe %s" }
    for _, name in ipairs(names) do
      for _, verb in ipairs(verbs) do
        local command = ("ulimit -v 4000000; " .. pmlua .. verb .. " </dev/null"):gsub("%%s", folder .. "/" .. name)
        assert.is_nil(complaint(command), command)
        os.execute(("rm -rf %s/imported"):format(folder))
      end
    end
  end)

  it("is refused if a run's meta.json has any value of another type", function()
    local path = run_of_an_experiment()
    local file <close> = assert(io.open(path .. "/meta.json"))
    local text = file:read "a"
    local keys = {}
    for key in pairs(cjson.decode(text)) do keys[#keys + 1] = key end
    table.sort(keys)
    os.execute(("rm -rf %s/copy; cp -rL %s %s/copy"):format(folder, path, folder))
    for _, key in ipairs(keys) do
      for i, value in ipairs { "[[]]", '{"name": {}}', "7", '[{"name": 7, "levels": {}}]' } do
        local meta = cjson.decode(text)
        meta[key] = cjson.decode(value)
        shell.write(folder .. "/copy/meta.json", cjson.encode(meta))
        for _, verb in ipairs { "report %s/copy", i < 3 and "compare %s/copy --by n" or nil } do
          assert.is_nil(complaint(pmlua .. verb:format(folder)), key .. value)
        end
      end
    end
  end)

  it("uses little memory if a log claims to have much", function()
    local _, none = sh("/usr/bin/time -v true")
    shell.done(("%s record -q -o %s/logs --lib 'libz*' -- /bin/true"):format(pmlua, folder), 60)
    local name = sh(("ls %s/logs/*.pmlog"):format(folder)):match "%S+"
    local file <close> = assert(io.open(name, "rb"))
    local log = file:read "a"
    local entries, found = string.unpack("<I4", log, 117), false
    for i = 0, entries - 1 do -- docs/log.md
      local at = 4096 + 64 * i
      if string.unpack("<I4", log, at + 1) == 2 then
        log = log:sub(1, at + 24) .. string.pack("<I8I8", 2 << 30, 2 << 30) .. log:sub(at + 41)
        found = true
        break
      end
    end
    assert.is_true(found)
    assert.are.equal(0, select(2, sh(("mkdir %s/large"):format(folder))))
    local sparse <close> = assert(io.open(folder .. "/large/a.1.pmlog", "wb"))
    sparse:write(log)
    sparse:close()
    assert.are.equal(0, select(2, sh(("truncate -s 3G %s/large/a.1.pmlog"):format(folder))))
    assert.is_nil(complaint(pmlua .. "report " .. folder .. "/large"))
    if none ~= 0 then pending "no /usr/bin/time" return end
    local out = sh(("/usr/bin/time -f 'peak %%M KB' %s report %s/large"):format(pmlua, folder), 60)
    assert.is_true(tonumber(out:match "peak (%d+) KB") < 200 * 1024, out)
  end)

  it("makes valid XML pictures, with any names", function()
    if select(2, sh "gnuplot --version") ~= 0 then pending "gnuplot is not installed" return end
    shell.write(folder .. "/odd.folded", "main;]]>x 5\nmain;<&\"'> 6\nmain;a]]]]>>b 7\n")
    assert.are.equal(0, select(2, sh(("%s import %s/odd.folded -o %s/odd"):format(pmlua, folder, folder))))
    for _, kind in ipairs { "profile", "timeline", "metrics" } do
      local svg = ("%s/%s.svg"):format(folder, kind)
      local out, code = sh(("%s trace %s/odd/traces.otf2 --plot %s=%s"):format(pmlua, folder, kind, svg), 60)
      assert.are.equal(0, code, out)
      out, code = sh(("/usr/bin/python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' %s"):format(svg))
      assert.are.equal(0, code, kind .. out)
    end
  end)
end)
