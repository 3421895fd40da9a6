/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/bench/trace/empty.c - what libotf2 itself takes for the events of an archive, whose callbacks do nothing.
 *
 *   empty ANCHOR LOCATIONS: events of the locations 0 to LOCATIONS - 1, and seconds of the processor
 */
#include <inttypes.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static OTF2_CallbackCode nothing(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user,
                                 OTF2_AttributeList *attributes, OTF2_RegionRef region) {
  (void)location, (void)time, (void)position, (void)user, (void)attributes, (void)region;
  return OTF2_CALLBACK_SUCCESS;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  uint64_t locations = strtoull(argv[2], NULL, 10), events = 0;
  clock_t before = clock();
  OTF2_Reader *r = OTF2_Reader_Open(argv[1]);
  OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
  if (r == NULL || c == NULL) return 1;
  (void)OTF2_EvtReaderCallbacks_SetEnterCallback(c, nothing);
  (void)OTF2_EvtReaderCallbacks_SetLeaveCallback(c, nothing);
  (void)OTF2_Reader_SetSerialCollectiveCallbacks(r);
  for (uint64_t i = 0; i < locations; i++) (void)OTF2_Reader_SelectLocation(r, i);
  (void)OTF2_Reader_OpenEvtFiles(r);
  for (uint64_t i = 0; i < locations; i++) {
    uint64_t n = 0;
    OTF2_EvtReader *e = OTF2_Reader_GetEvtReader(r, i);
    (void)OTF2_Reader_RegisterEvtCallbacks(r, e, c, NULL);
    if (OTF2_Reader_ReadAllLocalEvents(r, e, &n) != OTF2_SUCCESS) return 1;
    (void)OTF2_Reader_CloseEvtReader(r, e);
    events += n;
  }
  OTF2_EvtReaderCallbacks_Delete(c);
  (void)OTF2_Reader_Close(r);
  printf("%" PRIu64 " %.6f\n", events, (double)(clock() - before) / CLOCKS_PER_SEC);
  return 0;
}
