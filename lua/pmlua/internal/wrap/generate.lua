-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/generate.lua - the source of a wrapper: one function for each that is wrapped, in C or C++.
--
-- Wrappers carry the library's symbols as assembler names, so that neither macros, builtins, overloads nor access rules
-- of the headers are in the way. A member function is, by the Itanium C++ ABI (x86-64, arm64), a function whose first
-- argument is the object; a class that is not trivial to copy goes by reference to the caller's copy, which is what the
-- wrapper declares and passes on, so that nothing is copied twice. PMLW_RUN chooses between both kinds:
--
--   link time (without): __wrap_f calls __real_f, which the linker's --wrap=f leads to and from
--   run time (with):     f calls the next f that the loader finds
--
-- Try:  pmlua wrap build && less build/zlib-wrap.c

local M = {}

local common = [[

#ifdef PMLW_RUN
#define PMLW_LABEL(symbol) __asm__(symbol)
#define PMLW_REAL(n, symbol)
#define PMLW_FIND(n, wrapped, nothing) \
  pmlw_t##n *const pmlw_real = (pmlw_t##n *)pml_wrap_real(&wrapped); \
  if (__builtin_expect(pmlw_real == 0, 0)) return nothing
#else
#define PMLW_LABEL(symbol) __asm__("__wrap_" symbol)
#define PMLW_REAL(n, symbol) extern pmlw_t##n pmlw_r##n __asm__(symbol);
#define PMLW_FIND(n, wrapped, nothing) pmlw_t##n *const pmlw_real = pmlw_r##n
#endif
]]

local c_head = [[
#include <stdarg.h>

#define PMLW_T(...) __typeof__(__VA_ARGS__)
#define PMLW_NOTHING(...) ({ static const __typeof__(__VA_ARGS__) pmlw_zero; pmlw_zero; })
]]

local cxx_head = [[
#include <cstdarg>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace {
template <class T> struct pmlw_same { typedef T type; };

/* Trivial for the purposes of calls: such a class goes in registers or on the stack, any other by reference. */
template <class T> struct pmlw_trivial {
  static const bool copied = std::is_copy_constructible<T>::value, moved = std::is_move_constructible<T>::value;
  static const bool value = std::is_trivially_destructible<T>::value && (copied || moved) &&
                            (!copied || std::is_trivially_copy_constructible<T>::value) &&
                            (!moved || std::is_trivially_move_constructible<T>::value);
};
template <class T, bool C = std::is_class<T>::value || std::is_union<T>::value> struct pmlw_argument { typedef T type; };
template <class T> struct pmlw_argument<T, true> {
  typedef typename std::conditional<pmlw_trivial<T>::value, T, T &>::type type;
};

/* The result of the member of an overload set that takes these arguments. */
template <class... A> struct pmlw_with {
  template <class R, class C> static R of(R (C::*)(A...));
  template <class R> static R of(R (*)(A...));
  template <class R, class C> static R of_const(R (C::*)(A...) const);
};

/* What a function returns that is nowhere: nothing, where there is such a thing. */
template <class T, bool S = std::is_scalar<T>::value> struct pmlw_nothing {
  static T get(const char *name) { throw std::runtime_error(std::string(name) + " is nowhere behind its wrapper"); }
};
template <class T> struct pmlw_nothing<T, true> {
  static T get(const char *) { return T(); }
};
} // namespace

#define PMLW_T(...) pmlw_same<__VA_ARGS__>::type
#define PMLW_A(...) pmlw_argument<__VA_ARGS__>::type
#define PMLW_PASS(a) static_cast<decltype(a) &&>(a)
]]

local function quoted(text) return '"' .. text:gsub('["\\]', "\\%0") .. '"' end

local function is_void(f) return f.canonical_result == "void" end

--- In C all arguments are passed unchanged.
local function argument(language, type)
  return ("%s(%s)"):format(language == "c" and "PMLW_T" or "PMLW_A", type)
end

