! SPDX-License-Identifier: BSD-3-Clause
! core/adapter/section/pml_section.F90 - sections in Fortran 2008.
!
!   use pml_sections
!   type(pml_section) :: solver
!   call pml_section_define('solver', solver, exclusive=.true.)
!   call pml_section_start(solver)                 ! or by label: call pml_section_start('solver')
!   ...
!   call pml_section_stop(solver, 2.0d0 * n, 1_8)  ! operations or bytes, iterations; both may be left out
!
! Compile it with the program's own compiler and link libpmlua. Costs, threads and misuse are those of pml_section.h;
! trailing blanks of labels do not count. Each subroutine takes an optional error: 0, or a negative code of pmlua.
module pml_sections
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: pml_section, pml_section_row, pml_section_define, pml_section_start, pml_section_stop, pml_section_read
  public :: pml_section_reset, pml_section_enable

  integer(c_int), parameter, public :: PML_SECTION_NO_RECORD = 0, PML_SECTION_RECORD_ALL = 1, PML_SECTION_RECORD_SKETCH = 2

  type :: pml_section
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  ! As struct pml_section_row; times in ns.
  type, bind(C) :: pml_section_row
    type(c_ptr) :: section = c_null_ptr
    integer(c_int64_t) :: thread = 0
    integer(c_int32_t) :: nthreads = 0, running = 0
    integer(c_int64_t) :: calls = 0
    real(c_double) :: total_ns = 0, self_ns = 0, min_ns = 0, max_ns = 0, mean_ns = 0, stddev_ns = 0, work = 0
    integer(c_int64_t) :: iterations = 0
    integer(c_int64_t) :: unmatched = 0, foreign = 0, crossed = 0, abandoned = 0, bad_work = 0, unread = 0
    integer(c_int64_t) :: unrecorded = 0, unstarted = 0, overlap = 0
    type(c_ptr) :: value = c_null_ptr
  end type

  ! As struct pml_section_options.
  type, bind(C) :: options
    integer(c_int) :: kind
    logical(c_bool) :: exclusive
    integer(c_int) :: record
    type(c_ptr) :: events
    integer(c_size_t) :: nevents
    type(c_ptr) :: file
    integer(c_int32_t) :: line
  end type

  interface
    integer(c_int) function c_define(label, o, section) bind(C, name="pml_section_define")
      import :: c_int, c_char, c_ptr, options
      character(kind=c_char), intent(in) :: label(*)
      type(options), intent(in) :: o
      type(c_ptr), intent(out) :: section
    end function
    integer(c_int) function c_start(section) bind(C, name="pml__section_start")
      import :: c_int, c_ptr
      type(c_ptr), value :: section
    end function
    integer(c_int) function c_stop(section) bind(C, name="pml__section_stop")
      import :: c_int, c_ptr
      type(c_ptr), value :: section
    end function
    integer(c_int) function c_stop_work(section, work, iterations) bind(C, name="pml__section_stop_work")
      import :: c_int, c_ptr, c_double, c_int64_t
      type(c_ptr), value :: section
      real(c_double), value :: work
      integer(c_int64_t), value :: iterations
    end function
    integer(c_int) function c_start_label(label) bind(C, name="pml__section_start_label")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: label(*)
    end function
    integer(c_int) function c_stop_label(label) bind(C, name="pml__section_stop_label")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: label(*)
    end function
    integer(c_int) function c_stop_label_work(label, work, iterations) bind(C, name="pml__section_stop_label_work")
      import :: c_int, c_char, c_double, c_int64_t
      character(kind=c_char), intent(in) :: label(*)
      real(c_double), value :: work
      integer(c_int64_t), value :: iterations
    end function
    integer(c_int) function c_read(section, row, values) bind(C, name="pml_section_read")
      import :: c_int, c_ptr, pml_section_row
      type(c_ptr), value :: section, values
      type(pml_section_row), intent(out) :: row
    end function
    subroutine c_enable(on) bind(C, name="pml_section_enable")
      import :: c_bool
      logical(c_bool), value :: on
    end subroutine
    subroutine pml_section_reset() bind(C, name="pml_section_reset")
    end subroutine
  end interface

  interface pml_section_start
    module procedure start_handle, start_label
  end interface
  interface pml_section_stop
    module procedure stop_handle, stop_label
  end interface

