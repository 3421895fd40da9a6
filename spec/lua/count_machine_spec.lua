-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_machine_spec.lua - tests of counts for a processor's own instructions: masked memory accesses, dot products.
--
-- Slow: compiles a program for each instruction.

local counting = require "spec.lua.counting"
local support = require "spec.core.support"

local MASKS = "AVX2: masked and gathered memory, and dot products"
local WIDE = "AVX-512: masked, scattered and compressed memory, and products of bytes"

--- Whether this cpu has all of these features, by Linux's names; nil and why not.
local function has(features)
  local f <close> = io.open "/proc/cpuinfo"
  local text = f and f:read "a" or ""
  local flags = " " .. (text:match "\nflags%s*:([^\n]*)" or "") .. " "
  for name in features:gmatch "%S+" do
    if not flags:find(" " .. name .. " ", 1, true) then return nil, "this cpu has no " .. name end
  end
  return true
end

--- it(), or pending if the cpu lacks a feature.
local function it_with(features, name, f)
  local fine, why = has(features)
  if not fine then return pending(name .. ": " .. why) end
  counting.it(name, f)
end

local head = [[
#include <immintrin.h>
#include <stdio.h>
float f[64];
double d[64];
int i[64];
char bytes[64];
float *volatile where = f; /* memory that is known to be there is loaded without the mask */
]]

--- The named cells of a program with @body, less the same cells of an empty program.
local function counted(body, flags, at)
  local text = head .. "int main(int argc, char **argv) {\n(void)argv;\n" .. body .. "\nreturn 0;\n}\n"
  local program, _, said = counting.build({ ["program.c"] = text }, { at = at, flags = flags .. " -O1 -w" })
  assert.equal("", said)
  return (counting.run(program))
end

--- Masks are computed from argc, 1, so that the compiler does not know them.
local cases = {
  { "a masked load and store", [[__m256i m = _mm256_setr_epi32(-argc, argc, -argc, argc, -argc, argc, argc, argc);
    _mm256_maskstore_ps(f, m, _mm256_maskload_ps(f + 8, m));]],
    { load_other_bytes = 12, store_other_bytes = 12, load_other = 1 } },
  { "one of doubles", [[__m128i m = _mm_set_epi64x(-argc, argc);
    _mm_maskstore_pd(d, m, _mm_maskload_pd(d + 8, m));]], { load_other_bytes = 8, store_other_bytes = 8 } },
  { "one of integers", [[__m256i m = _mm256_set1_epi32(-argc);
    _mm256_maskstore_epi32(i, m, _mm256_maskload_epi32(i + 8, m));]], { load_other_bytes = 32, store_other_bytes = 32 } },
  { "bytes under a mask", [[__m128i m = _mm_set1_epi8((char)argc); m = _mm_insert_epi8(m, -argc, 3);
    _mm_maskmoveu_si128(m, m, bytes);]], { store_other_bytes = 1 } },
  { "a gather", "_mm256_storeu_ps(f, _mm256_i32gather_ps(f + 8, _mm256_set1_epi32(argc), 4));",
    { load_other_bytes = 32, load_count_I = 32, int_add = 0 } }, -- and no other cell
  { "a gather under a mask", [[__m256d m = _mm256_setr_pd(-argc, argc, -argc, argc);
    _mm256_storeu_pd(d, _mm256_mask_i32gather_pd(m, d + 8, _mm_set1_epi32(argc), m, 8));]], { load_other_bytes = 16 } },
  { "a gather by fewer indices than lanes", "_mm_storeu_ps(f, _mm_i64gather_ps(f + 8, _mm_set1_epi64x(argc), 4));",
    { load_other_bytes = 8 } },
  { "a dot product of floats", [[__m256 x = _mm256_set1_ps((float)argc);
    _mm256_storeu_ps(f, _mm256_dp_ps(x, x, 0x71));]], { fp_mul_float = 6, fp_add_float = 6, flop_count_I = 12 } },
  { "a dot product of doubles", [[__m128d x = _mm_set1_pd(argc);
    _mm_storeu_pd(d, _mm_dp_pd(x, x, 0x31));]], { fp_mul_double = 2, fp_add_double = 1, flop_count_I = 3 } },
  { "additions and subtractions in turn", [[__m256 x = _mm256_set1_ps((float)argc);
    _mm256_storeu_ps(f, _mm256_addsub_ps(x, x));]], { fp_add_float_256 = 1 } },
  { "products of pairs", [[__m256i x = _mm256_set1_epi16((short)argc);
    _mm256_storeu_si256((void *)i, _mm256_madd_epi16(x, x));]], { int_mul_vector = 16, int_add_vector = 8 } },
}

