-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/section_spec.lua - sections in C++ and in Fortran programs, as their users compile them.

local support = require "spec.core.support"
local build = os.getenv("PMLUA_BUILD") or "build"

local shell = require "spec.shell"
local sh, write = shell.sh, shell.write

local cxx = [[
#include "adapter/section/pml_section.hpp"
#include <cstdio>
#include <stdexcept>
#include <thread>
static pml::section outer("outer", pml::section_options().record());
static pml::section bytes("bytes", pml::section_options().communication().exclusive().events({"clock::ns"}));
static void work() {
  pml::section_scope call(outer);
  for (int i = 0; i < 3; i++) {
    pml::section_scope inner(bytes);
    inner.work(100);
    inner.work(20, 2);
  }
  PML_SECTION("macro", m);
  pml_section_start(m);
  pml_section_stop(m);
}
int main() {
  std::thread other(work);
  work();
  other.join();
  try {
    pml::section_scope call(outer);
    throw std::runtime_error("in the section");
  } catch (const std::runtime_error &) {
  }
  double median = -1;
  int err = pml_section_quantile(outer.handle(), 50, &median);
  pml_section_row o = outer.read(), b = bytes.read();
  std::printf("%d %d %d %u %u %u %g %u\n", outer.error(), bytes.error(), err == 0 && median >= 0, (unsigned)o.count,
              (unsigned)o.nthreads, (unsigned)b.count, b.work, (unsigned)b.iterations);
  pml::section same("outer"), wrong("outer", pml::section_options().communication());
  std::printf("%d %d %d\n", same.handle() == outer.handle(), wrong.error() < 0, wrong.start() < 0);
  bytes.stop();
  std::printf("%u\n", (unsigned)bytes.read().misuse[PML_SECTION_UNMATCHED]);
}
]]

local fortran = [[
program t
  use, intrinsic :: iso_c_binding
  use pml_sections
  implicit none
  type(pml_section) :: solver, halo, same, none
  type(pml_section_row) :: row
  integer :: i, error
  call pml_section_define('solver', solver, exclusive=.true., error=error)
  print '(I0)', error
  call pml_section_define('halo', halo, communication=.true., record=PML_SECTION_RECORD_ALL, &
                          events=[character(len=12) :: 'clock::ns', 'clock::ticks'], error=error)
  print '(I0)', error
  do i = 1, 3
    call pml_section_start(solver)
    call pml_section_stop(solver, 100.0d0, 10_c_int64_t)
    call pml_section_start('by label  ')
    call pml_section_stop('by label', 5.0d0)
    call pml_section_start(halo)
    call pml_section_stop(halo)
  end do
  call pml_section_read(solver, row)
  print '(I0,1X,F0.1,1X,I0,1X,L1)', row%calls, row%work, row%iterations, row%total_ns >= row%max_ns
  call pml_section_define('by label', same)
  call pml_section_read(same, row)
  print '(I0,1X,F0.1,1X,I0)', row%calls, row%work, row%nthreads
  call pml_section_stop(halo, error=error)
  call pml_section_read(halo, row)
  print '(I0,1X,I0,1X,L1)', row%calls, row%unmatched, error < 0
  call pml_section_start(none, error)
  print '(L1)', error < 0
  call pml_section_enable(.false.)
  call pml_section_start(solver)
  call pml_section_stop(solver)
  call pml_section_stop(solver)
  call pml_section_enable(.true.)
  call pml_section_read(solver, row)
  print '(I0,1X,I0)', row%calls, row%unmatched
  call pml_section_reset()
  call pml_section_read(solver, row)
  print '(I0)', row%calls
end program
]]

describe("Sections", function()
  local dir = support.folder()

  it("serve C++ programs as scopes", function()
    write(dir .. "/t.cpp", cxx)
    local out = shell.done(("g++ -std=c++11 -Wall -Wextra -Werror -Icore %s/t.cpp -o %s/t -L%s -lpmlua -lpthread && "
      .. "LD_LIBRARY_PATH=%s %s/t"):format(dir, dir, build, build, dir))
    assert.equal("0 0 1 3 2 6 720 18\n1 1 1\n1\n", out)
  end)

  it("serve Fortran programs as a module", function()
    local _, missing = sh("command -v gfortran")
    if missing ~= 0 then pending("gfortran is not installed") return end
    write(dir .. "/t.f90", fortran)
    local module = "core/adapter/section/pml_section.F90"
    local out, code = sh(("gfortran -std=f2008 -Wall -Werror -J%s " .. module .. " %s/t.f90 -o %s/tf -L%s -lpmlua")
      :format(dir, dir, dir, build))
    assert.equal(0, code, out)
    out, code = sh(("LD_LIBRARY_PATH=%s %s/tf"):format(build, dir))
    assert.equal(0, code, out)
    assert.equal("0\n0\n3 300.0 30 T\n3 15.0 1\n3 1 T\nT\n3 0\n0\n", out)
  end)
end)
