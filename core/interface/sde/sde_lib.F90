! SPDX-License-Identifier: BSD-3-Clause
! core/interface/sde/sde_lib.F90 - libsde for Fortran 2008: module papi_sde_fortran_wrappers, to be compiled with the
! code that uses it (gfortran mycode.F90 sde_lib.F90 -lsde). Each papif_sde_NAME is papi_sde_NAME of sde_lib.h with
! Fortran strings and the argument names of PAPI's module; error, the last, is optional and 0 when all went well. Create
! calls take the address of a type(c_ptr) to fill in: c_loc(handle), or c_null_ptr. papif_sde_NAME_F08 is the C function
! itself, which takes C strings: F_str_to_C(text) makes one, which C_free() frees; a NAME_t is its interface for
! procedure pointers.
!
! -DPAPI_SDE_F90PAPI and the folder of PAPI's f90papi.h: the module has PAPI's constants, too, as that of PAPI.
module papi_sde_fortran_wrappers
  use, intrinsic :: iso_c_binding
  implicit none

#ifdef PAPI_SDE_F90PAPI
#include "f90papi.h"
#else
  integer, parameter :: PAPI_OK = 0
#endif
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

  ! For procedure pointers made of the struct above. C strings are type(c_ptr).
  abstract interface
    type(c_ptr) function init_t(library) bind(C)
      import :: c_ptr
      type(c_ptr), value :: library
    end function
    integer(c_int) function shutdown_t(handle) bind(C)
      import :: c_ptr, c_int
      type(c_ptr), value :: handle
    end function
    integer(c_int) function register_counter_t(handle, event, mode, kind, counter) bind(C)
      import :: c_ptr, c_int
      type(c_ptr), value :: handle, event, counter
      integer(c_int), value :: mode, kind
    end function
    integer(c_int) function register_counter_cb_t(handle, event, mode, kind, callback, param) bind(C)
      import :: c_ptr, c_funptr, c_int
      type(c_ptr), value :: handle, event, param
      integer(c_int), value :: mode, kind
      type(c_funptr), value :: callback
    end function
    integer(c_int) function unregister_counter_t(handle, event) bind(C)
      import :: c_ptr, c_int
      type(c_ptr), value :: handle, event
    end function
    integer(c_int) function describe_counter_t(handle, event, description) bind(C)
      import :: c_ptr, c_int
      type(c_ptr), value :: handle, event, description
    end function
    integer(c_int) function add_counter_to_group_t(handle, event, group, flags) bind(C)
      import :: c_ptr, c_int, c_int32_t
      type(c_ptr), value :: handle, event, group
      integer(c_int32_t), value :: flags
    end function
    integer(c_int) function create_counter_t(handle, event, mode, counter) bind(C)
      import :: c_ptr, c_int
      type(c_ptr), value :: handle, event, counter
      integer(c_int), value :: mode
    end function
    integer(c_int) function inc_counter_t(counter, by) bind(C)
      import :: c_ptr, c_int, c_long_long
      type(c_ptr), value :: counter
      integer(c_long_long), value :: by
    end function
    integer(c_int) function create_recorder_t(handle, event, bytes, compare, recorder) bind(C)
      import :: c_ptr, c_funptr, c_int, c_size_t
      type(c_ptr), value :: handle, event, recorder
      integer(c_size_t), value :: bytes
      type(c_funptr), value :: compare
    end function
    integer(c_int) function record_t(recorder, bytes, element) bind(C)
      import :: c_ptr, c_int, c_size_t
      type(c_ptr), value :: recorder, element
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function reset_recorder_t(recorder) bind(C)
      import :: c_ptr, c_int
      type(c_ptr), value :: recorder
    end function
    integer(c_int) function reset_counter_t(counter) bind(C)
      import :: c_ptr, c_int
      type(c_ptr), value :: counter
    end function
    type(c_ptr) function get_counter_handle_t(handle, event) bind(C)
      import :: c_ptr
      type(c_ptr), value :: handle, event
    end function
  end interface

  ! The C functions.
  procedure(init_t), bind(C, name="papi_sde_init") :: papif_sde_init_F08
  procedure(shutdown_t), bind(C, name="papi_sde_shutdown") :: papif_sde_shutdown_F08
  procedure(register_counter_t), bind(C, name="papi_sde_register_counter") :: papif_sde_register_counter_F08
  procedure(register_counter_cb_t), bind(C, name="papi_sde_register_counter_cb") :: papif_sde_register_counter_cb_F08
  procedure(unregister_counter_t), bind(C, name="papi_sde_unregister_counter") :: papif_sde_unregister_counter_F08
  procedure(describe_counter_t), bind(C, name="papi_sde_describe_counter") :: papif_sde_describe_counter_F08
  procedure(add_counter_to_group_t), bind(C, name="papi_sde_add_counter_to_group") :: papif_sde_add_counter_to_group_F08
  procedure(create_counter_t), bind(C, name="papi_sde_create_counter") :: papif_sde_create_counter_F08
  procedure(inc_counter_t), bind(C, name="papi_sde_inc_counter") :: papif_sde_inc_counter_F08
  procedure(create_recorder_t), bind(C, name="papi_sde_create_recorder") :: papif_sde_create_recorder_F08
  procedure(record_t), bind(C, name="papi_sde_record") :: papif_sde_record_F08
  procedure(reset_recorder_t), bind(C, name="papi_sde_reset_recorder") :: papif_sde_reset_recorder_F08
  procedure(reset_counter_t), bind(C, name="papi_sde_reset_counter") :: papif_sde_reset_counter_F08
  procedure(get_counter_handle_t), bind(C, name="papi_sde_get_counter_handle") :: papif_sde_get_counter_handle_F08

  interface
    type(c_ptr) function C_malloc(bytes) bind(C, name="malloc")
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: bytes
    end function
    subroutine C_free(memory) bind(C, name="free")
      import :: c_ptr
      type(c_ptr), value :: memory
    end subroutine
  end interface

  private :: tell

