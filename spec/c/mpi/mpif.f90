! SPDX-License-Identifier: BSD-3-Clause
program ranks
  implicit none
  include 'mpif.h'
  integer :: rank, ierr, room(20) = 0, requests(2), status(MPI_STATUS_SIZE), dup
  include 'fortran.h'
end program
