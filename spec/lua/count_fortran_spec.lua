-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/count_fortran_spec.lua - pmlua cc --count with flang: Fortran against counts by hand.

local counting = require "spec.lua.counting"
local support = require "spec.core.support"
local llvm_of = require "pmlua.internal.cc.llvm"

local product = [[
program product_of_matrices
  implicit none
  integer, parameter :: n = 64
  real(8) :: a(n, n), b(n, n), c(n, n)
  integer :: i, j, k
  do j = 1, n
    do i = 1, n
      a(i, j) = 1.0d0
      b(i, j) = 2.0d0
      c(i, j) = 0.0d0
    end do
  end do
  do j = 1, n
    do k = 1, n
      do i = 1, n
        c(i, j) = c(i, j) + a(i, k) * b(k, j)
      end do
    end do
  end do
  if (c(n, n) /= 128.0d0) stop 1
end program
]]

local vectors = [[
module vectors
  implicit none
contains
  function dot(x, y) result(s)
    real(8), intent(in) :: x(:), y(:)
    real(8) :: s
    integer :: i
    s = 0.0d0
    do i = 1, size(x)
      s = s + x(i) * y(i)
    end do
  end function
  subroutine axpy(n, a, x, y)
    integer, intent(in) :: n
    real(4), intent(in) :: a, x(n)
    real(4), intent(inout) :: y(n)
    integer :: i
    do i = 1, n
      y(i) = y(i) + a * x(i)
    end do
  end subroutine
end module
]]

local allocated = [[
program allocated
  use vectors
  implicit none
  real(8), allocatable :: x(:), y(:)
  real(4), allocatable :: u(:), v(:)
  integer :: n
  n = 1000
  allocate(x(n), y(n), u(n), v(n))
  x = 1.5d0
  y = 2.0d0
  u = 1.0
  v = 2.0
  if (dot(x, y) /= 3000.0d0) stop 1
  call axpy(n, 3.0, u, v)
  if (v(n) /= 5.0) stop 2
  x = sqrt(y) + x
  if (x(n) < 2.9d0) stop 3
  deallocate(x)
end program
]]

local team = [[
program team
  implicit none
  real(8), allocatable :: a(:)
  integer :: i
  allocate(a(10000))
  !$omp parallel do num_threads(2)
  do i = 1, 10000
    a(i) = 2.0d0 * i
  end do
  !$omp end parallel do
  if (a(10000) /= 20000.0d0) stop 1
end program
]]

--- Make a folder with these files.
local function folder(files)
  local dir = support.folder()
  for name, text in pairs(files) do support.spit(dir .. "/" .. name, text) end
  return dir
end

local function sh(dir, command)
  local status, out, err = support.shell(("cd %s && %s"):format(support.quote(dir), command))
  if status ~= 0 then error(out .. err, 3) end
  return err
end

--- The operations of a kind, summed over vectors of all lengths.
local function elements(counts, kind, precision)
  local lanes = precision == "float" and { [""] = 1, _128 = 4, _256 = 8, _512 = 16 } or { [""] = 1, _128 = 2, _256 = 4, _512 = 8 }
  local n = 0
  for form, each in pairs(lanes) do n = n + each * counts[("fp_%s_%s%s"):format(kind, precision, form)] end
  return n
end

--- Why no flang can be tested on this machine, or nil.
local function missing(flang, version, exec)
  if not llvm_of.instrumenter(version) then return "pmlua was built without LLVM " .. version end
  if not counting.plugin(version) then return "pmlua was built without the plugin for LLVM " .. version end
  if support.shell("command -v " .. flang) ~= 0 then return flang .. " is not installed" end
  local dir = folder { ["empty.f90"] = "program empty\nend program\n" }
  local status, _, err = support.shell(("cd %s && %s %s empty.f90 -o empty"):format(dir, flang, exec))
  if status ~= 0 then return "it does not link: " .. err:match "[^\n]*" end
end

