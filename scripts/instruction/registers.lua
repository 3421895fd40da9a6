-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/instruction/registers.lua - find the registers that a sequence writes, and rename them.
--
-- Try:  print(require("instruction.registers").copies("imul %rax, %rax", "x86_64")[2])
--
-- A chain repeats a sequence on the same registers, so each copy waits for the previous one. To overlap, each copy gets
-- other registers for those that it writes. The destination is the last operand in the AT&T syntax, the first one
-- on arm64; registers that an instruction uses without naming them stay.

local M = {}

-- --- x86-64: names by number and width ---

local GPR = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi" }
local x86 = { kind = {}, name = {} }

local function declare(name, kind, number, width)
  x86.kind[name] = { kind = kind, number = number, width = width }
  x86.name[kind .. width .. number] = name
end

for i, name in ipairs(GPR) do
  local short = name:sub(2)
  declare(name, "gpr", i - 1, "q")
  declare("e" .. short, "gpr", i - 1, "d")
  declare(short, "gpr", i - 1, "w")
  declare(i <= 4 and short:sub(1, 1) .. "l" or short .. "l", "gpr", i - 1, "b")
end
for n = 8, 15 do
  for width, suffix in pairs { q = "", d = "d", w = "w", b = "b" } do declare(("r%d%s"):format(n, suffix), "gpr", n, width) end
end
for n = 0, 15 do
  for _, width in ipairs { "x", "y", "z" } do declare(("%smm%d"):format(width, n), "vector", n, width) end
end

-- The counter of the loop, the stack, and what instructions use without naming it.
x86.reserved = { r15 = true, r15d = true, r15w = true, r15b = true }
x86.pool = { gpr = { 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 }, vector = {} }
for n = 0, 15 do x86.pool.vector[n + 1] = n end
x86.pattern = "%%(%w+)"
function x86.find(word) return x86.kind[word] end
function x86.write(r, number) return "%" .. x86.name[r.kind .. r.width .. number] end

local READS = { cmp = true, test = true, push = true, ucomi = true, comi = true, vucom = true, vcomi = true, vptes = true,
  ptest = true, prefe = true, j = true, call = true, nop = true }

local function reads_only(mnemonic)
  for n = 1, 5 do
    if READS[mnemonic:sub(1, n)] and (n > 1 or mnemonic:sub(1, 1) == "j") then return true end
  end
  return false
end

-- Commas inside of parentheses do not separate operands.
local function operands(text)
  local out = {}
  local hidden = text:gsub("%b()", function(inner) return (inner:gsub(",", "\1")) end)
  for one in hidden:gmatch "[^,]+" do out[#out + 1] = one:gsub("\1", ","):match "^%s*(.-)%s*$" end
  return out
end

function x86.written(statement)
  local mnemonic, rest = statement:match "^%s*([%w.]+)%s+(.*)$"
  if not mnemonic or reads_only(mnemonic:lower()) then return {} end
  local all = operands(rest)
  local last = (all[#all] or ""):match "^%%(%w+)"
  local out = { last and x86.kind[last] }
  if mnemonic:find "^xchg" or mnemonic:find "^xadd" then
    local other = (all[1] or ""):match "^%%(%w+)$"
    out[#out + 1] = other and x86.kind[other]
  end
  return out
end

-- --- arm64 ---

local arm = { reserved = { x28 = true, w28 = true }, pool = { gpr = {}, vector = {} } }
for n = 0, 15 do arm.pool.gpr[n + 1] = n end
for n = 19, 27 do table.insert(arm.pool.gpr, n) end
for n = 0, 31 do arm.pool.vector[n + 1] = n end
arm.pattern = "%f[%w](%a%d+)%f[%W]"
function arm.find(word)
  local width, number = word:match "^([xwvqdshb])(%d+)$"
  number = math.tointeger(number)
  if not number or number > 31 or (width == "x" or width == "w") and number > 30 then return nil end
  return { kind = (width == "x" or width == "w") and "gpr" or "vector", number = number, width = width }
end
function arm.write(r, number) return r.width .. number end
function arm.written(statement)
  local mnemonic, first = statement:match "^%s*([%w.]+)%s+{?%s*(%w+)"
  for _, reads in ipairs { "^st", "^f?cm[pn]", "^tst", "^[ct]bn?z" } do
    if (mnemonic or ""):find(reads) then return {} end
  end
  return { first and arm.find(first) }
end

M.machines = { x86_64 = x86, aarch64 = arm }

---@param text string statements, separated by ; or lines
function M.statements(text)
  local out = {}
  for one in text:gmatch "[^;\n]+" do
    if one:find "%S" then out[#out + 1] = one:match "^%s*(.-)%s*$" end
  end
  return out
end

-- Numbers that a sequence writes, by kind; and those that it only reads.
local function uses(text, m)
  local written, read = { gpr = {}, vector = {} }, { gpr = {}, vector = {} }
  local is_written = { gpr = {}, vector = {} }
  for _, statement in ipairs(M.statements(text)) do
    for _, r in ipairs(m.written(statement)) do
      if not is_written[r.kind][r.number] then table.insert(written[r.kind], r.number) end
      is_written[r.kind][r.number] = true
    end
  end
  for word in text:gmatch(m.pattern) do
    local r = m.find(word)
    if r and not is_written[r.kind][r.number] then read[r.kind][r.number] = true end
  end
  return written, read
end

-- Registers for the copies of one kind: those that the sequence writes come first.
local function pool_of(kind, written, read, m)
  local out, taken = table.move(written, 1, #written, 1, {}), {}
  for _, n in ipairs(written) do taken[n] = true end
  for _, n in ipairs(m.pool[kind]) do
    if not taken[n] and not read[n] then out[#out + 1] = n end
  end
  return out
end

--- A sequence that uses a register which it may not have: its name.
---@return string? name
function M.reserved(text, machine)
  local m = M.machines[machine]
  for word in text:gmatch(m.pattern) do
    if m.reserved[word] then return word end
  end
end

--- The sequence, and the same on other registers, as many as there are: the first is the text itself.
---@param machine "x86_64"|"aarch64"
function M.copies(text, machine)
  local m = M.machines[machine]
  local written, read = uses(text, m)
  local pools, groups = {}, math.huge
  for kind, list in pairs(written) do
    pools[kind] = pool_of(kind, list, read[kind], m)
    if #list > 0 then groups = math.min(groups, #pools[kind] // #list) end
  end
  local out = { text }
  for i = 2, groups < math.huge and groups or 1 do
    out[i] = text:gsub(m.pattern, function(word)
      local r = m.find(word)
      for place, number in ipairs(r and written[r.kind] or {}) do
        if number == r.number then return m.write(r, pools[r.kind][(i - 1) * #written[r.kind] + place]) end
      end
    end)
  end
  return out
end

return M
