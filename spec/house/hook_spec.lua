-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/hook_spec.lua - a library's events are listed without an application, by pmlua and by PAPI's own tool.

local support = require "spec.core.support"

local hooked = [[
#include "sde_lib.h"
static long long served;
static long long answer(void *param) { (void)param; return 42; }
papi_handle_t papi_sde_hook_list_events(papi_sde_fptr_struct_t *f) {
  void *counter, *recorder, *set;
  papi_handle_t h = f->init("HOOKED");
  f->register_counter(h, "served", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &served);
  f->describe_counter(h, "served", "Requests served");
  f->register_counter(h, "load", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_double, 0);
  f->describe_counter(h, "load", "How busy it is");
  f->register_counter_cb(h, "answer", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, answer, 0);
  f->create_counter(h, "created", PAPI_SDE_RO, &counter);
  f->inc_counter(counter, 1);
  f->create_recorder(h, "latency", sizeof(double), 0, &recorder);
  f->create_counting_set(h, "kinds", &set);
  f->add_counter_to_group(h, "served", "all", PAPI_SDE_SUM);
  return f->get_counter_handle(h, "created") ? h : 0;
}]]

-- As libraries in Fortran do: procedure pointers made of the struct, and strings of C.
local hooked_fortran = [[
function papi_sde_hook_list_events(f) result(handle) bind(C)
  use, intrinsic :: iso_c_binding
  use papi_sde_fortran_wrappers
  implicit none
  type(fptr_struct_t), intent(in) :: f
  type(c_ptr) :: handle, text
  type(c_ptr), target :: counter
  integer(c_long_long), save, target :: served = 0
  integer(c_int) :: error
  procedure(init_t), pointer :: init
  procedure(register_counter_t), pointer :: register_counter
  procedure(describe_counter_t), pointer :: describe_counter
  procedure(create_counter_t), pointer :: create_counter
  procedure(inc_counter_t), pointer :: inc_counter
  procedure(create_recorder_t), pointer :: create_recorder
  procedure(add_counter_to_group_t), pointer :: add_counter_to_group
  procedure(get_counter_handle_t), pointer :: get_counter_handle
  call c_f_procpointer(f%init, init)
  call c_f_procpointer(f%register_counter, register_counter)
  call c_f_procpointer(f%describe_counter, describe_counter)
  call c_f_procpointer(f%create_counter, create_counter)
  call c_f_procpointer(f%inc_counter, inc_counter)
  call c_f_procpointer(f%create_recorder, create_recorder)
  call c_f_procpointer(f%add_counter_to_group, add_counter_to_group)
  call c_f_procpointer(f%get_counter_handle, get_counter_handle)
  text = F_str_to_C('FORTRAN')
  handle = init(text)
  call C_free(text)
  error = register_counter(handle, F_str_to_C('served'), PAPI_SDE_RO + PAPI_SDE_DELTA, PAPI_SDE_long_long, c_loc(served))
  if (error == PAPI_OK) error = describe_counter(handle, F_str_to_C('served'), F_str_to_C('Requests served'))
  if (error == PAPI_OK) error = create_counter(handle, F_str_to_C('created'), PAPI_SDE_RO, c_loc(counter))
  if (error == PAPI_OK) error = inc_counter(get_counter_handle(handle, F_str_to_C('created')), 1_c_long_long)
  if (error == PAPI_OK) error = create_recorder(handle, F_str_to_C('latency'), 8_c_size_t, c_null_funptr, c_loc(counter))
  if (error == PAPI_OK) error = add_counter_to_group(handle, F_str_to_C('served'), F_str_to_C('all'), PAPI_SDE_SUM)
  if (error /= PAPI_OK) handle = c_null_ptr
end function]]

local constructed = [[
#include "sde_lib.h"
static int level;
__attribute__((constructor)) static void begin(void) {
  papi_sde_register_counter(papi_sde_init("LOADED"), "level", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_int, &level);
}]]

