/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/otf2/write/pml_otf2_openmp.h - OpenMP teams, tasks and locks in an OTF2 archive. Internal.
 *
 * A team is a communicator in OTF2, and its members are locations. Teams of the same locations in the same order share
 * a communicator, so the number of communicators does not grow with the number of executed parallel regions.
 */
#ifndef PML_OTF2_OPENMP_H
#define PML_OTF2_OPENMP_H

#include "read/otf2/write/pml_otf2_write.h"
#include "read/recording/pml_recording_read_private.h"

struct pml__otf2_teams;

/*
 * pml__otf2_teams_open - find the members of a recording's teams; *t stays NULL without teams. Call it just before the
 * recording's threads get locations in @a, which from then on owns *t. @first_comm: the number after MPI's
 * communicators. Reads all events once. Memory: 12 bytes for each thread of each team. Returns 0, -ENOMEM, or an error
 * of reading. pml__otf2_teams_free - free all teams of an archive; NULL is fine.
 */
int pml__otf2_teams_open(struct pml_otf2 *a, struct pml__otf2_teams **t, const struct pml_recording_reader *r,
                         uint32_t nmetrics, uint32_t first_comm);
void pml__otf2_teams_free(struct pml__otf2_teams *t);

/* The state of one thread while its events are written; zeros at first. Further teams and locks are omitted. */
#define PML__OTF2_TEAMS_DEEP 32u
#define PML__OTF2_LOCKS_HELD 64u
struct pml__otf2_openmp {
  uint32_t forks, depth, nheld; /* forks: forks without a join */
  struct {
    uint32_t team, index; /* the communicator, and the thread's number in it */
  } in[PML__OTF2_TEAMS_DEEP];
  struct {
    uint64_t lock;
    uint32_t order;
  } held[PML__OTF2_LOCKS_HELD];
};

/* pml__otf2_openmp_event - like pml__otf2_write(). Events outside of any team are omitted, because OTF2 has no record
 * for them. */
int pml__otf2_openmp_event(struct pml_otf2 *a, struct pml_otf2_location *loc, const struct pml__otf2_teams *t,
                           struct pml__otf2_openmp *o, uint64_t ticks, const struct pml__recording_event *e);

/* pml__otf2_define_teams - define groups and communicators, if the archive has teams. */
void pml__otf2_define_teams(struct pml__otf2_defs *d);

/* pml__otf2_openmp_role - the OTF2_RegionRole of a construct by the name of its region; returns false if it has no
 * role. */
bool pml__otf2_openmp_role(const char *name, uint8_t *role);

#endif
