! SPDX-License-Identifier: BSD-3-Clause
! spec/pmlib/ranks.f90 - not a spec by itself: under MPI; groups by Fortran's handles.
program ranks
  implicit none
  include 'mpif.h'
  integer :: err, rank, world, pair, color, both(2)
  both = (/ 0, 2 /)
  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  call f_pm_initialize(10)
  call f_pm_start("work")
  call f_pm_stop_usermode("work", 10.0d0 * rank, 1)
  call f_pm_report("")
  call MPI_Comm_group(MPI_COMM_WORLD, world, err)
  call MPI_Group_incl(world, 2, both, pair, err)
  call f_pm_printgroup("", pair, MPI_COMM_WORLD, both, 5, 0, 0)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, color, err)
  call f_pm_printcomm("", color, mod(rank, 2), rank, 0, 0)
  call MPI_Finalize(err)
end program
