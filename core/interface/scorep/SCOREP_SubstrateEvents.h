/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/scorep/SCOREP_SubstrateEvents.h - events of Score-P's substrate plugins, and their
 * callback types. pmlua's own, with the numbers and arguments of Score-P's; C and C++.
 */
#ifndef SCOREP_SUBSTRATE_EVENTS_H
#define SCOREP_SUBSTRATE_EVENTS_H

#include "SCOREP_MetricTypes.h"
#include "SCOREP_PublicHandles.h"
#include "SCOREP_PublicTypes.h"

#include <stdbool.h>
#include <stddef.h>

typedef void (*SCOREP_Substrates_Callback)(void);
struct SCOREP_Location;

typedef enum SCOREP_Substrates_Mode {
  SCOREP_SUBSTRATES_RECORDING_ENABLED,
  SCOREP_SUBSTRATES_RECORDING_DISABLED,
  SCOREP_SUBSTRATES_NUM_MODES
} SCOREP_Substrates_Mode;

/* Where a metric comes from, and what a profile makes of it. */
typedef enum SCOREP_MetricSourceType {
  SCOREP_METRIC_SOURCE_TYPE_PAPI,
  SCOREP_METRIC_SOURCE_TYPE_RUSAGE,
  SCOREP_METRIC_SOURCE_TYPE_USER,
  SCOREP_METRIC_SOURCE_TYPE_OTHER,
  SCOREP_METRIC_SOURCE_TYPE_TASK,
  SCOREP_METRIC_SOURCE_TYPE_PLUGIN,
  SCOREP_METRIC_SOURCE_TYPE_PERF,
  SCOREP_INVALID_METRIC_SOURCE_TYPE
} SCOREP_MetricSourceType;

typedef enum SCOREP_MetricProfilingType {
  SCOREP_METRIC_PROFILING_TYPE_EXCLUSIVE,
  SCOREP_METRIC_PROFILING_TYPE_INCLUSIVE,
  SCOREP_METRIC_PROFILING_TYPE_SIMPLE,
  SCOREP_METRIC_PROFILING_TYPE_MAX,
  SCOREP_METRIC_PROFILING_TYPE_MIN,
  SCOREP_INVALID_METRIC_PROFILING_TYPE
} SCOREP_MetricProfilingType;

