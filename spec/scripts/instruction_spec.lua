-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/instruction_spec.lua - the experiment, run for real by its command: chains of known latency, code that is wrong.

local tables = require "spec.scripts.tables"
local pml = require "pmlua"
local registers = require "instruction.registers"

local machine = pml.sys.uname().machine
local known = registers.machines[machine] ~= nil
local ADD = ({ x86_64 = "add %rbx, %rax", aarch64 = "add x0, x0, x1" })[machine]

describe("Registers of a sequence", function()
  local function copies(text, on) return registers.copies(text, on or "x86_64") end

  it("differ in each copy, if the sequence writes them, at any width", function()
    local list = copies "imul %rax, %rax"
    assert.same({ "imul %rax, %rax", "imul %rbx, %rbx", "imul %rbp, %rbp" }, { table.unpack(list, 1, 3) })
    assert.equal(12, #list)
    assert.same({ "addl %ecx, %r8d", "addl %ecx, %ebx" }, { table.unpack(copies "addl %ecx, %r8d", 1, 2) })
    assert.equal("mulsd %xmm1, %xmm2", copies "mulsd %xmm1, %xmm0"[2])
    assert.equal("vfmadd231pd %ymm2, %ymm1, %ymm3", copies "vfmadd231pd %ymm2, %ymm1, %ymm0"[2])
    assert.equal("mov 8(%rbx,%rdx), %rbx; inc %bl", copies "mov 8(%rax,%rdx), %rax; inc %al"[2])
    assert.equal("xchg %rsi, %rbp", copies "xchg %rax, %rbx"[2])
  end)

  it("stay the same if they are only read, or not named", function()
    assert.same({ "nop" }, copies "nop")
    assert.same({ "cmp %rax, %rbx" }, copies "cmp %rax, %rbx")
    assert.same({ "mov %rax, 8(%rbx)" }, copies "mov %rax, 8(%rbx)")
    for _, copy in ipairs(copies "shl %cl, %rbx") do assert.matches("^shl %%cl, %%r", copy) end
  end)

  it("have arm64's order there: the first operand is written", function()
    assert.equal("mul x1, x1, x2", copies("mul x0, x0, x2", "aarch64")[2])
    assert.equal("fmadd d3, d1, d2, d3", copies("fmadd d0, d1, d2, d0", "aarch64")[2])
    assert.equal("fadd v2.2d, v2.2d, v1.2d", copies("fadd v0.2d, v0.2d, v1.2d", "aarch64")[2])
    assert.same({ "str x0, [x1]" }, copies("str x0, [x1]", "aarch64"))
    assert.same({ "movz w0, #0xd1", "movz w1, #0xd1" }, { table.unpack(copies("movz w0, #0xd1", "aarch64"), 1, 2) })
  end)

  it("are never the loop's own", function()
    assert.equal("r15d", registers.reserved("inc %r15d", "x86_64"))
    assert.equal("x28", registers.reserved("mov x28, x0", "aarch64"))
    for _, copy in ipairs(copies "imul %rax, %rax") do assert.is_nil(registers.reserved(copy, "x86_64")) end
    for _, copy in ipairs(copies("mul x0, x0, x0", "aarch64")) do assert.is_nil(registers.reserved(copy, "aarch64")) end
  end)
end)

describe("Functions around a sequence", function()
  it("run on arm64, emulated, and preserve the registers that a call must preserve", function()
    for _, tool in ipairs { "aarch64-linux-gnu-gcc", "qemu-aarch64-static" } do
      if select(2, tables.shell("command -v " .. tool)) ~= 0 then return pending(tool .. " is not installed") end
    end
    local out, functions = tables.folder(), {}
    for i, code in ipairs { "add x0, x0, x1", "ldr x0, [x0]", "fmadd d8, d1, d2, d8", "mul x19, x19, x1; mov x29, x19" } do
      table.insert(functions, { name = "one" .. i, copies = { code }, n = 100, init = true })
      table.insert(functions, { name = "all" .. i, copies = registers.copies(code, "aarch64"), n = 100, init = true })
    end
    local calls, declared = {}, {}
    for i, f in ipairs(functions) do
      calls[i], declared[i] = f.name .. "(0)", ("int %s(void *);"):format(f.name)
    end
    local f <close> = assert(io.open(out .. "/functions.s", "w"))
    f:write(require "instruction.assembly".source("aarch64", functions, "mov x9, x0", 70000))
    f:close()
    local main <close> = assert(io.open(out .. "/main.c", "w"))
    main:write(table.concat(declared, "\n"), "\nint main(int argc, char **argv) {\n  double half = argc / 2.0; long n = argc;\n",
      "  (void)argv;\n  int sum = ", table.concat(calls, " + "), ";\n  return sum != 0 || half != 0.5 || n != 1;\n}\n")
    main:close()
    local text, status = tables.shell(("cd %s && aarch64-linux-gnu-gcc -O2 -static -o it main.c functions.s "
      .. "&& qemu-aarch64-static ./it"):format(out))
    assert.equal(0, status, text)
  end)
end)

--- Whether the three in the middle of all runs agree, of each sequence.
local function agree(found, runs)
  for _, list in ipairs(found) do
    table.sort(list)
    local middle = (runs + 1) // 2
    if list[middle + 1] > 1.02 * list[middle - 1] then return false end
  end
  return true
end

-- The latencies of chains, by code; medians of as many runs as it takes, since other programs may have the machine.
local function latencies(codes)
  local best, runs = {}, 0
  repeat
    runs = runs + 1
    local text, status, dir = tables.run("instruction", ("--no-plot --iterations 60 --code '%s'"):format(
      table.concat(codes, " || ")))
    assert.equal(0, status, text)
    for i, row in ipairs(tables.read(dir .. "/sequences.dat")) do best[i] = best[i] or {} table.insert(best[i], row.latency) end
  until runs == 25 or (runs >= 3 and runs % 2 == 1 and agree(best, runs))
  for i, list in ipairs(best) do
    table.sort(list)
    best[i] = list[(runs + 1) // 2]
  end
  return best
end

describe("scripts/instruction.lua --quick", function()
  it("finds the latency of chains of adds, a cycle each, within 5 %", function()
    if not known then return pending("no sequences for " .. machine) end
    local found = latencies { ADD, ADD .. "; " .. ADD, (ADD .. "; "):rep(7) .. ADD }
    assert.near(1, found[1], 0.05)
    assert.near(2, found[2], 0.1)
    assert.near(8, found[3], 0.4)
  end)

  it("finds the latencies of multiplications, which are whole cycles, within 5 %", function()
    if machine ~= "x86_64" then return pending("the latency of a multiplication on this processor is not known here") end
    local found = latencies { "imul %rax, %rax", "imul %rax, %rax; add %rbx, %rax" }
    local cycles = math.floor(found[1] + 0.5)
    assert.is_true(cycles >= 3 and cycles <= 5, found[1]) -- 3 on current cores; 4 and 5 on some small ones
    assert.near(cycles, found[1], 0.05 * cycles)
    assert.near(cycles + 1, found[2], 0.05 * (cycles + 1))
  end)

  it("ends well with its own sequences, with a picture and a row for each", function()
    if not known then return pending("no sequences for " .. machine) end
    local text, status, dir = tables.run("instruction")
    assert.equal(0, status, text)
    assert.is_true(tables.drawn(dir), text)
    local rows = tables.read(dir .. "/data.dat")
    assert.equal(18, #rows)
    for _, r in ipairs(rows) do
      assert.is_true(r.status ~= "ok" and r.samples == 0 or r.samples == 25, r.status)
      assert.is_true(r.status ~= "ok" or r.way == "chain" or r.registers >= 8, r.code)
    end
  end)
end)

describe("scripts/instruction.lua", function()
  local trap = ({ x86_64 = "ud2", aarch64 = "udf #0" })[machine]
  local wild = ({ x86_64 = "mov 0, %rax", aarch64 = "mov x1, #0; ldr x0, [x1]" })[machine]
  local hang = ({ x86_64 = "7: jmp 7b", aarch64 = "7: b 7b" })[machine]

  it("survives code that is refused, faults or hangs, with a message of one line", function()
    if not known then return pending("no sequences for " .. machine) end
    tables.refuses("instruction", {
      ["--code 'foo bar'"] = "option --code: foo bar: ", ["--code ' ; '"] = "the sequence is empty", ["--code '||'"] = "is empty",
      ["--code '" .. trap .. "'"] = "SIGILL",
      ["--code '" .. wild .. "'"] = "SIGSEGV",
      ["--patience 1 --code '" .. hang .. "'"] = "did not end within 1 s",
      ["--code '" .. ADD .. "' --init 'nonsense'"] = "option --code",
      ["--code '" .. (machine == "x86_64" and "inc %r15" or "add x28, x28, x0") .. "'"] = "counts the loop",
      ["--unroll 0"] = "--unroll",
    })
  end)

  it("leaves no process and no folder behind", function()
    if not known then return pending("no sequences for " .. machine) end
    local out = tables.folder()
    assert(require "lfs".mkdir(out .. "/tmp"))
    local _, status = tables.shell(("TMPDIR=%s/tmp %s scripts/instruction.lua --quick --no-plot --patience 1 -o %s "
      .. "--code '%s'"):format(out, tables.pmlua, out, hang))
    assert.is_not.equal(0, status)
    assert.equal("", (tables.shell("ls " .. out .. "/tmp")))
  end)
end)
