-- The drop-in for libsde as a user of it sees it: its symbols, and programs in C++ and Fortran.

local support = require "spec.core.support"
local build = os.getenv("PMLUA_BUILD") or "build"
local include = "core/interface/sde"

local shell = require "spec.shell"
local sh, write = shell.sh, shell.write

local functions = [[
papi_sde_init papi_sde_shutdown papi_sde_register_counter papi_sde_register_counter_cb papi_sde_unregister_counter
papi_sde_describe_counter papi_sde_add_counter_to_group papi_sde_create_counter papi_sde_inc_counter
papi_sde_reset_counter papi_sde_create_recorder papi_sde_record papi_sde_reset_recorder papi_sde_create_counting_set
papi_sde_counting_set_insert papi_sde_counting_set_remove papi_sde_get_counter_handle papi_sde_compare_long_long
papi_sde_compare_int papi_sde_compare_double papi_sde_compare_float sde_ti_read_counter sde_ti_write_counter
sde_ti_reset_counter sde_ti_name_to_code sde_ti_is_simple_counter sde_ti_is_counter_set_to_overflow
sde_ti_set_counter_overflow sde_ti_get_event_name sde_ti_get_event_description sde_ti_get_num_reg_events
sde_ti_shutdown _sde_be_verbose _sde_debug]]

local cxx = [[
#include "sde_lib.h"
#include "sde_lib.hpp"
#include <cstdio>
extern "C" int sde_ti_name_to_code(const char *, uint32_t *);
extern "C" int sde_ti_read_counter(uint32_t, long long *);
static long long twice(int *v) { return 2 * *v; }
static long long value(const char *name) {
  uint32_t code;
  long long v = -99;
  if (sde_ti_name_to_code(name, &code) == 0) sde_ti_read_counter(code, &v);
  return v;
}
int main() {
  papi_sde::PapiSde sde("CXX");
  int seven = 7;
  double real = 0.5;
  sde.register_counter("I", PAPI_SDE_RO | PAPI_SDE_INSTANT, seven);
  sde.register_counter("D", PAPI_SDE_RO | PAPI_SDE_INSTANT, real);
  sde.register_counter_cb("CB", PAPI_SDE_RO | PAPI_SDE_INSTANT, twice, seven);
  sde.add_counter_to_group("I", "G", PAPI_SDE_SUM);
  auto *c = sde.create_counter("C", PAPI_SDE_RO | PAPI_SDE_INSTANT);
  auto *r = sde.create_recorder("R", sizeof(double), papi_sde_compare_double);
  auto *s = sde.create_counting_set("S");
  ++*c; ++*c; --*c; *c += 40LL;
  r->record(real);
  s->insert(seven, 1u);
  int wrong = r->record(seven);
  auto *list = reinterpret_cast<cset_list_object_t *>(value("CXX::S"));
  std::printf("%lld %lld %lld %lld %lld %d %u\n", value("CXX::I"), value("CXX::CB"), value("CXX::G"), value("CXX::C"),
              value("CXX::R:CNT"), wrong, list->count);
  int once = sde.unregister_counter("I"), again = sde.unregister_counter("I");
  std::printf("%d %d\n", once, again);
  delete c; delete r; delete s;
}
]]

-- The functions of C as PAPI's module names them, F_str_to_C, and arguments by their names.
--- The head of a Fortran program that reads events, with the interfaces that it declares.
local function asks(name)
  return ([[
program t
  use, intrinsic :: iso_c_binding
  use papi_sde_fortran_wrappers
  implicit none
  interface
    integer(c_int) function name_to_code(name, code) bind(C, name="sde_ti_name_to_code")
      import :: c_int, c_ptr, c_char, c_int32_t
      %s
      integer(c_int32_t), intent(out) :: code
    end function
    integer(c_int) function read_counter(code, v) bind(C, name="sde_ti_read_counter")
      import :: c_int, c_int32_t, c_long_long
      integer(c_int32_t), value :: code
      integer(c_long_long), intent(out) :: v
    end function
  end interface
]]):format(name)
end

