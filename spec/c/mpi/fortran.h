! SPDX-License-Identifier: BSD-3-Clause
! spec/c/mpi/fortran.h - what the programs in Fortran do, with each interface of MPI, for spec/lua/mpi_spec.lua: rank 0
! sends 40 bytes to rank 1 with each of tags 1 to 4, receives from any, and both sum up in place.
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  if (rank == 0) then
    call MPI_Send(room, 10, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, ierr)
    call MPI_Send(room, 10, MPI_INTEGER, 1, 2, MPI_COMM_WORLD, ierr)
    call MPI_Isend(room, 10, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(room, 10, MPI_INTEGER, 1, 4, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  else
    call MPI_Recv(room, 20, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Recv(room, 20, MPI_INTEGER, 0, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
    call MPI_Irecv(room, 20, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    call MPI_Irecv(room, 20, MPI_INTEGER, 0, 4, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Wait(requests(1), status, ierr)
  end if
  call MPI_Allreduce(MPI_IN_PLACE, room, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
  call MPI_Barrier(dup, ierr)
  call MPI_Finalize(ierr)
