-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/complain.lua - messages of a verb on standard error, behind what the verb has printed.
--
-- Try:  os.exit(require("pmlua.internal.cli.complain")("stat")("no such event"))

local printable = require "pmlua.internal.printable"

--- The function that prints messages of a verb.
---@return fun(what: any, status?: integer): integer status 1, or the one given
return function(verb)
  return function(what, status)
    io.stdout:flush()
    io.stderr:write("pmlua ", verb, ": ", printable(what), "\n")
    return status or 1
  end
end
