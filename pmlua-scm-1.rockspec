rockspec_format = "3.0"
package = "pmlua"
version = "scm-1"
source = { url = "." }
description = {
  summary = "Performance experiments as Lua scripts over a fast C core",
  detailed = "Counters read in user space, event sets, probes, statistics, OTF2 traces and plots, scripted in Lua 5.4.",
  license = "BSD-3-Clause",
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.4, < 5.5", "luafilesystem", "lua-cjson", "lua-zlib" }
external_dependencies = {
  PFM = { header = "perfmon/pfmlib_perf_event.h" },
  OTF2 = { header = "otf2/otf2.h" },
}
build = {
  type = "make",
  build_target = "all",
  build_variables = { LUA_CFLAGS = "-I$(LUA_INCDIR)" },
  install_target = "install-rock",
  install_variables = { PREFIX = "$(PREFIX)", BINDIR = "$(BINDIR)", LUADIR = "$(LUADIR)" },
}