--- The types of the parameters, of the function itself or of the twin it goes to.
local function types(f, language)
  local list = {}
  if f.method then list[1] = "void *" end
  for i, p in ipairs((f.twin or f).parameters) do
    list[#list + 1] = f.twin and i == #f.twin.parameters and "va_list" or argument(language, p.type)
  end
  return list
end

--- The parameters as the wrapper declares them.
local function declared(f, language)
  local list = {}
  if f.method then list[1] = "void *pmlw_self" end
  for i, p in ipairs(f.parameters) do list[#list + 1] = ("%s pmlw_%d"):format(argument(language, p.type), i) end
  if f.twin then list[#list + 1] = "..." end
  return #list > 0 and table.concat(list, ", ") or language == "c" and "void" or ""
end

local function passed(f, language)
  local list = {}
  if f.method then list[1] = "pmlw_self" end
  for i in ipairs(f.parameters) do list[#list + 1] = (language == "c" and "pmlw_%d" or "PMLW_PASS(pmlw_%d)"):format(i) end
  if f.twin then list[#list + 1] = "pmlw_list" end
  return table.concat(list, ", ")
end

local function convert(value, expression)
  if value.type == "TEXT" then return ("pml_wrap_from_text(%s)"):format(expression) end
  if value.type == "REAL" then return ("pml_wrap_from_real((double)%s)"):format(expression) end
  return ("pml_wrap_from_integer((int64_t)%s)"):format(expression)
end

local function values_table(n, way, values)
  local rows = {}
  for i, v in ipairs(values) do
    rows[i] = ("PML_WRAP_VALUE(%s, PML_WRAP_%s, %s)"):format(quoted(v.name), v.type, v.keep)
  end
  return ("static struct pml_wrap_value pmlw_%s%d[] = {%s};\n"):format(way, n, table.concat(rows, ", "))
end

local function description(f, n)
  local place = ("%s, %s, %s, %d"):format(quoted(f.symbol), quoted(f.library.soname), quoted(f.file), f.line)
  if not f.inside and not f.out then return ("PML_WRAP_FUNCTION(pmlw_f%d, %s);\n"):format(n, place) end
  local function list(way, values)
    return values and ("pmlw_%s%d, %d"):format(way, n, #values) or "NULL, 0"
  end
  return (f.inside and values_table(n, "in", f.inside) or "") .. (f.out and values_table(n, "out", f.out) or "") ..
    ("PML_WRAP_FUNCTION_VALUES(pmlw_f%d, %s, %s, %s);\n"):format(n, place, list("in", f.inside), list("out", f.out))
end

--- A twin is looked up by its own name, and never counted.
local function twin_description(f, n)
  return ("static struct pml_wrap_function pmlw_v%d = {%s, %s, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0}};\n"):format(n,
    quoted(f.twin.symbol), quoted(f.twin.library.soname))
end

local function enter(f, n)
  if not f.inside and not f.out then return ("  PML_WRAP_CALL(pmlw_call, &pmlw_f%d);\n"):format(n) end
  local fill = {}
  for i, v in ipairs(f.inside or {}) do
    fill[i] = ("pmlw_in[%d] = %s"):format(i - 1, convert(v, "pmlw_" .. v.number))
  end
  if #fill == 0 then fill[1] = "(void)0" end
  return ("  uint64_t pmlw_in[%d], pmlw_out[%d];\n"):format(math.max(f.inside and #f.inside or 0, 1),
    math.max(f.out and #f.out or 0, 1)) ..
    ("  PML_WRAP_CALL_VALUES(pmlw_call, &pmlw_f%d, pmlw_in, %s);\n"):format(n, table.concat(fill, "; "))
end

local function results(f, n)
  local fill = {}
  for i, v in ipairs(f.out) do fill[i] = ("pmlw_out[%d] = %s"):format(i - 1, convert(v, "pmlw_result")) end
  return ("  PML_WRAP_RESULTS(pmlw_call, &pmlw_f%d, pmlw_out, %s);\n"):format(n, table.concat(fill, "; "))
end

local function nothing(f, language)
  if is_void(f) then return "" end
  if language == "c" then return ("PMLW_NOTHING(%s)"):format(f.result) end
  return ("pmlw_nothing<PMLW_T(%s)>::get(%s)"):format(f.result, quoted(f.symbol))
end

local function body(f, n, language)
  local call = ("pmlw_real(%s)"):format(passed(f, language))
  local last = f.parameters[#f.parameters] and "pmlw_" .. #f.parameters or "pmlw_self"
  local kept = not is_void(f) and (f.out or f.twin)
  local text = ("  PMLW_FIND(%d, pmlw_%s%d, %s);\n"):format(n, f.twin and "v" or "f", n, nothing(f, language)) .. enter(f, n)
  if f.twin then text = text .. ("  va_list pmlw_list;\n  va_start(pmlw_list, %s);\n"):format(last) end
  if kept then text = text .. ("  PMLW_T(%s) pmlw_result = %s;\n"):format(f.result, call)
  else text = text .. ("  %s%s;\n"):format(is_void(f) and "" or "return ", call) end
  if f.twin then text = text .. "  va_end(pmlw_list);\n" end
  if f.out then text = text .. results(f, n) end
  return kept and text .. "  return pmlw_result;\n" or text
end

--- Generate a wrapper. @wrapped: the symbols that --wrap= names, through which a twin is also reached.
local function wrapper(f, n, language, wrapped)
  local target = f.twin and f.twin.symbol or f.symbol
  local real = (wrapped[target] and "__real_" or "") .. target
  local list = types(f, language)
  local head = ("PMLW_T(%s) pmlw_w%d(%s)"):format(f.result, n, declared(f, language))
  return table.concat {
    ("\n/* %s */\n"):format((f.title:gsub("%*/", "* /"))),
    ("typedef PMLW_T(%s) pmlw_t%d(%s);\n"):format(f.result, n, #list > 0 and table.concat(list, ", ") or
      language == "c" and "void" or ""),
    description(f, n), f.twin and twin_description(f, n) or "",
    ("PMLW_REAL(%d, %s)\n"):format(n, quoted(real)),
    ("%s PMLW_LABEL(%s);\n"):format(head, quoted(f.symbol)), head, " {\n", body(f, n, language), "}\n",
  }
end

--- The source, and the number of the function that each of its lines belongs to.
---@param name string of the wrapper
---@param list string the file with the includes
---@param functions pmlua.wrap.function[]
---@return string text, table<integer, integer> line_to_function
function M.source(name, list, language, functions)
  local wrapped, owner, pieces = {}, {}, {}
  for _, f in ipairs(functions) do wrapped[f.symbol] = true end
  pieces[1] = ("/* Wrappers of %d functions, made by pmlua wrap %s; changes here are lost. */\n#include %s\n"):format(
    #functions, name, quoted(list)) .. "\n#include <adapter/wrap/pml_wrap.h>\n\n" .. (language == "c" and c_head or cxx_head) ..
    common .. (language == "c" and "" or '\nextern "C" {\n')
  local line = select(2, pieces[1]:gsub("\n", "")) + 1
  for n, f in ipairs(functions) do
    pieces[#pieces + 1] = wrapper(f, n, language, wrapped)
    local lines = select(2, pieces[#pieces]:gsub("\n", ""))
    for i = line, line + lines - 1 do owner[i] = n end
    line = line + lines
  end
  if language ~= "c" then pieces[#pieces + 1] = "\n}\n" end
  return table.concat(pieces), owner
end

return M
