! SPDX-License-Identifier: BSD-3-Clause
! spec/pmlib/calls.f90 - not a spec by itself: the Fortran calls; labels of any length, blanks at their end.
program calls
  implicit none
  character(len=40) :: padded
  character(len=300) :: long
  integer :: i, n, mid, inside, knob
  integer(selected_int_kind(18)) :: began, ended, rate
  padded = "padded"
  long = repeat("x", 290)
  knob = 42
  call system_clock(began, rate)
  call f_pm_initialize(4)
  call f_pm_setproperties("moved", 0, 1)
  call f_pm_setproperties("around", 1, 0)
  call f_pm_start("around")
  do i = 1, 5
    call f_pm_start(padded)
    call f_pm_stop_usermode("padded", 3.0d0, 7)
    call f_pm_start("moved")
    call f_pm_stop_usermode("moved", 64.0d0, 1)
    call f_pm_start("gone")
    call f_pm_stop("gone")
  end do
  call f_pm_stop("around")
  call f_pm_start(long)
  call f_pm_stop(long)
  call f_pm_reset("gone")
  call f_pm_gather()
  call f_pm_sections(n)
  call f_pm_serial_parallel(1, mid, inside)
  call f_pm_mergethreads(1)
  call f_pm_getpowerknob(0, knob)
  call f_pm_setpowerknob(0, 1)
  print '(A,4(1X,I0))', "facts", n, mid, inside, knob
  call f_pm_stop_root()
  call system_clock(ended)
  print '(A,1X,F0.9)', "stopped after", dble(ended - began) / dble(rate)
  flush(6)
  call execute_command_line("sleep 0.1")
  call f_pm_report("")
  call f_pm_print("", "that-host", "of Fortran", 1)
  call f_pm_printdetail("", 0, 0)
  call f_pm_printthreads("", 0, 0)
  call f_pm_printlegend("")
  call f_pm_resetall()
  call f_pm_start(padded)
  call f_pm_stop_usermode("padded", 1.0d0, 1)
  call f_pm_select_report(" ")
  call f_pm_posttrace()
end program