contains

  subroutine tell(code, error)
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: error
    if (present(error)) error = int(code)
  end subroutine

  subroutine papif_sde_init(lib_name, handle, error)
    character(len=*), intent(in) :: lib_name
    type(c_ptr), intent(out) :: handle
    integer, intent(out), optional :: error
    character(len(lib_name) + 1, kind=c_char), target :: c_library
    c_library = lib_name // c_null_char
    handle = papif_sde_init_F08(c_loc(c_library))
    call tell(merge(0_c_int, -14_c_int, c_associated(handle)), error)
  end subroutine

  subroutine papif_sde_shutdown(handle, error)
    type(c_ptr), intent(in) :: handle
    integer, intent(out), optional :: error
    call tell(papif_sde_shutdown_F08(handle), error)
  end subroutine

  subroutine papif_sde_register_counter(handle, event_name, cntr_mode, cntr_type, counter, error)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: event_name
    integer, intent(in) :: cntr_mode, cntr_type
    type(c_ptr), value :: counter
    integer, intent(out), optional :: error
    character(len(event_name) + 1, kind=c_char), target :: c_event
    c_event = event_name // c_null_char
    call tell(papif_sde_register_counter_F08(handle, c_loc(c_event), int(cntr_mode, c_int), int(cntr_type, c_int), &
        counter), error)
  end subroutine

  subroutine papif_sde_register_counter_cb(handle, event_name, cntr_mode, cntr_type, c_func_ptr, param, error)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: event_name
    integer, intent(in) :: cntr_mode, cntr_type
    type(c_funptr), intent(in) :: c_func_ptr
    type(c_ptr), value :: param
    integer, intent(out), optional :: error
    character(len(event_name) + 1, kind=c_char), target :: c_event
    c_event = event_name // c_null_char
    call tell(papif_sde_register_counter_cb_F08(handle, c_loc(c_event), int(cntr_mode, c_int), int(cntr_type, c_int), &
        c_func_ptr, param), error)
  end subroutine

  subroutine papif_sde_unregister_counter(handle, event_name, error)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: event_name
    integer, intent(out), optional :: error
    character(len(event_name) + 1, kind=c_char), target :: c_event
    c_event = event_name // c_null_char
    call tell(papif_sde_unregister_counter_F08(handle, c_loc(c_event)), error)
  end subroutine

  subroutine papif_sde_describe_counter(handle, event_name, event_desc, error)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: event_name, event_desc
    integer, intent(out), optional :: error
    character(len(event_name) + 1, kind=c_char), target :: c_event
    character(len(event_desc) + 1, kind=c_char), target :: c_description
    c_event = event_name // c_null_char
    c_description = event_desc // c_null_char
    call tell(papif_sde_describe_counter_F08(handle, c_loc(c_event), c_loc(c_description)), error)
  end subroutine

  subroutine papif_sde_add_counter_to_group(handle, event_name, group_name, flags, error)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: event_name, group_name
    integer(c_int32_t), intent(in) :: flags
    integer, intent(out), optional :: error
    character(len(event_name) + 1, kind=c_char), target :: c_event
    character(len(group_name) + 1, kind=c_char), target :: c_group
    c_event = event_name // c_null_char
    c_group = group_name // c_null_char
    call tell(papif_sde_add_counter_to_group_F08(handle, c_loc(c_event), c_loc(c_group), flags), error)
  end subroutine

  subroutine papif_sde_create_counter(handle, event_name, cntr_type, counter_handle, error)
    type(c_ptr), value :: handle
    character(len=*), intent(in) :: event_name
    integer(c_int), value :: cntr_type
    type(c_ptr), value :: counter_handle
    integer, intent(out), optional :: error
    character(len(event_name) + 1, kind=c_char), target :: c_event
    c_event = event_name // c_null_char
    call tell(papif_sde_create_counter_F08(handle, c_loc(c_event), cntr_type, counter_handle), error)
  end subroutine

  subroutine papif_sde_inc_counter(counter_handle, increment, error)
    type(c_ptr), value :: counter_handle
    integer(c_long_long), value :: increment
    integer, intent(out), optional :: error
    call tell(papif_sde_inc_counter_F08(counter_handle, increment), error)
  end subroutine

  subroutine papif_sde_reset_counter(counter_handle, error)
    type(c_ptr), value :: counter_handle
    integer, intent(out), optional :: error
    call tell(papif_sde_reset_counter_F08(counter_handle), error)
  end subroutine

  subroutine papif_sde_create_recorder(handle, event_name, typesize, cmpr_c_func_ptr, recorder_handle, error)
    type(c_ptr), value :: handle
    character(len=*), intent(in) :: event_name
    integer(c_size_t), value :: typesize
    type(c_funptr), intent(in) :: cmpr_c_func_ptr
    type(c_ptr), value :: recorder_handle
    integer, intent(out), optional :: error
    character(len(event_name) + 1, kind=c_char), target :: c_event
    c_event = event_name // c_null_char
    call tell(papif_sde_create_recorder_F08(handle, c_loc(c_event), typesize, cmpr_c_func_ptr, recorder_handle), error)
  end subroutine

  subroutine papif_sde_record(recorder_handle, typesize, value_to_rec, error)
    type(c_ptr), value :: recorder_handle
    integer(c_size_t), value :: typesize
    type(c_ptr), value :: value_to_rec
    integer, intent(out), optional :: error
    call tell(papif_sde_record_F08(recorder_handle, typesize, value_to_rec), error)
  end subroutine

  subroutine papif_sde_reset_recorder(recorder_handle, error)
    type(c_ptr), value :: recorder_handle
    integer, intent(out), optional :: error
    call tell(papif_sde_reset_recorder_F08(recorder_handle), error)
  end subroutine

  subroutine papif_sde_get_counter_handle(handle, event_name, counter_handle, error)
    type(c_ptr), value :: handle
    character(len=*), intent(in) :: event_name
    type(c_ptr), intent(out) :: counter_handle
    integer, intent(out), optional :: error
    character(len(event_name) + 1, kind=c_char), target :: c_event
    c_event = event_name // c_null_char
    counter_handle = papif_sde_get_counter_handle_F08(handle, c_loc(c_event))
    call tell(merge(0_c_int, -7_c_int, c_associated(counter_handle)), error)
  end subroutine

  ! A copy of @text as C has it; C_free() frees it. c_null_ptr: no memory.
  type(c_ptr) function F_str_to_C(text) result(copy)
    character(len=*), intent(in) :: text
    character(kind=c_char), pointer :: to(:)
    integer :: i
    copy = C_malloc(int(len(text) + 1, c_size_t))
    if (.not. c_associated(copy)) return
    call c_f_pointer(copy, to, [len(text) + 1])
    do i = 1, len(text)
      to(i) = text(i:i)
    end do
    to(len(text) + 1) = c_null_char
  end function

end module papi_sde_fortran_wrappers