/* Event, name of the function's type, its arguments; in the order of their numbers. */
#define SCOREP_SUBSTRATES_AT struct SCOREP_Location *, uint64_t
#define SCOREP_SUBSTRATES_EVENT_LIST(X)                                                                                \
  X(ENABLE_RECORDING, EnableRecording, (SCOREP_SUBSTRATES_AT, SCOREP_RegionHandle, uint64_t *))                        \
  X(DISABLE_RECORDING, DisableRecording, (SCOREP_SUBSTRATES_AT, SCOREP_RegionHandle, uint64_t *))                      \
  X(ON_TRACING_BUFFER_FLUSH_BEGIN, OnTracingBufferFlushBegin, (SCOREP_SUBSTRATES_AT, SCOREP_RegionHandle, uint64_t *)) \
  X(ON_TRACING_BUFFER_FLUSH_END, OnTracingBufferFlushEnd, (SCOREP_SUBSTRATES_AT, SCOREP_RegionHandle, uint64_t *))     \
  X(ENTER_REGION, EnterRegion, (SCOREP_SUBSTRATES_AT, SCOREP_RegionHandle, uint64_t *))                                \
  X(EXIT_REGION, ExitRegion, (SCOREP_SUBSTRATES_AT, SCOREP_RegionHandle, uint64_t *))                                  \
  X(SAMPLE, Sample,                                                                                                    \
    (SCOREP_SUBSTRATES_AT, SCOREP_CallingContextHandle, SCOREP_CallingContextHandle, uint32_t,                         \
     SCOREP_InterruptGeneratorHandle, uint64_t *))                                                                     \
  X(CALLING_CONTEXT_ENTER, CallingContextEnter,                                                                        \
    (SCOREP_SUBSTRATES_AT, SCOREP_CallingContextHandle, SCOREP_CallingContextHandle, uint32_t, uint64_t *))            \
  X(CALLING_CONTEXT_EXIT, CallingContextExit,                                                                          \
    (SCOREP_SUBSTRATES_AT, SCOREP_CallingContextHandle, SCOREP_CallingContextHandle, uint32_t, uint64_t *))            \
  X(ENTER_REWIND_REGION, EnterRewindRegion, (SCOREP_SUBSTRATES_AT, SCOREP_RegionHandle))                               \
  X(EXIT_REWIND_REGION, ExitRewindRegion, (SCOREP_SUBSTRATES_AT, SCOREP_RegionHandle, bool))                           \
  X(MPI_SEND, MpiSend, (SCOREP_SUBSTRATES_AT, SCOREP_MpiRank, SCOREP_InterimCommunicatorHandle, uint32_t, uint64_t))   \
  X(MPI_RECV, MpiRecv, (SCOREP_SUBSTRATES_AT, SCOREP_MpiRank, SCOREP_InterimCommunicatorHandle, uint32_t, uint64_t))   \
  X(MPI_COLLECTIVE_BEGIN, MpiCollectiveBegin, (SCOREP_SUBSTRATES_AT))                                                  \
  X(MPI_COLLECTIVE_END, MpiCollectiveEnd,                                                                              \
    (SCOREP_SUBSTRATES_AT, SCOREP_InterimCommunicatorHandle, SCOREP_MpiRank, SCOREP_CollectiveType, uint64_t,          \
     uint64_t))                                                                                                        \
  X(MPI_ISEND_COMPLETE, MpiIsendComplete, (SCOREP_SUBSTRATES_AT, SCOREP_MpiRequestId))                                 \
  X(MPI_IRECV_REQUEST, MpiIrecvRequest, (SCOREP_SUBSTRATES_AT, SCOREP_MpiRequestId))                                   \
  X(MPI_REQUEST_TESTED, MpiRequestTested, (SCOREP_SUBSTRATES_AT, SCOREP_MpiRequestId))                                 \
  X(MPI_REQUEST_CANCELLED, MpiRequestCancelled, (SCOREP_SUBSTRATES_AT, SCOREP_MpiRequestId))                           \
  X(MPI_ISEND, MpiIsend,                                                                                               \
    (SCOREP_SUBSTRATES_AT, SCOREP_MpiRank, SCOREP_InterimCommunicatorHandle, uint32_t, uint64_t, SCOREP_MpiRequestId)) \
  X(MPI_IRECV, MpiIrecv,                                                                                               \
    (SCOREP_SUBSTRATES_AT, SCOREP_MpiRank, SCOREP_InterimCommunicatorHandle, uint32_t, uint64_t, SCOREP_MpiRequestId)) \
  X(RMA_WIN_CREATE, RmaWinCreate, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle))                                      \
  X(RMA_WIN_DESTROY, RmaWinDestroy, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle))                                    \
  X(RMA_COLLECTIVE_BEGIN, RmaCollectiveBegin, (SCOREP_SUBSTRATES_AT, SCOREP_RmaSyncLevel))                             \
  X(RMA_COLLECTIVE_END, RmaCollectiveEnd,                                                                              \
    (SCOREP_SUBSTRATES_AT, SCOREP_CollectiveType, SCOREP_RmaSyncLevel, SCOREP_RmaWindowHandle, uint32_t, uint64_t,     \
     uint64_t))                                                                                                        \
  X(RMA_TRY_LOCK, RmaTryLock, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint32_t, uint64_t, SCOREP_LockType))     \
  X(RMA_ACQUIRE_LOCK, RmaAcquireLock,                                                                                  \
    (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint32_t, uint64_t, SCOREP_LockType))                               \
  X(RMA_REQUEST_LOCK, RmaRequestLock,                                                                                  \
    (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint32_t, uint64_t, SCOREP_LockType))                               \
  X(RMA_RELEASE_LOCK, RmaReleaseLock, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint32_t, uint64_t))              \
  X(RMA_SYNC, RmaSync, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint32_t, SCOREP_RmaSyncType))                   \
  X(RMA_GROUP_SYNC, RmaGroupSync,                                                                                      \
    (SCOREP_SUBSTRATES_AT, SCOREP_RmaSyncLevel, SCOREP_RmaWindowHandle, SCOREP_GroupHandle))                           \
  X(RMA_PUT, RmaPut, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint32_t, uint64_t, uint64_t))                     \
  X(RMA_GET, RmaGet, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint32_t, uint64_t, uint64_t))                     \
  X(RMA_ATOMIC, RmaAtomic,                                                                                             \
    (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint32_t, SCOREP_RmaAtomicType, uint64_t, uint64_t, uint64_t))      \
  X(RMA_WAIT_CHANGE, RmaWaitChange, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle))                                    \
  X(RMA_OP_COMPLETE_BLOCKING, RmaOpCompleteBlocking, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint64_t))         \
  X(RMA_OP_COMPLETE_NON_BLOCKING, RmaOpCompleteNonBlocking, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint64_t))  \
  X(RMA_OP_TEST, RmaOpTest, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint64_t))                                  \
  X(RMA_OP_COMPLETE_REMOTE, RmaOpCompleteRemote, (SCOREP_SUBSTRATES_AT, SCOREP_RmaWindowHandle, uint64_t))             \
  X(THREAD_ACQUIRE_LOCK, ThreadAcquireLock, (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType, uint32_t, uint32_t))           \
  X(THREAD_RELEASE_LOCK, ThreadReleaseLock, (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType, uint32_t, uint32_t))           \
  X(TRIGGER_COUNTER_INT64, TriggerCounterInt64, (SCOREP_SUBSTRATES_AT, SCOREP_SamplingSetHandle, int64_t))             \
  X(TRIGGER_COUNTER_UINT64, TriggerCounterUint64, (SCOREP_SUBSTRATES_AT, SCOREP_SamplingSetHandle, uint64_t))          \
  X(TRIGGER_COUNTER_DOUBLE, TriggerCounterDouble, (SCOREP_SUBSTRATES_AT, SCOREP_SamplingSetHandle, double))            \
  X(TRIGGER_PARAMETER_INT64, TriggerParameterInt64, (SCOREP_SUBSTRATES_AT, SCOREP_ParameterHandle, int64_t))           \
  X(TRIGGER_PARAMETER_UINT64, TriggerParameterUint64, (SCOREP_SUBSTRATES_AT, SCOREP_ParameterHandle, uint64_t))        \
  X(TRIGGER_PARAMETER_STRING, TriggerParameterString,                                                                  \
    (SCOREP_SUBSTRATES_AT, SCOREP_ParameterHandle, SCOREP_StringHandle))                                               \
  X(THREAD_FORK_JOIN_FORK, ThreadForkJoinFork, (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType, uint32_t, uint32_t))        \
  X(THREAD_FORK_JOIN_JOIN, ThreadForkJoinJoin, (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType))                            \
  X(THREAD_FORK_JOIN_TEAM_BEGIN, ThreadForkJoinTeamBegin,                                                              \
    (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType, SCOREP_InterimCommunicatorHandle, uint64_t))                           \
  X(THREAD_FORK_JOIN_TEAM_END, ThreadForkJoinTeamEnd,                                                                  \
    (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType, SCOREP_InterimCommunicatorHandle))                                     \
  X(THREAD_FORK_JOIN_TASK_CREATE, ThreadForkJoinTaskCreate,                                                            \
    (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType, SCOREP_InterimCommunicatorHandle, uint32_t, uint32_t))                 \
  X(THREAD_FORK_JOIN_TASK_SWITCH, ThreadForkJoinTaskSwitch,                                                            \
    (SCOREP_SUBSTRATES_AT, uint64_t *, SCOREP_ParadigmType, SCOREP_InterimCommunicatorHandle, uint32_t, uint32_t,      \
     SCOREP_TaskHandle))                                                                                               \
  X(THREAD_FORK_JOIN_TASK_BEGIN, ThreadForkJoinTaskBegin,                                                              \
    (SCOREP_SUBSTRATES_AT, SCOREP_RegionHandle, uint64_t *, SCOREP_ParadigmType, SCOREP_InterimCommunicatorHandle,     \
     uint32_t, uint32_t, SCOREP_TaskHandle))                                                                           \
  X(THREAD_FORK_JOIN_TASK_END, ThreadForkJoinTaskEnd,                                                                  \
    (SCOREP_SUBSTRATES_AT, SCOREP_RegionHandle, uint64_t *, SCOREP_ParadigmType, SCOREP_InterimCommunicatorHandle,     \
     uint32_t, uint32_t, SCOREP_TaskHandle))                                                                           \
  X(THREAD_CREATE_WAIT_CREATE, ThreadCreateWaitCreate,                                                                 \
    (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType, SCOREP_InterimCommunicatorHandle, uint32_t))                           \
  X(THREAD_CREATE_WAIT_WAIT, ThreadCreateWaitWait,                                                                     \
    (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType, SCOREP_InterimCommunicatorHandle, uint32_t))                           \
  X(THREAD_CREATE_WAIT_BEGIN, ThreadCreateWaitBegin,                                                                   \
    (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType, SCOREP_InterimCommunicatorHandle, uint32_t, uint64_t))                 \
  X(THREAD_CREATE_WAIT_END, ThreadCreateWaitEnd,                                                                       \
    (SCOREP_SUBSTRATES_AT, SCOREP_ParadigmType, SCOREP_InterimCommunicatorHandle, uint32_t))                           \
  X(TRACK_ALLOC, TrackAlloc, (SCOREP_SUBSTRATES_AT, uint64_t, size_t, void **, size_t, size_t))                        \
  X(TRACK_REALLOC, TrackRealloc,                                                                                       \
    (SCOREP_SUBSTRATES_AT, uint64_t, size_t, void **, uint64_t, size_t, void **, size_t, size_t))                      \
  X(TRACK_FREE, TrackFree, (SCOREP_SUBSTRATES_AT, uint64_t, size_t, void **, size_t, size_t))                          \
  X(WRITE_POST_MORTEM_METRICS, WriteMetrics, (SCOREP_SUBSTRATES_AT, SCOREP_SamplingSetHandle, const uint64_t *))       \
  X(PROGRAM_BEGIN, ProgramBegin,                                                                                       \
    (SCOREP_SUBSTRATES_AT, SCOREP_StringHandle, uint32_t, SCOREP_StringHandle *, SCOREP_RegionHandle, uint64_t,        \
     uint64_t))                                                                                                        \
  X(PROGRAM_END, ProgramEnd, (SCOREP_SUBSTRATES_AT, SCOREP_ExitStatus, SCOREP_RegionHandle))                           \
  X(IO_CREATE_HANDLE, IoCreateHandle,                                                                                  \
    (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, SCOREP_IoAccessMode, SCOREP_IoCreationFlag, SCOREP_IoStatusFlag))    \
  X(IO_DESTROY_HANDLE, IoDestroyHandle, (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle))                                 \
  X(IO_DUPLICATE_HANDLE, IoDuplicateHandle,                                                                            \
    (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, SCOREP_IoHandleHandle, SCOREP_IoStatusFlag))                         \
  X(IO_SEEK, IoSeek, (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, int64_t, SCOREP_IoSeekOption, uint64_t))            \
  X(IO_CHANGE_STATUS_FLAGS, IoChangeStatusFlags, (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, SCOREP_IoStatusFlag))   \
  X(IO_DELETE_FILE, IoDeleteFile, (SCOREP_SUBSTRATES_AT, SCOREP_IoParadigmType, SCOREP_IoFileHandle))                  \
  X(IO_OPERATION_BEGIN, IoOperationBegin,                                                                              \
    (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, SCOREP_IoOperationMode, SCOREP_IoOperationFlag, uint64_t, uint64_t,  \
     uint64_t))                                                                                                        \
  X(IO_OPERATION_ISSUED, IoOperationIssued, (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, uint64_t))                   \
  X(IO_OPERATION_TEST, IoOperationTest, (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, uint64_t))                       \
  X(IO_OPERATION_COMPLETE, IoOperationComplete,                                                                        \
    (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, SCOREP_IoOperationMode, uint64_t, uint64_t))                         \
  X(IO_OPERATION_CANCELLED, IoOperationCancelled, (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, uint64_t))             \
  X(IO_ACQUIRE_LOCK, IoAcquireLock, (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, SCOREP_LockType))                    \
  X(IO_TRY_LOCK, IoTryLock, (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, SCOREP_LockType))                            \
  X(IO_RELEASE_LOCK, IoReleaseLock, (SCOREP_SUBSTRATES_AT, SCOREP_IoHandleHandle, SCOREP_LockType))                    \
  X(MPI_NON_BLOCKING_COLLECTIVE_REQUEST, MpiNonBlockingCollectiveRequest, (SCOREP_SUBSTRATES_AT, SCOREP_MpiRequestId)) \
  X(MPI_NON_BLOCKING_COLLECTIVE_COMPLETE, MpiNonBlockingCollectiveComplete,                                            \
    (SCOREP_SUBSTRATES_AT, SCOREP_InterimCommunicatorHandle, SCOREP_MpiRank, SCOREP_CollectiveType, uint64_t,          \
     uint64_t, SCOREP_MpiRequestId))                                                                                   \
  X(COMM_CREATE, CommCreate, (SCOREP_SUBSTRATES_AT, SCOREP_InterimCommunicatorHandle))                                 \
  X(COMM_DESTROY, CommDestroy, (SCOREP_SUBSTRATES_AT, SCOREP_InterimCommunicatorHandle))

#define SCOREP_SUBSTRATES_EVENT_NUMBER(name, type, arguments) SCOREP_EVENT_##name,
typedef enum SCOREP_Substrates_EventType {
  SCOREP_SUBSTRATES_EVENT_LIST(SCOREP_SUBSTRATES_EVENT_NUMBER) SCOREP_SUBSTRATES_NUM_EVENTS
} SCOREP_Substrates_EventType;
#undef SCOREP_SUBSTRATES_EVENT_NUMBER

#define SCOREP_SUBSTRATES_EVENT_TYPE(name, type, arguments) typedef void(*SCOREP_Substrates_##type##Cb) arguments;
SCOREP_SUBSTRATES_EVENT_LIST(SCOREP_SUBSTRATES_EVENT_TYPE)
#undef SCOREP_SUBSTRATES_EVENT_TYPE

#endif
