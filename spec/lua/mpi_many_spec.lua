-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/mpi_many_spec.lua - tests of jobs of 64 ranks on this machine: one archive, one summary, one table, also if a rank
-- leaves before the others.
-- Slow: jobs of 64 ranks.

local cjson = require "cjson"
local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local shell = require "spec.shell"
local sh = shell.sh

local RANKS = 64
local LEAVER = 21
local LIMIT_S = 180 -- the limit for a job; a job that takes so long hangs
local folder = support.folder()

local function compile(name) return mpi_job.compile(name, "leave", folder, "-w") end

--- Run a job; its folder, exit status and output.
local function job(name, command)
  local to = ("%s/%s.job"):format(folder, name)
  os.execute("rm -rf " .. to)
  local out, code = mpi_job.record(name, RANKS, command, to,
    { options = "--trace --sym 'MPI_*'", environment = "PMLUA_MPI_TIMEOUT=2", limit_s = LIMIT_S })
  return to, code, out
end

local function report(path, options) return mpi_job.report(path, options, LIMIT_S) end

local function call_of(r, name) return support.by(r.calls, "name")[name] end

--- The archive is valid, as far as the validator is installed.
local function check_archive(path, locations, options)
  assert.are.equal(1, select(2, sh("find " .. path .. " -name '*.otf2'"):gsub("\n", "")))
  local said = sh(("/usr/bin/python3 spec/otf2_validate.py %s %s/traces.otf2"):format(options or "", path), LIMIT_S)
  if not said:find "^unavailable" then assert.matches(("^ok: %d locations"):format(locations), said) end
end

for name in pairs(mpi_job.RUN) do
  local it_is = mpi_job.it_of(name)

  describe(("a job of %d ranks of %s"):format(RANKS, name), function()
    it_is("has one archive, one summary and one table, with every message", function()
      local to, code, out = job(name, compile(name))
      assert.are.equal(0, code, out)
      check_archive(to, RANKS)
      if select(2, sh("command -v otf2-print")) == 0 then
        local n = {}
        for word in sh(("otf2-print %s/traces.otf2 | cut -d' ' -f1"):format(to), LIMIT_S):gmatch "%S+" do
          n[word] = (n[word] or 0) + 1
        end
        assert.are.same({ 2 * RANKS, 2 * RANKS }, { n.MPI_SEND, n.MPI_RECV })
      end
      local r = cjson.decode(report(to, "--json"))
      assert.are.same({ RANKS, {}, {} }, { r.size, r.late, r.missing })
      local sendrecv = call_of(r, "MPI_Sendrecv")
      assert.are.same({ 2 * RANKS, RANKS, RANKS }, { sendrecv.calls, sendrecv.ranks, call_of(r, "MPI_Barrier").calls })
      local messages, bytes = 0, 0
      for _, s in ipairs(r.sent) do messages, bytes = messages + s.messages, bytes + s.bytes end
      assert.are.same({ 2 * RANKS, 1100 * RANKS }, { messages, bytes })
      assert.are.equal(1, select(2, report(to):gsub("\nMPI_Barrier +64 ", "")))
    end)

    for _, how in ipairs { "kill", "exit", "stop 6" } do
      it_is("ends, and has the figures of all, when a rank leaves by " .. how, function()
        local to = job(name, ("%s %d %s"):format(compile(name), LEAVER, how))
        local r = cjson.decode(report(to, "--json"))
        assert.are.same({ RANKS, {} }, { r.size, r.missing })
        local barrier = call_of(r, "MPI_Barrier").ranks -- the launcher may end slow ranks before they are there
        assert.are.same({ 2 * RANKS, how == "kill" and barrier > 0 or RANKS },
          { call_of(r, "MPI_Sendrecv").calls, how == "kill" or barrier })
        local at = {}
        for _, rank in ipairs(r.late) do at[rank] = true end
        assert.is_true(at[LEAVER])
        if select(2, sh(("test -e %s/traces.otf2"):format(to))) ~= 0 then
          shell.done(("%s/pmlua trace %s"):format(support.build, to), LIMIT_S)
        end
        check_archive(to, how:find "^stop" and RANKS + 1 or RANKS, "--cut") -- the stopped rank has a child, which wakes it
      end)
    end
  end)
end
