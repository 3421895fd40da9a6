! SPDX-License-Identifier: BSD-3-Clause
program ranks
  use mpi_f08
  implicit none
  integer :: rank, ierr, room(20) = 0
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  type(MPI_Comm) :: dup
  include 'fortran.h'
end program