local fortran_of_c = asks "type(c_ptr), value :: name" .. [[
  type(c_ptr) :: lib, text
  type(c_ptr), target :: counter, recorder
  integer(c_long_long), target :: five
  character(kind=c_char), pointer :: seen(:)
  integer :: error
  integer(c_int) :: wrong
  five = 5
  lib = papif_sde_init_F08(F_str_to_C('F08'))
  wrong = papif_sde_register_counter_F08(lib, F_str_to_C('V'), PAPI_SDE_INSTANT, PAPI_SDE_long_long, c_loc(five))
  wrong = wrong + papif_sde_describe_counter_F08(lib, F_str_to_C('V'), F_str_to_C('five'))
  wrong = wrong + papif_sde_register_counter_cb_F08(lib, F_str_to_C('CB'), PAPI_SDE_INSTANT, PAPI_SDE_long_long, &
      c_funloc(two_more), c_loc(five))
  wrong = wrong + papif_sde_create_counter_F08(lib, F_str_to_C('C'), PAPI_SDE_INSTANT, c_loc(counter))
  wrong = wrong + papif_sde_inc_counter_F08(papif_sde_get_counter_handle_F08(lib, F_str_to_C('C')), 9_c_long_long)
  wrong = wrong + papif_sde_create_recorder_F08(lib, F_str_to_C('R'), c_sizeof(five), c_null_funptr, c_loc(recorder))
  wrong = wrong + papif_sde_record_F08(recorder, c_sizeof(five), c_loc(five))
  call papif_sde_record(recorder_handle=recorder, typesize=c_sizeof(five), value_to_rec=c_loc(five), error=error)
  print '(4(I0,1X),I0)', value('V'), value('CB'), value('C'), value('R:CNT'), wrong + error
  call papif_sde_init(lib_name='F08', handle=lib)
  call papif_sde_register_counter(handle=lib, event_name='K', cntr_mode=PAPI_SDE_INSTANT, &
      cntr_type=PAPI_SDE_long_long, counter=c_loc(five), error=error)
  call papif_sde_describe_counter(handle=lib, event_name='K', event_desc='by its name')
  print '(I0,1X,I0)', value('K'), error
  text = F_str_to_C('F1 ')
  call c_f_pointer(text, seen, [4])
  if (seen(4) == c_null_char) print '(3A)', seen(1:3)
  call C_free(text)
contains
  integer(c_long_long) function two_more(of) bind(C)
    integer(c_long_long), intent(in) :: of
    two_more = of + 2
  end function
  integer(c_long_long) function value(event)
    character(len=*), intent(in) :: event
    integer(c_int32_t) :: code
    value = -99
    if (name_to_code(F_str_to_C('F08::' // event), code) == 0) wrong = wrong + read_counter(code, value)
  end function
end program
]]

-- A thread counts and ends after the library was closed: its code for a thread's end is still loaded.
local closing = support.C .. [[
static void *so;
static sem_t counted, closed;
static void *work(void *arg) {
  void *(*init)(const char *);
  *(void **)&init = dlsym(so, "papi_sde_init");
  int (*create)(void *, const char *, int, void **);
  int (*inc)(void *, long long);
  *(void **)&create = dlsym(so, "papi_sde_create_counter");
  *(void **)&inc = dlsym(so, "papi_sde_inc_counter");
  void *counter = NULL;
  if (create(init("CLOSING"), "C", 0, &counter) == 0) inc(counter, 1);
  sem_post(&counted);
  sem_wait(&closed);
  return arg;
}
int main(int argc, char **argv) {
  pthread_t t;
  sem_init(&counted, 0, 0);
  sem_init(&closed, 0, 0);
  if (argc < 2 || !(so = dlopen(argv[1], RTLD_NOW)) || pthread_create(&t, NULL, work, NULL)) return 1;
  sem_wait(&counted);
  dlclose(so);
  sem_post(&closed);
  pthread_join(t, NULL);
  puts("ended");
}
]]

local fortran = asks "character(kind=c_char), intent(in) :: name(*)" .. [[
  type(c_ptr) :: lib, found
  type(c_ptr), target :: counter, recorder
  integer(c_long_long), target :: v
  real(c_double), target :: x
  integer :: error, again
  v = 11
  x = 2.5d0
  call papif_sde_init('FORT', lib, error)
  call papif_sde_register_counter(lib, 'V', PAPI_SDE_RO + PAPI_SDE_INSTANT, PAPI_SDE_long_long, c_loc(v), error)
  call papif_sde_describe_counter(lib, 'V', 'eleven')
  call papif_sde_create_counter(lib, 'C', PAPI_SDE_INSTANT, c_loc(counter), error)
  call papif_sde_inc_counter(counter, 3_c_long_long)
  call papif_sde_get_counter_handle(lib, 'C', found)
  call papif_sde_inc_counter(found, 4_c_long_long)
  call papif_sde_create_recorder(lib, 'R', c_sizeof(x), c_null_funptr, c_loc(recorder), error)
  call papif_sde_record(recorder, c_sizeof(x), c_loc(x), error)
  call papif_sde_add_counter_to_group(lib, 'V', 'G', PAPI_SDE_SUM, error)
  print '(4(I0,1X),I0)', value('V'), value('C'), value('R:CNT'), value('G'), error
  call papif_sde_unregister_counter(lib, 'C', error)
  call papif_sde_unregister_counter(lib, 'C', again)
  print '(I0,1X,I0)', error, again
contains
  integer(c_long_long) function value(event)
    character(len=*), intent(in) :: event
    integer(c_int32_t) :: code
    value = -99
    if (name_to_code('FORT::' // event // c_null_char, code) == 0) error = read_counter(code, value)
  end function
end program
]]

describe("the drop-in for libsde", function()
  local dir = support.folder()

  it("exports only libsde's names", function()
    local want, have = {}, {}
    for name in functions:gmatch("%S+") do want[#want + 1] = name end
    for name in sh(("nm -D --defined-only %s/compat/libsde.so"):format(build)):gmatch("%x+ %a ([%w_]+)") do
      have[#have + 1] = name
    end
    table.sort(want)
    table.sort(have)
    assert.same(want, have)
  end)

  it("is found under the names that programs are linked with", function()
    local out = sh(("objdump -p %s/compat/libsde.so"):format(build))
    assert.equal("libsde.so.1", out:match("SONAME%s+(%S+)"))
    local _, code = sh(("cd %s/compat && test -e libsde.so && test -e libsde.so.1 && test -e libsde.so.1.0"):format(build))
    assert.equal(0, code)
  end)

  it("may be closed while threads that counted still run", function()
    write(dir .. "/c.c", closing)
    local out = shell.done(("cc %s/c.c -o %s/c -lpthread -ldl && %s/c %s/compat/libsde.so.1"):format(dir, dir, dir, build))
    assert.equal("ended\n", out)
  end)

  it("serves C++ programs", function()
    write(dir .. "/t.cpp", cxx)
    local out = shell.done(("g++ -std=c++11 -Wall -Wextra -Werror -I%s %s/t.cpp -o %s/t -L%s/compat -lsde -Wl,-rpath-link,%s && "
      .. "LD_LIBRARY_PATH=%s/compat %s/t"):format(include, dir, dir, build, build, build, dir))
    assert.equal("7 14 7 41 1 -1 1\n0 -1\n", out)
  end)

  local function fortran_prints(program, expected)
    local _, missing = sh("command -v gfortran")
    if missing ~= 0 then pending("gfortran is not installed") return end
    write(dir .. "/t.f90", program)
    local out, code = sh(("gfortran -std=f2008 -Wall -Werror -J%s %s/sde_lib.F90 %s/t.f90 -o %s/tf -L%s/compat -lsde "
      .. "-Wl,-rpath-link,%s"):format(dir, include, dir, dir, build, build))
    assert.equal(0, code, out)
    out, code = sh(("LD_LIBRARY_PATH=%s/compat %s/tf"):format(build, dir))
    assert.equal(0, code, out)
    assert.equal(expected, out)
  end

  it("serves Fortran programs", function()
    fortran_prints(fortran, "11 7 1 11 0\n0 -1\n")
  end)

  it("serves Fortran programs that call the C functions, with C strings, and with PAPI's argument names", function()
    fortran_prints(fortran_of_c, "5 7 9 2 0\n5 0\nF1 \n")
  end)
end)