local wide = {
  { "a masked load and store", [[__mmask16 k = (__mmask16)(argc * 0x8421);
    _mm512_mask_storeu_ps(f, k, _mm512_maskz_loadu_ps(k, where + 16));]], { load_other_bytes = 16, store_other_bytes = 16 } },
  { "a gather and a scatter", [[__mmask16 k = (__mmask16)(argc * 0x7000); __m512i n = _mm512_set1_epi32(argc);
    _mm512_mask_i32scatter_ps(f, k, n, _mm512_mask_i32gather_ps(_mm512_setzero_ps(), k, n, f, 4), 4);]],
    { load_other_bytes = 12, store_other_bytes = 12 } },
  { "compressed and expanded memory", [[__mmask16 k = (__mmask16)(argc * 0x0103);
    _mm512_mask_compressstoreu_ps(f, k, _mm512_maskz_expandloadu_ps(k, f + 16));]],
    { load_other_bytes = 12, store_other_bytes = 12 } },
  { "integers narrowed into memory under a mask", [[__mmask16 k = (__mmask16)(argc * 0x0f01);
    _mm512_mask_cvtepi32_storeu_epi8(bytes, k, _mm512_set1_epi32(argc));]], { store_other_bytes = 5 } },
  { "products of bytes", [[__m512i x = _mm512_set1_epi8((char)argc);
    _mm512_storeu_si512((void *)i, _mm512_dpbusd_epi32(x, x, x));]], { int_mul_vector = 64, int_add_vector = 64 } },
  { "rounded operations under a mask, all lanes of them", [[__m512d x = _mm512_set1_pd(argc); __mmask8 k = (__mmask8)argc;
    _mm512_storeu_pd(d, _mm512_mask_scalef_pd(x, k, _mm512_mask_add_round_pd(x, k, x, x, 11), x));]],
    { fp_add_double_512 = 1, fp_mul_double_512 = 1 } },
}

local function check(list, flags)
  for _, at in ipairs { "source", "final" } do
    for _, case in ipairs(list) do
      local n = counted(case[2], flags, at)
      local found = {}
      for name in pairs(case[3]) do found[name] = n[name] end
      assert.same(case[3], found, at .. ": " .. case[1])
    end
  end
end

describe("the compiler's counts have", function()
  it_with("avx2", MASKS, function() check(cases, "-mavx2") end)

  it_with("avx512f avx512bw avx512vl avx512_vnni", WIDE, function()
    check(wide, "-mavx512f -mavx512bw -mavx512vl -mavx512vnni")
  end)

  if support.shell "uname -m | grep -qx x86_64" == 0 then
    counting.it("no report of these instructions as not counted, also on a machine without them", function()
      for _, list in ipairs { cases, wide } do
        local body = {}
        for k, case in ipairs(list) do body[k] = "{" .. case[2] .. "}" end
        local text = head .. "int main(int argc, char **argv) {\n(void)argv;\n" .. table.concat(body, "\n") .. "\nreturn 0;\n}\n"
        local _, _, said = counting.build({ ["program.c"] = text },
          { flags = "-O0 -w -mavx2 -mavx512f -mavx512bw -mavx512vl -mavx512vnni" })
        assert.equal("", said)
      end
    end)
  end
end)