contains

  subroutine pml_section_define(label, section, communication, exclusive, record, events, error)
    character(len=*), intent(in) :: label
    type(pml_section), intent(out) :: section
    logical, intent(in), optional :: communication, exclusive
    integer(c_int), intent(in), optional :: record
    character(len=*), intent(in), optional :: events(:)
    integer, intent(out), optional :: error
    character(kind=c_char), allocatable, target :: text(:, :)
    type(c_ptr), allocatable, target :: names(:)
    type(options) :: o
    integer :: i, k, err
    o = options(0, .false._c_bool, PML_SECTION_NO_RECORD, c_null_ptr, 0, c_null_ptr, 0)
    if (present(communication)) o%kind = merge(1, 0, communication)
    if (present(exclusive)) o%exclusive = logical(exclusive, c_bool)
    if (present(record)) o%record = record
    if (present(events)) then
      allocate(text(len(events) + 1, size(events)), names(size(events)))
      text = c_null_char
      do i = 1, size(events)
        do k = 1, len_trim(events(i))
          text(k, i) = events(i)(k:k)
        end do
        names(i) = c_loc(text(1, i))
      end do
      o%nevents = size(events)
      if (size(events) > 0) o%events = c_loc(names)
    end if
    err = c_define(trim(label) // c_null_char, o, section%handle)
    if (present(error)) error = err
  end subroutine

  subroutine start_handle(section, error)
    type(pml_section), intent(in) :: section
    integer, intent(out), optional :: error
    integer :: err
    err = c_start(section%handle)
    if (present(error)) error = err
  end subroutine

  subroutine start_label(label, error)
    character(len=*), intent(in) :: label
    integer, intent(out), optional :: error
    integer :: err
    err = c_start_label(trim(label) // c_null_char)
    if (present(error)) error = err
  end subroutine

  subroutine stop_handle(section, work, iterations, error)
    type(pml_section), intent(in) :: section
    real(c_double), intent(in), optional :: work
    integer(c_int64_t), intent(in), optional :: iterations
    integer, intent(out), optional :: error
    integer :: err
    if (present(work)) then
      err = c_stop_work(section%handle, work, iterations_of(iterations))
    else
      err = c_stop(section%handle)
    end if
    if (present(error)) error = err
  end subroutine

  subroutine stop_label(label, work, iterations, error)
    character(len=*), intent(in) :: label
    real(c_double), intent(in), optional :: work
    integer(c_int64_t), intent(in), optional :: iterations
    integer, intent(out), optional :: error
    integer :: err
    if (present(work)) then
      err = c_stop_label_work(trim(label) // c_null_char, work, iterations_of(iterations))
    else
      err = c_stop_label(trim(label) // c_null_char)
    end if
    if (present(error)) error = err
  end subroutine

  pure integer(c_int64_t) function iterations_of(iterations)
    integer(c_int64_t), intent(in), optional :: iterations
    iterations_of = 1
    if (present(iterations)) iterations_of = iterations
  end function

  ! The section's statistics, merged over threads.
  subroutine pml_section_read(section, row, error)
    type(pml_section), intent(in) :: section
    type(pml_section_row), intent(out) :: row
    integer, intent(out), optional :: error
    integer :: err
    err = -22
    if (c_associated(section%handle)) err = c_read(section%handle, row, c_null_ptr)
    if (present(error)) error = err
  end subroutine

  subroutine pml_section_enable(on)
    logical, intent(in) :: on
    call c_enable(logical(on, c_bool))
  end subroutine
end module
