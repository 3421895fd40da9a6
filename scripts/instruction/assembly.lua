-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/instruction/assembly.lua - functions around a sequence of instructions, as text for the assembler.
--
-- Try:  local f = { name = "chain", copies = { "imul %rax, %rax" }, n = 2 }
--       print(require("instruction.assembly").source("x86_64", { f }, "", 10))
--
-- Each function takes no arguments, returns 0, and has a loop over n copies of the sequence. All general-purpose registers
-- but the stack pointer and the loop's counter (%r15, x28) have the address of memory that holds this address, so that they
-- may be followed, computed with and stored through; vector registers hold 1.0 in double precision.

local M = {}

local ARMS = 27 -- x0 to x27 but x18, which the platform has

local X86 = [[
  .globl NAME
  .type NAME, @function
  .p2align 6
NAME:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, pml_stack(%rip)
  lea pml_area+30720(%rip), %rdi
  lea pml_area+32768(%rip), %rax
  mov $512, %ecx
  cld
  rep stosq
VECTORS
GENERAL
INIT
  mov $LOOPS, %r15
  .p2align 6
.Lloop_NAME:
BODY
  dec %r15
  jnz .Lloop_NAME
  mov pml_stack(%rip), %rsp
  cld
  xor %eax, %eax
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
  .size NAME, .-NAME
]]

local ARM = [[
  .globl NAME
  .type NAME, %function
  .p2align 6
NAME:
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  adrp x1, pml_area+32768
  add x1, x1, :lo12:pml_area+32768
  sub x2, x1, #2048
  mov x3, #512
.Lfill_NAME:
  str x1, [x2], #8
  subs x3, x3, #1
  b.ne .Lfill_NAME
  mov x0, x1
VECTORS
GENERAL
INIT
  movz x28, #LOW
  movk x28, #HIGH, lsl #16
  .p2align 6
.Lloop_NAME:
BODY
  subs x28, x28, #1
  b.ne .Lloop_NAME
  ldp d14, d15, [sp, #144]
  ldp d12, d13, [sp, #128]
  ldp d10, d11, [sp, #112]
  ldp d8, d9, [sp, #96]
  ldp x27, x28, [sp, #80]
  ldp x25, x26, [sp, #64]
  ldp x23, x24, [sp, #48]
  ldp x21, x22, [sp, #32]
  ldp x19, x20, [sp, #16]
  ldp x29, x30, [sp], #160
  mov w0, #0
  ret
  .size NAME, .-NAME
]]

local function x86_vectors(wide)
  local out = { "  mov $0x3ff0000000000000, %rbx", "  movq %rbx, %xmm0", "  unpcklpd %xmm0, %xmm0" }
  for n = wide and 0 or 1, 15 do
    out[#out + 1] = (wide and "  vbroadcastsd %%xmm0, %%ymm%d" or "  movapd %%xmm0, %%xmm%d"):format(n)
  end
  return table.concat(out, "\n")
end

local function x86_general()
  local out = {}
  for _, name in ipairs { "rcx", "rdx", "rbx", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14" } do
    out[#out + 1] = "  mov %rax, %" .. name
  end
  return table.concat(out, "\n")
end

local function arm_vectors()
  local out = {}
  for n = 0, 31 do out[n + 1] = ("  fmov v%d.2d, #1.0"):format(n) end
  return table.concat(out, "\n")
end

local function arm_general()
  local out = {}
  for n = 1, ARMS do
    if n ~= 18 then out[#out + 1] = ("  mov x%d, x0"):format(n) end
  end
  return table.concat(out, "\n")
end

local function body(f)
  local out = {}
  for i = 1, f.n do out[i] = "  " .. f.copies[(i - 1) % #f.copies + 1] end
  return table.concat(out, "\n")
end

---@param machine "x86_64"|"aarch64"
---@param functions { name: string, copies: string[], n: integer }[]
---@param init string instructions before the loop
---@param loops integer below 2^31
---@param wide? boolean the processor has 256-bit vectors
function M.source(machine, functions, init, loops, wide)
  local x86 = machine == "x86_64"
  local out = { "  .text" }
  for _, f in ipairs(functions) do
    local fields = { NAME = f.name, BODY = body(f), INIT = f.init and init or "", LOOPS = tostring(loops),
      LOW = tostring(loops & 0xffff), HIGH = tostring(loops >> 16), VECTORS = x86 and x86_vectors(wide) or arm_vectors(),
      GENERAL = x86 and x86_general() or arm_general() }
    out[#out + 1] = (x86 and X86 or ARM):gsub("%u%u%u+", fields)
  end
  out[#out + 1] = "  .local pml_area\n  .comm pml_area, 65536, 4096\n  .local pml_stack\n  .comm pml_stack, 8, 8"
  out[#out + 1] = ("  .section .note.GNU-stack,\"\",%sprogbits\n"):format(x86 and "@" or "%")
  return table.concat(out, "\n")
end

return M
