/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_kinds.h - kinds of OTF2 events, and a callback for each. Internal. */
#ifndef PML_OTF2_KINDS_H
#define PML_OTF2_KINDS_H

#include <otf2/otf2.h>

/* The records of libotf2 3.0: name, and types of the values. */
#define PML__OTF2_OTHER(X)                                                                                             \
  X(Unknown)                                                                                                           \
  X(BufferFlush, OTF2_TimeStamp)                                                                                       \
  X(MeasurementOnOff, OTF2_MeasurementMode)                                                                            \
  X(MpiIsendComplete, uint64_t)                                                                                        \
  X(MpiIrecvRequest, uint64_t)                                                                                         \
  X(MpiRequestTest, uint64_t)                                                                                          \
  X(MpiRequestCancelled, uint64_t)                                                                                     \
  X(MpiCollectiveBegin)                                                                                                \
  X(OmpFork, uint32_t)                                                                                                 \
  X(OmpJoin)                                                                                                           \
  X(OmpAcquireLock, uint32_t, uint32_t)                                                                                \
  X(OmpReleaseLock, uint32_t, uint32_t)                                                                                \
  X(OmpTaskCreate, uint64_t)                                                                                           \
  X(OmpTaskSwitch, uint64_t)                                                                                           \
  X(OmpTaskComplete, uint64_t)                                                                                         \
  X(ParameterString, OTF2_ParameterRef, OTF2_StringRef)                                                                \
  X(ParameterInt, OTF2_ParameterRef, int64_t)                                                                          \
  X(ParameterUnsignedInt, OTF2_ParameterRef, uint64_t)                                                                 \
  X(RmaWinCreate, OTF2_RmaWinRef)                                                                                      \
  X(RmaWinDestroy, OTF2_RmaWinRef)                                                                                     \
  X(RmaCollectiveBegin)                                                                                                \
  X(RmaCollectiveEnd, OTF2_CollectiveOp, OTF2_RmaSyncLevel, OTF2_RmaWinRef, uint32_t, uint64_t, uint64_t)              \
  X(RmaGroupSync, OTF2_RmaSyncLevel, OTF2_RmaWinRef, OTF2_GroupRef)                                                    \
  X(RmaRequestLock, OTF2_RmaWinRef, uint32_t, uint64_t, OTF2_LockType)                                                 \
  X(RmaAcquireLock, OTF2_RmaWinRef, uint32_t, uint64_t, OTF2_LockType)                                                 \
  X(RmaTryLock, OTF2_RmaWinRef, uint32_t, uint64_t, OTF2_LockType)                                                     \
  X(RmaReleaseLock, OTF2_RmaWinRef, uint32_t, uint64_t)                                                                \
  X(RmaSync, OTF2_RmaWinRef, uint32_t, OTF2_RmaSyncType)                                                               \
  X(RmaWaitChange, OTF2_RmaWinRef)                                                                                     \
  X(RmaPut, OTF2_RmaWinRef, uint32_t, uint64_t, uint64_t)                                                              \
  X(RmaGet, OTF2_RmaWinRef, uint32_t, uint64_t, uint64_t)                                                              \
  X(RmaAtomic, OTF2_RmaWinRef, uint32_t, OTF2_RmaAtomicType, uint64_t, uint64_t, uint64_t)                             \
  X(RmaOpCompleteBlocking, OTF2_RmaWinRef, uint64_t)                                                                   \
  X(RmaOpCompleteNonBlocking, OTF2_RmaWinRef, uint64_t)                                                                \
  X(RmaOpTest, OTF2_RmaWinRef, uint64_t)                                                                               \
  X(RmaOpCompleteRemote, OTF2_RmaWinRef, uint64_t)                                                                     \
  X(ThreadFork, OTF2_Paradigm, uint32_t)                                                                               \
  X(ThreadJoin, OTF2_Paradigm)                                                                                         \
  X(ThreadTeamBegin, OTF2_CommRef)                                                                                     \
  X(ThreadTeamEnd, OTF2_CommRef)                                                                                       \
  X(ThreadAcquireLock, OTF2_Paradigm, uint32_t, uint32_t)                                                              \
  X(ThreadReleaseLock, OTF2_Paradigm, uint32_t, uint32_t)                                                              \
  X(ThreadTaskCreate, OTF2_CommRef, uint32_t, uint32_t)                                                                \
  X(ThreadTaskSwitch, OTF2_CommRef, uint32_t, uint32_t)                                                                \
  X(ThreadTaskComplete, OTF2_CommRef, uint32_t, uint32_t)                                                              \
  X(ThreadCreate, OTF2_CommRef, uint64_t)                                                                              \
  X(ThreadBegin, OTF2_CommRef, uint64_t)                                                                               \
  X(ThreadWait, OTF2_CommRef, uint64_t)                                                                                \
  X(ThreadEnd, OTF2_CommRef, uint64_t)                                                                                 \
  X(CallingContextEnter, OTF2_CallingContextRef, uint32_t)                                                             \
  X(CallingContextLeave, OTF2_CallingContextRef)                                                                       \
  X(CallingContextSample, OTF2_CallingContextRef, uint32_t, OTF2_InterruptGeneratorRef)                                \
  X(IoCreateHandle, OTF2_IoHandleRef, OTF2_IoAccessMode, OTF2_IoCreationFlag, OTF2_IoStatusFlag)                       \
  X(IoDestroyHandle, OTF2_IoHandleRef)                                                                                 \
  X(IoDuplicateHandle, OTF2_IoHandleRef, OTF2_IoHandleRef, OTF2_IoStatusFlag)                                          \
  X(IoSeek, OTF2_IoHandleRef, int64_t, OTF2_IoSeekOption, uint64_t)                                                    \
  X(IoChangeStatusFlags, OTF2_IoHandleRef, OTF2_IoStatusFlag)                                                          \
  X(IoDeleteFile, OTF2_IoParadigmRef, OTF2_IoFileRef)                                                                  \
  X(IoOperationBegin, OTF2_IoHandleRef, OTF2_IoOperationMode, OTF2_IoOperationFlag, uint64_t, uint64_t)                \
  X(IoOperationTest, OTF2_IoHandleRef, uint64_t)                                                                       \
  X(IoOperationIssued, OTF2_IoHandleRef, uint64_t)                                                                     \
  X(IoOperationComplete, OTF2_IoHandleRef, uint64_t, uint64_t)                                                         \
  X(IoOperationCancelled, OTF2_IoHandleRef, uint64_t)                                                                  \
  X(IoAcquireLock, OTF2_IoHandleRef, OTF2_LockType)                                                                    \
  X(IoReleaseLock, OTF2_IoHandleRef, OTF2_LockType)                                                                    \
  X(IoTryLock, OTF2_IoHandleRef, OTF2_LockType)                                                                        \
  X(ProgramBegin, OTF2_StringRef, uint32_t, const OTF2_StringRef *)                                                    \
  X(ProgramEnd, int64_t)                                                                                               \
  X(NonBlockingCollectiveRequest, uint64_t)                                                                            \
  X(NonBlockingCollectiveComplete, OTF2_CollectiveOp, OTF2_CommRef, uint32_t, uint64_t, uint64_t, uint64_t)            \
  X(CommCreate, OTF2_CommRef)                                                                                          \
  X(CommDestroy, OTF2_CommRef)

/* Kinds that the iteration for sums handles by special callbacks. */
#define PML__OTF2_WALKED(X)                                                                                            \
  X(Enter) X(Leave) X(MpiSend) X(MpiIsend) X(MpiRecv) X(MpiIrecv) X(MpiCollectiveEnd) X(Metric)

#define PML__OTF2_KIND(name, ...) PML__OTF2_KIND_##name,
enum pml__otf2_kind_id { PML__OTF2_WALKED(PML__OTF2_KIND) PML__OTF2_OTHER(PML__OTF2_KIND) PML__OTF2_NKINDS };
#undef PML__OTF2_KIND

/* pml__otf2_kind_name - OTF2's name of the kind. */
const char *pml__otf2_kind_name(enum pml__otf2_kind_id kind);

/* pml__otf2_other_kinds - callbacks for all other kinds. Their user data begins with this receiver, which they call
 * with the kind and the time. */
struct pml__otf2_subscriber {
  void (*take)(void *user, enum pml__otf2_kind_id kind, uint64_t time);
};
void pml__otf2_other_kinds(OTF2_EvtReaderCallbacks *c);

#endif
