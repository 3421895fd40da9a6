/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/job/pml_mpi_reduction.h - what a rank adds to the summary of its job. */
#ifndef PML_MPI_REDUCTION_H
#define PML_MPI_REDUCTION_H

#include "adapter/mpi/pml_mpi_job.h"
#include "read/summary/pml_summary.h"

PML_BEGIN_DECLS

/* The functions for MPI_Finalize, which finds them by dlsym(). */
extern PML__SHARED const struct pml__mpi_reducer pml__mpi_reducer;

/* pml__mpi_time_summary - add a row PML_SUMMARY_MPI "time" to @s, which contains calls of @rank only: its time in MPI
 * functions except Init and Finalize. Returns 0 or an error of pml_summary_add(). */
PML__SHARED int pml__mpi_time_summary(struct pml_summary *s, int64_t rank);

/*
 * pml__mpi_pack_within - pack @s into @size bytes, at most @most if possible: functions of libraries other than MPI are
 * omitted, beginning with the least time, and a row PML_SUMMARY_MPI "left out" contains their number (functions),
 * calls, and exclusive time. Sections, counters and MPI's rows are never omitted. Free @bytes with free(). Returns 0 or
 * an error of pml_summary_pack() or pml_summary_add().
 */
int pml__mpi_pack_within(const struct pml_summary *s, size_t most, unsigned char **bytes, size_t *size);

/*
 * pml_mpi_times_summary - add to @s the time that the process of the log @path spent in the calls that sent and
 * received its messages, by size: rows "time sent" and "time received", whose values are ns, named like the values of
 * "messages sent". The time of a call with several messages is divided equally among them. The begin and each test of a
 * request count with its message. Without a trace there are no events, and no rows. The process may continue writing.
 * This also counts the events that the shim wrote without counting them (PML__LOG_CALL_COMMUNICATION), so call it once,
 * before pml__mpi_traffic_summary(). Returns 0, -errno of open or read, PML_EFORMAT, -ENOMEM. Cost: some 30 ns for each
 * event of the trace.
 */
int pml_mpi_times_summary(struct pml_summary *s, int64_t rank, const char *path);

/*
 * pml__mpi_traffic_summary - add to @s the messages that this rank of @size sent, by receiver, and received: rows
 * PML_SUMMARY_MPI. Returns 0 or an error of pml_summary_add().
 *
 *   name             values: meaning of the number
 *   messages sent    "10": messages of 2^9 to 2^10 - 1 bytes; "0": without bytes
 *   bytes sent       the same; and messages received, bytes received
 *   collective       operation in the detail: calls, sent and received bytes
 *   messages to      "7": from the block of ranks in the detail to block 7
 *   bytes to         the same
 */
int pml__mpi_traffic_summary(struct pml_summary *s, int rank, int size);

/* pml__mpi_files_summary - add the counts of this process, @rank, to @s: rows PML_SUMMARY_MPI "file", whose detail is
 * the function's full name, with values "calls" and "bytes". Returns 0 or an error of pml_summary_add(). */
int pml__mpi_files_summary(struct pml_summary *s, int rank);

/* pml__mpi_classes_summary - add to @s an MPI row with a value for each of PML__MPI_CLASSES classes that is not 0.
 * Returns 0, -EINVAL or -ENOMEM. */
int pml__mpi_classes_summary(struct pml_summary *s, const char *name, const uint64_t *value, int rank);

PML_END_DECLS

#endif