local events = { "served", "load", "answer", "created", "latency", "latency:CNT", "kinds", "all" }

--- The path of a library made of source by the compiler that is here.
local function build(source, flags)
  local dir = support.folder()
  support.spit(dir .. "/lib.c", source)
  support.done(support.shell(("cc -shared -fPIC -Wall -Werror -I%s/core/interface/sde %s/lib.c -o %s/lib.so %s")
    :format(support.root, dir, dir, flags or "")))
  return dir .. "/lib.so"
end

describe("A library that lists its events", function()
  if support.shell "command -v cc" ~= 0 then
    return it("needs a compiler", function() pending("there is no C compiler (cc)") end)
  end

  support.with "gfortran" ("is asked in Fortran, too", function()
    local dir = support.folder()
    support.spit(dir .. "/lib.f90", hooked_fortran)
    local status, _, err = support.shell(("cd %s && gfortran -std=f2008 -Wall -Werror -shared -fPIC "
      .. "%s/core/interface/sde/sde_lib.F90 lib.f90 -o lib.so"):format(dir, support.root))
    assert.equal(0, status, err)
    local out
    status, out, err = support.pmlua("events --sde " .. dir .. "/lib.so")
    assert.equal(0, status, err)
    for _, name in ipairs { "served", "created", "latency", "latency:CNT", "all" } do
      assert.truthy(out:find("  sde:::FORTRAN::" .. name .. "%f[%s]"), name .. "\n" .. out)
    end
    assert.matches("FORTRAN::served +Requests served", out)
  end)

  it("is called by pmlua events --sde", function()
    local library = build(hooked)
    local out = support.done(support.pmlua("events --sde " .. library))
    for _, name in ipairs(events) do assert.truthy(out:find("  sde:::HOOKED::" .. name .. "%f[%s]"), name) end
    assert.matches("HOOKED::served +Requests served", out)
    assert.matches("HOOKED::load +How busy it is", out)
    assert.matches("\n8 events\n$", out)
    local _, json = support.pmlua(("events --sde %s '*busy*' --json"):format(library))
    local rows = require("pmlua.json").decode(json)
    assert.same({ 1, "sde:::HOOKED::load", true }, { #rows, rows[1].name, rows[1].available })
  end)

  it("may also register them when it is loaded, linked against libsde or not", function()
    for _, flags in ipairs { "", ("-L%s/compat -lsde -Wl,-rpath-link,%s"):format(support.build, support.build) } do
      local out = support.done(support.pmlua("events --sde " .. build(constructed, flags)))
      assert.matches("sde:::LOADED::level\n\n1 event\n", out)
    end
  end)

  it("is distinguished from a library without hook, and from a file that is not a library", function()
    for says, file in pairs {
      ["has no function papi_sde_hook_list_events%(%)"] = build "int nothing;", ["No such file"] = "/nonexistent.so",
      ["cannot load"] = support.root .. "/Makefile",
    } do
      local status, out, err = support.pmlua("events --sde " .. file)
      assert.same({ 1, "" }, { status, out })
      assert.matches("^pmlua events: [^\n]*" .. says .. "[^\n]*\n$", err)
    end
    assert.equal(2, (support.pmlua "events --sde"))
  end)

  it("is listed by PAPI's papi_native_avail through the drop-in", function()
    if support.shell "command -v papi_native_avail" ~= 0 then
      return pending "papi_native_avail is not installed (Debian: papi-tools)"
    end
    local out = support.done(support.shell(("LD_LIBRARY_PATH=%s/compat papi_native_avail -sde %s"):format(support.build,
      build(hooked))))
    for _, name in ipairs(events) do assert.truthy(out:find("| sde:::HOOKED::" .. name .. " ", 1, true), name .. "\n" .. out) end
    assert.matches("sde:::HOOKED::served[^\n]*\n|%s+Requests served", out)
    assert.matches("sde:::HOOKED::load[^\n]*\n|%s+How busy it is", out)
  end)
end)
