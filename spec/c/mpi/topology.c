/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/topology.c - operations between neighbours, blocking, immediate and persistent, on each kind of topology;
 * requests of files together with requests of messages; every way to create a communicator with a topology. */
#include <mpi.h>

enum { MOST = 8 };
static int rank, size, from[MOST], to[MOST];

static void exchange(MPI_Comm comm) {
  int count[MOST], place[MOST];
  MPI_Aint byte[MOST];
  MPI_Datatype type[MOST];
  MPI_Request request;
  for (int i = 0; i < MOST; i++) count[i] = 1, place[i] = i, byte[i] = i * (MPI_Aint)sizeof(int), type[i] = MPI_INT;
  MPI_Neighbor_allgather(from, 1, MPI_INT, to, 1, MPI_INT, comm);
  MPI_Neighbor_allgatherv(from, 1, MPI_INT, to, count, place, MPI_INT, comm);
  MPI_Neighbor_alltoall(from, 1, MPI_INT, to, 1, MPI_INT, comm);
  MPI_Neighbor_alltoallv(from, count, place, MPI_INT, to, count, place, MPI_INT, comm);
  MPI_Neighbor_alltoallw(from, count, byte, type, to, count, byte, type, comm);
  MPI_Ineighbor_alltoall(from, 2, MPI_SHORT, to, 2, MPI_SHORT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  MPI_Neighbor_alltoall_init(from, 1, MPI_INT, to, 1, MPI_INT, comm, MPI_INFO_NULL, &request);
  for (int i = 0; i < 2; i++) MPI_Start(&request), MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Neighbor_allgather_c(from, 1, MPI_INT, to, 1, MPI_INT, comm);
#endif
}

/* Requests of the file and of a message complete in one call. */
static void use_file(const char *name) {
  MPI_File file;
  MPI_Request request[3];
  int got = -1, done = 0;
  if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS) return;
  MPI_File_iwrite_at(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, &request[0]);
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &request[1]);
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &request[2]);
  MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
  MPI_File_iread_at(file, rank * (MPI_Offset)sizeof rank, &got, 1, MPI_INT, &request[0]);
  while (!done) MPI_Test(&request[0], &done, MPI_STATUS_IGNORE);
  MPI_File_iwrite_at_all(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, &request[0]);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm ring, line, graph, distant, copy, node, few;
  MPI_Group all, first;
  int open = 0, closed = 1, next = (rank + 1) % size, before = (rank + size - 1) % size, index[MOST], edge[MOST];
  for (int i = 0; i < size; i++) index[i] = i + 1, edge[i] = (i + size / 2) % size;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &closed, 0, &ring);
  exchange(ring);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open, 0, &line);
  exchange(line);
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edge, 0, &graph);
  exchange(graph);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &distant);
  exchange(distant);
  MPI_Comm_dup(line, &copy);
  exchange(copy);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 2, (const int[]){1, 0}, &first);
  if (rank < 2) {
    MPI_Comm_create_group(MPI_COMM_WORLD, first, 4, &few);
    MPI_Barrier(few);
    MPI_Comm_free(&few);
  }
  MPI_Barrier(node);
  if (argc > 1) use_file(argv[1]);
  MPI_Group_free(&first);
  MPI_Group_free(&all);
  MPI_Comm_free(&node);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&distant);
  MPI_Comm_free(&graph);
  MPI_Comm_free(&line);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}
