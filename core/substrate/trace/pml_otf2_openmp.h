/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/pml_otf2_openmp.h - OpenMP teams, tasks and locks in an OTF2 archive. Internal.
 *
 * A team is a communicator in OTF2, and its members are locations. Teams of the same locations in the same order are
 * one communicator, so that there are as many as kinds of teams, not as parallel regions that were executed.
 */
#ifndef PML_OTF2_OPENMP_H
#define PML_OTF2_OPENMP_H

#include "substrate/recording/pml_recording_read_private.h"
#include "substrate/trace/pml_otf2_write.h"

struct pml__otf2_teams;

/*
 * pml__otf2_teams_open - which threads of a recording were in which teams; *t stays NULL if none was in any. Called
 * just before the recording's threads have locations in @a, which from then on owns it. @first_comm: the first number
 * behind the communicators of MPI. Reads all events once. Memory: 12 bytes for each thread of each team. 0, -ENOMEM, or
 * what reading returns. pml__otf2_teams_free - all of an archive; NULL is fine.
 */
int pml__otf2_teams_open(struct pml_otf2 *a, struct pml__otf2_teams **t, const struct pml_recording_reader *r,
                         uint32_t nmetrics, uint32_t first_comm);
void pml__otf2_teams_free(struct pml__otf2_teams *t);

/* The state of one thread while its events are written; zeros at first. Further teams and locks are omitted. */
#define PML__OTF2_TEAMS_DEEP 32u
#define PML__OTF2_LOCKS_HELD 64u
struct pml__otf2_openmp {
  uint32_t forks, depth, nheld; /* forks: not yet joined */
  struct {
    uint32_t team, index; /* the communicator, and the thread's number in it */
  } in[PML__OTF2_TEAMS_DEEP];
  struct {
    uint64_t lock;
    uint32_t order;
  } held[PML__OTF2_LOCKS_HELD];
};

/* pml__otf2_openmp_event - as pml__otf2_write(). Events outside of any team are omitted, because OTF2 has no record for
 * them. */
int pml__otf2_openmp_event(struct pml_otf2 *a, struct pml_otf2_location *loc, const struct pml__otf2_teams *t,
                           struct pml__otf2_openmp *o, uint64_t ticks, const struct pml__recording_event *e);

/* pml__otf2_define_teams - groups and communicators; nothing if the archive has no teams. */
void pml__otf2_define_teams(struct pml__otf2_defs *d);

/* pml__otf2_openmp_role - the OTF2_RegionRole of a construct by the name of its region; false: it has none. */
bool pml__otf2_openmp_role(const char *name, uint8_t *role);

#endif
