-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua wrap VERB`: wrappers of a library, generated from its headers.
--
--     pmlua wrap init --name zlib --headers zlib.h --libs -lz

local M = {
  summary = "generate wrappers that record a library's calls, from its headers",
  verbs = { "init", "build", "check", "install", "installcheck", "list", "show" },
  about = [[
A wrapper stands between programs and a C or C++ library: each call raises an enter and a leave, as with pmlua record, and
can also record arguments and results. pmlua cc links programs with it; preloaded, it needs no linking.]],
  complain = function(...) return require "pmlua.internal.wrap.say".complain(...) end,
  notes = "pmlua help wrap VERB explains one.",
  examples = {
    { "pmlua wrap init --name zlib --headers zlib.h --libs -lz --example app.c", needs = { "libclang" } },
    { "cd wrap-zlib && make && make check && make install PREFIX=$HOME/.local && make installcheck", needs = { "libclang" } },
    { "pmlua cc --wrap zlib -- gcc app.c -lz -o app && pmlua record -- ./app", needs = { "libclang" } },
  },
}

return M
