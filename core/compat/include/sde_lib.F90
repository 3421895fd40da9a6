! SPDX-License-Identifier: BSD-3-Clause
! core/compat/include/sde_lib.F90 - libsde for Fortran 2008: module papi_sde_fortran_wrappers, to be compiled with the
! code that uses it (gfortran mycode.F90 sde_lib.F90 -lsde). Each papif_sde_NAME is papi_sde_NAME of sde_lib.h with
! Fortran strings; error, the last argument, is optional and 0 when all went well. Create calls take the address of a
! type(c_ptr) to fill in: c_loc(handle), or c_null_ptr.
module papi_sde_fortran_wrappers
  use, intrinsic :: iso_c_binding
  implicit none

  integer, parameter :: PAPI_OK = 0
  integer, parameter :: PAPI_SDE_RO = 0
  integer, parameter :: PAPI_SDE_RW = 1
  integer, parameter :: PAPI_SDE_DELTA = 0
  integer, parameter :: PAPI_SDE_INSTANT = 16
  integer, parameter :: PAPI_SDE_long_long = 0
  integer, parameter :: PAPI_SDE_int = 1
  integer, parameter :: PAPI_SDE_double = 2
  integer, parameter :: PAPI_SDE_float = 3
  integer(c_int32_t), parameter :: PAPI_SDE_SUM = 0
  integer(c_int32_t), parameter :: PAPI_SDE_MAX = 1
  integer(c_int32_t), parameter :: PAPI_SDE_MIN = 2

  ! What papi_sde_hook_list_events() is handed: the functions in the order of papi_sde_fptr_struct_t.
  type, bind(C) :: fptr_struct_t
    type(c_funptr) :: init
    type(c_funptr) :: shutdown
    type(c_funptr) :: register_counter
    type(c_funptr) :: register_counter_cb
    type(c_funptr) :: unregister_counter
    type(c_funptr) :: describe_counter
    type(c_funptr) :: add_counter_to_group
    type(c_funptr) :: create_counter
    type(c_funptr) :: inc_counter
    type(c_funptr) :: create_recorder
    type(c_funptr) :: create_counting_set
    type(c_funptr) :: counting_set_insert
    type(c_funptr) :: counting_set_remove
    type(c_funptr) :: record
    type(c_funptr) :: reset_recorder
    type(c_funptr) :: reset_counter
    type(c_funptr) :: get_counter_handle
  end type fptr_struct_t

  ! The C functions; the *_t are also the interfaces for procedure pointers made of the struct above.
  abstract interface
    type(c_ptr) function init_t(name)
      import :: c_ptr
      type(c_ptr), value :: name
    end function
    integer(c_int) function register_counter_t(handle, event, mode, kind, counter)
      import :: c_ptr, c_int
      type(c_ptr), value :: handle, event
      integer(c_int), value :: mode, kind
      type(c_ptr), value :: counter
    end function
    integer(c_int) function create_counter_t(handle, event, mode, counter)
      import :: c_ptr, c_int
      type(c_ptr), value :: handle, event
      integer(c_int), value :: mode
      type(c_ptr), value :: counter
    end function
  end interface

  interface
    type(c_ptr) function sde_c_init(name) bind(C, name="papi_sde_init")
      import :: c_ptr, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function sde_c_shutdown(handle) bind(C, name="papi_sde_shutdown")
      import :: c_ptr, c_int
      type(c_ptr), value :: handle
    end function
    integer(c_int) function sde_c_register(handle, event, mode, kind, counter) bind(C, name="papi_sde_register_counter")
      import :: c_ptr, c_char, c_int
      type(c_ptr), value :: handle, counter
      character(kind=c_char), intent(in) :: event(*)
      integer(c_int), value :: mode, kind
    end function
    integer(c_int) function sde_c_register_cb(handle, event, mode, kind, callback, param) &
        bind(C, name="papi_sde_register_counter_cb")
      import :: c_ptr, c_funptr, c_char, c_int
      type(c_ptr), value :: handle, param
      character(kind=c_char), intent(in) :: event(*)
      integer(c_int), value :: mode, kind
      type(c_funptr), value :: callback
    end function
    integer(c_int) function sde_c_unregister(handle, event) bind(C, name="papi_sde_unregister_counter")
      import :: c_ptr, c_char, c_int
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: event(*)
    end function
    integer(c_int) function sde_c_describe(handle, event, description) bind(C, name="papi_sde_describe_counter")
      import :: c_ptr, c_char, c_int
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: event(*), description(*)
    end function
    integer(c_int) function sde_c_group(handle, event, group, flags) bind(C, name="papi_sde_add_counter_to_group")
      import :: c_ptr, c_char, c_int, c_int32_t
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: event(*), group(*)
      integer(c_int32_t), value :: flags
    end function
    integer(c_int) function sde_c_create(handle, event, mode, counter) bind(C, name="papi_sde_create_counter")
      import :: c_ptr, c_char, c_int
      type(c_ptr), value :: handle, counter
      character(kind=c_char), intent(in) :: event(*)
      integer(c_int), value :: mode
    end function
    integer(c_int) function sde_c_inc(counter, by) bind(C, name="papi_sde_inc_counter")
      import :: c_ptr, c_int, c_long_long
      type(c_ptr), value :: counter
      integer(c_long_long), value :: by
    end function
    integer(c_int) function sde_c_reset(counter) bind(C, name="papi_sde_reset_counter")
      import :: c_ptr, c_int
      type(c_ptr), value :: counter
    end function
    integer(c_int) function sde_c_create_recorder(handle, event, bytes, compare, recorder) &
        bind(C, name="papi_sde_create_recorder")
      import :: c_ptr, c_funptr, c_char, c_int, c_size_t
      type(c_ptr), value :: handle, recorder
      character(kind=c_char), intent(in) :: event(*)
      integer(c_size_t), value :: bytes
      type(c_funptr), value :: compare
    end function
    integer(c_int) function sde_c_record(recorder, bytes, element) bind(C, name="papi_sde_record")
      import :: c_ptr, c_int, c_size_t
      type(c_ptr), value :: recorder, element
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function sde_c_reset_recorder(recorder) bind(C, name="papi_sde_reset_recorder")
      import :: c_ptr, c_int
      type(c_ptr), value :: recorder
    end function
    type(c_ptr) function sde_c_handle(handle, event) bind(C, name="papi_sde_get_counter_handle")
      import :: c_ptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: event(*)
    end function
  end interface


  private :: tell