local function specs(flang, exec)
  local link = flang .. " " .. exec

  local function each(what, f)
    it(flang .. " " .. what, function()
      for _, at in ipairs { "source", "final" } do
        for _, level in ipairs { "-O0", "-O2" } do
          local done, err = pcall(f, counting.cc("--at=" .. at), level, at)
          if not done then error(("%s %s: %s"):format(at, level, err), 0) end
        end
      end
    end)
  end

  each("a matrix product, to the operation", function(cc, level, at)
    local dir = folder { ["product.f90"] = product }
    assert.equal("", sh(dir, ("%s %s %s product.f90 -o product"):format(cc, link, level)))
    local counts, said, status = counting.run(dir .. "/product")
    assert.equal(0, status, said)
    assert.equal(2 * 64 ^ 3, counts.flop_count_I)
    assert.same({ 64 ^ 3, 64 ^ 3 }, { elements(counts, "add", "double"), elements(counts, "mul", "double") })
    if at == "source" then
      assert.equal(3 * 64 ^ 3 + 1, counts.load_fp_8) -- and the one of the test
      assert.equal(64 ^ 3 + 3 * 64 ^ 2, counts.store_fp_8)
    end
  end)

  each("a module and its user, with allocated arrays, in separate objects", function(cc, level)
    local dir = folder { ["vectors.f90"] = vectors, ["allocated.f90"] = allocated }
    for _, file in ipairs { "vectors", "allocated" } do sh(dir, ("%s %s %s -c %s.f90"):format(cc, flang, level, file)) end
    sh(dir, ("%s %s vectors.o allocated.o -o allocated"):format(cc, link))
    local counts, said, status = counting.run(dir .. "/allocated")
    assert.equal(0, status, said)
    assert.equal(6000, counts.flop_count_I)
    assert.same({ 2000, 1000 }, { elements(counts, "add", "double"), elements(counts, "mul", "double") })
    assert.same({ 1000, 1000 }, { elements(counts, "add", "float"), elements(counts, "mul", "float") })
    assert.equal(1000, elements(counts, "sqrt", "double"))
  end)

  it(flang .. " an operation that its runtime carries out, by name", function()
    local dir = folder { ["sums.f90"] = "program sums\n  real(8) :: a(10)\n  a = 1\n  print *, sum(a)\nend program\n" }
    local said = sh(dir, ("%s %s -O0 -c sums.f90"):format(counting.cc(), flang))
    local what = "in _QQmain: an operation inside Fortran's runtime library, not counted"
    assert.matches("^pmlua cc: [^\n]*sums%.f90[:%d]*: " .. what, said)
    assert.equal(1, select(2, said:gsub("\n", "")))
  end)

  local status, omp = support.shell "ls -d /usr/lib/llvm-*/lib/libomp.so /usr/lib/*/libomp.so 2>/dev/null"
  omp = omp:match "([^\n]*)/libomp%.so"
  if not omp then return pending(("%s a team of OpenMP: there is no libomp.so (%d)"):format(flang, status)) end
  each("a team of two threads of OpenMP", function(cc, level)
    local dir = folder { ["team.f90"] = team }
    sh(dir, ("%s %s %s -fopenmp team.f90 -o team -L%s -lomp"):format(cc, link, level, omp))
    local counts, said, ended = counting.run(dir .. "/team")
    assert.equal(0, ended, said)
    assert.equal(10000, elements(counts, "mul", "double"))
    assert.equal(10000, elements(counts, "convert", "double"))
  end)
end

-- A subroutine that needs no library of Fortran, called from C: flang 16 of Debian has none to link with.
local scaled = " subroutine s(a)\n real(8) :: a\n a = a*2d0\n end subroutine\n"
local caller = "void s_(double *a);\nint main(void) {\n  double a = 1;\n  for (int i = 0; i < 10; i++) s_(&a);\n"
  .. "  return a == 1024 ? 0 : 1;\n}\n"

describe("pmlua cc --count compiles to objects with flang", function()
  for version = 16, 19 do
    local flang, clang = "flang-new-" .. version, "clang-" .. version
    local function here(name) return support.shell("command -v " .. name) == 0 end
    local why = not llvm_of.instrumenter(version) and "pmlua was built without LLVM " .. version
      or not counting.plugin(version) and "pmlua was built without the plugin for LLVM " .. version
      or not here(flang) and flang .. " is not installed" or not here(clang) and clang .. " is not installed"
    if why then pending(flang .. ": " .. why) else
      it(flang .. " a subroutine, at each level", function()
        for _, at in ipairs { "source", "final" } do
          for _, level in ipairs { "-O0", "-O2" } do
            local dir = folder { ["s.f90"] = scaled, ["main.c"] = caller }
            assert.equal("", sh(dir, ("%s %s %s -c s.f90 -o s.o"):format(counting.cc("--at=" .. at), flang, level)))
            sh(dir, ("%s -c main.c -o main.o && %s main.o s.o -o program -L%s -lpmlua_count -Wl,-rpath,%s"):format(clang, clang,
              support.build, support.build))
            local counts, said, ended = counting.run(dir .. "/program")
            assert.equal(0, ended, said)
            assert.equal(10, counts.flop_count_I, at .. level)
          end
        end
      end)
    end
  end
end)

describe("pmlua cc --count counts with flang", function()
  for version = 16, 19 do
    local flang, exec = "flang-new-" .. version, version < 18 and "-flang-experimental-exec" or ""
    local why = missing(flang, version, exec)
    if why then pending(flang .. ": " .. why) else specs(flang, exec) end
  end
end)
