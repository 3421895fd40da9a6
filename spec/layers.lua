-- spec/layers.lua - dependencies run one way; run by `make layers`. Try: lua5.4 spec/layers.lua
--
-- Each rule names files and what must not occur in them. With an argument, checks the tree at that folder instead of this
-- one, so that the specs can show that it finds a violation.

local root = arg[1] or "."

local rules = {
  { "core", "%.[ch]$", '#%s*include%s*[<"]lua[%w]*%.h', "core/ knows no Lua" },
  { "core", "%.[ch]$", '#%s*include%s*[<"]lauxlib%.h', "core/ knows no Lua" },
  { "core", "%.[ch]$", '#%s*include%s*[<"][^>"]*bindings/', "core/ never reaches bindings/" },
  { "core", "%.[ch]$", '#%s*include%s*[<"]pmlua%.h', "core/ never reaches bindings/" },
  { "core", "%.[ch]$", "%f[%w_]f?printf%s*%(", "core/ never prints (PMlib's reports apart)", "core/compat/pmlib/" },
  { "core", "%.[ch]$", "%f[%w_]exit%s*%(", "core/ never exits (MPI_Abort apart)", "pmlib/mpi_stubs" },
  { "core", "%.[ch]$", "%f[%w_]abort%s*%(", "core/ never aborts" },
  { "core", "%.[ch]$", "%f[%w_]getenv%s*%(", "variables are read by secure_getenv: programs may be set-uid" },
  { "bindings", "%.[chp]+$", "%f[%w_]getenv%s*%(", "variables are read by secure_getenv: programs may be set-uid" },
  { "core", "%.[ch]$", "#%s*include%s*<otf2/", "only core/read/otf2 uses libotf2", "core/read/otf2/" },
  { "core/source/base", "%.[ch]$", '#%s*include%s*"source/[^b]%l*/', "what sources are made from knows none of them" },
  { "core", "%.[ch]$", "#%s*include%s*<perfmon/", "libpfm4 is loaded when it is needed, by one header", "pml_event_pfm" },
  { "bindings", "%.[ch]$", "#%s*include%s*<otf2/", "bindings/ convert and check, the core does the work" },
  { "bindings", "%.[ch]$", "#%s*include%s*<perfmon/", "bindings/ convert and check, the core does the work" },
  { "core/preload", "%.[ch]$", '#%s*include%s*"read/', "measured programs load no reader" },
  { "core/compat", "%.[ch]$", '#%s*include%s*"read/', "measured programs load no reader", "pmlib_trace" },
  { "plots", "%.gp$", "%f[%w_]system%s*%(", "plots/ read only result files" },
  { "plots", "%.gp$", "%f[%w_]eval%f[^%w_]", "plots/ take nothing that a file says for code" },
  { "plots", "%.gp$", '[\'"]/', "plots/ read only result files" },
}

-- The families of core and what each may include. Families of measured programs do not include core/read. compat, whose
-- interfaces others defined, stands apart.
local MAY = {
  interface = {},
  base = {},
  record = { base = true },
  source = { interface = true, base = true, record = true },
  program = { base = true, record = true, source = true },
  instrument = { base = true, source = true },
  adapter = { interface = true, base = true, record = true, source = true, program = true },
  control = { base = true },
  substrate = { interface = true, base = true, record = true, source = true, program = true },
  read = { base = true, record = true, source = true, program = true, adapter = true, substrate = true },
}
-- Handlers of forks are where no lock is taken, one in each library that stands alone; all others are watchers of theirs.
local watches = "a fork is watched by pml__process_watch(): a handler that takes a lock hangs other libraries' handlers"
for dir, except in pairs {
  ["core/base"] = "pml_process.c",
  ["core/source"] = "compiler/runtime/pml_count.c",
  ["core/preload"] = "simulate.c",
  ["core/record"] = false,
  ["core/program"] = false,
  ["core/adapter"] = false,
  ["core/substrate"] = false,
  ["core/read"] = false,
  ["core/control"] = false,
  ["core/compat"] = false,
  bindings = false,
} do
  rules[#rules + 1] = { dir, "%.[chp]+$", "_atfork%s*%(", watches, except }
end

local function files(dir)
  local p <close> = io.popen(("find '%s/%s' -type f 2>/dev/null | sort"):format(root, dir))
  local list = {}
  for f in p:lines() do list[#list + 1] = f end
  return list
end

local found, looked = 0, 0
for _, rule in ipairs(rules) do
  local dir, name, pattern, why, except = table.unpack(rule)
  for _, file in ipairs(files(dir)) do
    if file:match(name) and not (except and file:find(except, 1, true)) then
      looked = looked + 1
      local n = 0
      for line in io.lines(file) do
        n = n + 1
        if line:match(pattern) then
          found = found + 1
          print(("%s:%d: %s: %s"):format(file, n, why, line))
        end
      end
    end
  end
end
for family, may in pairs(MAY) do
  for _, file in ipairs(files("core/" .. family)) do
    if file:match "%.[ch]$" then
      looked = looked + 1
      local n = 0
      for line in io.lines(file) do
        n = n + 1
        local other = line:match('^%s*#%s*include%s*"(%w+)/')
        if MAY[other] and other ~= family and not may[other] then
          found = found + 1
          print(("%s:%d: core/%s stands below core/%s: %s"):format(file, n, family, other, line))
        end
      end
    end
  end
end
if looked == 0 then
  print("layers: no file found below " .. root)
  os.exit(1)
end
os.exit(found == 0)