contains

  subroutine tell(code, error)
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: error
    if (present(error)) error = int(code)
  end subroutine

  subroutine papif_sde_init(library, handle, error)
    character(len=*), intent(in) :: library
    type(c_ptr), intent(out) :: handle
    integer, intent(out), optional :: error
    handle = sde_c_init(library // c_null_char)
    call tell(merge(0_c_int, -14_c_int, c_associated(handle)), error)
  end subroutine

  subroutine papif_sde_shutdown(handle, error)
    type(c_ptr), intent(in) :: handle
    integer, intent(out), optional :: error
    call tell(sde_c_shutdown(handle), error)
  end subroutine

  subroutine papif_sde_register_counter(handle, event, mode, kind, counter, error)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: event
    integer, intent(in) :: mode, kind
    type(c_ptr), value :: counter
    integer, intent(out), optional :: error
    call tell(sde_c_register(handle, event // c_null_char, int(mode, c_int), int(kind, c_int), counter), error)
  end subroutine

  subroutine papif_sde_register_counter_cb(handle, event, mode, kind, callback, param, error)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: event
    integer, intent(in) :: mode, kind
    type(c_funptr), intent(in) :: callback
    type(c_ptr), value :: param
    integer, intent(out), optional :: error
    call tell(sde_c_register_cb(handle, event // c_null_char, int(mode, c_int), int(kind, c_int), callback, param), error)
  end subroutine

  subroutine papif_sde_unregister_counter(handle, event, error)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: event
    integer, intent(out), optional :: error
    call tell(sde_c_unregister(handle, event // c_null_char), error)
  end subroutine

  subroutine papif_sde_describe_counter(handle, event, description, error)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: event, description
    integer, intent(out), optional :: error
    call tell(sde_c_describe(handle, event // c_null_char, description // c_null_char), error)
  end subroutine

  subroutine papif_sde_add_counter_to_group(handle, event, group, flags, error)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: event, group
    integer(c_int32_t), intent(in) :: flags
    integer, intent(out), optional :: error
    call tell(sde_c_group(handle, event // c_null_char, group // c_null_char, flags), error)
  end subroutine

  subroutine papif_sde_create_counter(handle, event, mode, counter, error)
    type(c_ptr), value :: handle
    character(len=*), intent(in) :: event
    integer(c_int), value :: mode
    type(c_ptr), value :: counter
    integer, intent(out), optional :: error
    call tell(sde_c_create(handle, event // c_null_char, mode, counter), error)
  end subroutine

  subroutine papif_sde_inc_counter(counter, by, error)
    type(c_ptr), value :: counter
    integer(c_long_long), value :: by
    integer, intent(out), optional :: error
    call tell(sde_c_inc(counter, by), error)
  end subroutine

  subroutine papif_sde_reset_counter(counter, error)
    type(c_ptr), value :: counter
    integer, intent(out), optional :: error
    call tell(sde_c_reset(counter), error)
  end subroutine

  subroutine papif_sde_create_recorder(handle, event, bytes, compare, recorder, error)
    type(c_ptr), value :: handle
    character(len=*), intent(in) :: event
    integer(c_size_t), value :: bytes
    type(c_funptr), intent(in) :: compare
    type(c_ptr), value :: recorder
    integer, intent(out), optional :: error
    call tell(sde_c_create_recorder(handle, event // c_null_char, bytes, compare, recorder), error)
  end subroutine

  subroutine papif_sde_record(recorder, bytes, element, error)
    type(c_ptr), value :: recorder
    integer(c_size_t), value :: bytes
    type(c_ptr), value :: element
    integer, intent(out), optional :: error
    call tell(sde_c_record(recorder, bytes, element), error)
  end subroutine

  subroutine papif_sde_reset_recorder(recorder, error)
    type(c_ptr), value :: recorder
    integer, intent(out), optional :: error
    call tell(sde_c_reset_recorder(recorder), error)
  end subroutine

  subroutine papif_sde_get_counter_handle(handle, event, counter, error)
    type(c_ptr), value :: handle
    character(len=*), intent(in) :: event
    type(c_ptr), intent(out) :: counter
    integer, intent(out), optional :: error
    counter = sde_c_handle(handle, event // c_null_char)
    call tell(merge(0_c_int, -7_c_int, c_associated(counter)), error)
  end subroutine

end module papi_sde_fortran_wrappers
