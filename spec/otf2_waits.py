# SPDX-License-Identifier: BSD-3-Clause
# spec/otf2_waits.py - three ranks that wait for each other at times that are planted, by python3-otf2: each wait state, and for
# each what is almost one. otf2_waits.py FOLDER; spec/lua/wait_states_spec.lua has the truth.

import sys

import otf2
from otf2.enums import CollectiveOp, GroupFlag, GroupType, LockType, Paradigm, RmaSyncLevel, RmaSyncType

NONE = 2**32 - 1  # no root


def at(ms):
    return 5000 + int(ms * 1000)


class Rank:
    """Calls of a rank. Each event is a function of the writer and a time, just before the call ends."""

    def __init__(self, writer, region):
        self.writer, self.region, self.calls = writer, region, []

    def call(self, name, enter, leave, *events):
        self.calls.append((enter, leave, name, events))

    def write(self, ended):
        self.writer.enter(at(0), self.region("main"))
        for enter, leave, name, events in sorted(self.calls, key=lambda c: c[0]):
            self.writer.enter(at(enter), self.region(name))
            for event in events:
                begins = event[0] in BEGINS
                getattr(self.writer, event[0])(at(enter) if begins else at(leave), *event[1:])
            self.writer.leave(at(leave), self.region(name))
        self.writer.leave(at(ended), self.region("main"))


BEGINS = {"mpi_send", "mpi_isend", "mpi_irecv_request", "non_blocking_collective_request", "rma_request_lock"}
EVERY = NONE


def plant(ranks, world, other, window, second):
    r0, r1, r2 = ranks

    def send(to, request=None, tag=1, comm=world):
        return ("mpi_send", to, comm, tag, 8) if request is None else ("mpi_isend", to, comm, tag, 8, request)

    def receive(source, request=None, tag=1, comm=world):
        return ("mpi_recv", source, comm, tag, 8) if request is None else ("mpi_irecv", source, comm, tag, 8, request)

    def all_in(name, operation, root, enter, leave, event="mpi_collective_end"):
        for i, rank in enumerate(ranks):
            rank.call(name, enter[i], leave[i], (event, operation, world, root, 8, 8))

    def sync(partner, out, on=window):
        return ("rma_sync", on, partner, RmaSyncType.NOTIFY_OUT if out else RmaSyncType.NOTIFY_IN)

    # a late sender; an eager send, which returned long before its receive began
    r1.call("MPI_Recv", 10, 41, receive(0))
    r0.call("MPI_Send", 40, 41, send(1))
    r0.call("MPI_Send", 110, 111, send(1))
    r1.call("MPI_Recv", 150, 151, receive(0))
    # late receivers: of a send, and of an immediate one
    r0.call("MPI_Send", 210, 261, send(1))
    r1.call("MPI_Recv", 260, 262, receive(0))
    r0.call("MPI_Isend", 310, 311, send(1, 7))
    r0.call("MPI_Wait", 320, 371, ("mpi_isend_complete", 7))
    r1.call("MPI_Recv", 370, 372, receive(0))
    # complete before the receive; a receive that was there before the wait; one that was posted before the send
    r0.call("MPI_Isend", 410, 411, send(1, 8))
    r0.call("MPI_Wait", 412, 413, ("mpi_isend_complete", 8))
    r1.call("MPI_Recv", 460, 461, receive(0))
    r0.call("MPI_Isend", 510, 511, send(1, 9))
    r1.call("MPI_Recv", 520, 581, receive(0))
    r0.call("MPI_Wait", 550, 580, ("mpi_isend_complete", 9))
    r1.call("MPI_Irecv", 610, 611, ("mpi_irecv_request", 21))
    r0.call("MPI_Ssend", 620, 651, send(1))
    r1.call("MPI_Wait", 650, 652, receive(0, 21))
    # a late sender of an immediate receive
    r1.call("MPI_Irecv", 710, 711, ("mpi_irecv_request", 22))
    r1.call("MPI_Wait", 720, 761, receive(0, 22))
    r0.call("MPI_Send", 760, 761, send(1))
    # collective operations; in the second broadcast rank 0 does not wait for the root to the end
    all_in("MPI_Barrier", CollectiveOp.BARRIER, NONE, (810, 820, 850), (851, 851, 851))
    all_in("MPI_Bcast", CollectiveOp.BCAST, 2, (910, 960, 950), (951, 961, 952))
    all_in("MPI_Bcast", CollectiveOp.BCAST, 2, (1010, 1050, 1040), (1020, 1051, 1042))
    all_in("MPI_Reduce", CollectiveOp.REDUCE, 0, (1110, 1150, 1130), (1161, 1151, 1131))
    all_in("MPI_Allreduce", CollectiveOp.ALLREDUCE, NONE, (1210, 1240, 1230), (1241, 1241, 1241))
    all_in("MPI_Scan", CollectiveOp.SCAN, NONE, (1340, 1320, 1310), (1341, 1342, 1343))
    for i, begin, enter, leave in ((0, 1401, 1410, 1442), (1, 1440, 1442, 1443), (2, 1403, 1450, 1451)):
        ranks[i].call("MPI_Ibarrier", begin, begin + 1, ("non_blocking_collective_request", 30 + i))
        ranks[i].call("MPI_Wait", enter, leave,
                      ("non_blocking_collective_complete", CollectiveOp.BARRIER, world, NONE, 0, 0, 30 + i))
    all_in("MPI_Comm_dup", CollectiveOp.CREATE_HANDLE, NONE, (1510, 1520, 1550), (1551, 1551, 1551))
    # windows; the second epoch waits for nobody
    for rank, enter in zip(ranks, (1610, 1630, 1660)):
        rank.call("MPI_Win_fence", enter, 1661, ("rma_collective_end", CollectiveOp.BARRIER, RmaSyncLevel.PROCESS, window,
                                                 NONE, 0, 0))
    r0.call("MPI_Win_start", 1810, 1842, sync(1, False))
    r1.call("MPI_Win_post", 1840, 1841, sync(0, True))
    r1.call("MPI_Win_wait", 1850, 1872, sync(0, False))
    r0.call("MPI_Win_complete", 1870, 1871, sync(1, True))
    r1.call("MPI_Win_post", 1905, 1906, sync(0, True))
    r0.call("MPI_Win_start", 1910, 1911, sync(1, False))
    r0.call("MPI_Win_complete", 1912, 1913, sync(1, True))
    r1.call("MPI_Win_wait", 1950, 1951, sync(0, False))
    # a probe before its message is sent, and one after it
    r1.call("MPI_Probe", 2010, 2051)
    r0.call("MPI_Send", 2050, 2051, send(1))
    r1.call("MPI_Recv", 2055, 2056, receive(0))
    r0.call("MPI_Send", 2105, 2106, send(1))
    r1.call("MPI_Probe", 2110, 2111)
    r1.call("MPI_Recv", 2112, 2113, receive(0))
    # a probe of another message than the one that is received next
    r1.call("MPI_Probe", 2121, 2123)
    r0.call("MPI_Send", 2130, 2131, send(1))
    r1.call("MPI_Recv", 2124, 2131, receive(0))
    # immediate sends that take long themselves: one is complete then
    r0.call("MPI_Isend", 2180, 2195, send(1, 11), ("mpi_isend_complete", 11))
    r1.call("MPI_Recv", 2185, 2195, receive(0))
    r0.call("MPI_Isend", 2140, 2170, send(1, 10))
    r1.call("MPI_Recv", 2150, 2170, receive(0))
    r0.call("MPI_Wait", 2171, 2172, ("mpi_isend_complete", 10))
    # rank 1 completes an immediate barrier behind one that blocks, the others before it
    for rank, begin, enter, request in ((r0, 2211, 2213, 40), (r1, 2205, 2242, 41), (r2, 2207, 2212, 42)):
        rank.call("MPI_Ibarrier", begin, begin + 1, ("non_blocking_collective_request", request))
        rank.call("MPI_Wait", enter, enter + 1,
                  ("non_blocking_collective_complete", CollectiveOp.BARRIER, world, NONE, 0, 0, request))
    all_in("MPI_Barrier", CollectiveOp.BARRIER, NONE, (2220, 2240, 2215), (2241, 2241, 2241))
    # a call that completes two receives waits for the later sender
    r1.call("MPI_Irecv", 2245, 2246, ("mpi_irecv_request", 50))
    r1.call("MPI_Irecv", 2246, 2247, ("mpi_irecv_request", 51))
    r1.call("MPI_Waitall", 2250, 2271, receive(2, 51), receive(0, 50))
    r0.call("MPI_Send", 2260, 2261, send(1))
    r2.call("MPI_Send", 2270, 2271, send(1))
    # two messages on their way
    for enter in (2280, 2282):
        r0.call("MPI_Send", enter, enter + 1, send(1))
    for enter in (2285, 2287):
        r1.call("MPI_Recv", enter, enter + 1, receive(0))
    # calls that complete two immediate sends wait for both receivers: these return after them, or before
    for begin, enter, leave, request, calls in ((2305, 2310, 2331, 60, ((2320, 2332), (2330, 2335))),
                                                (2340, 2345, 2366, 70, ((2360, 2362), (2350, 2361)))):
        r0.call("MPI_Isend", begin, begin + 1, send(1, request))
        r0.call("MPI_Isend", begin + 1, begin + 2, send(2, request + 1))
        r0.call("MPI_Waitall", enter, leave, ("mpi_isend_complete", request), ("mpi_isend_complete", request + 1))
        r1.call("MPI_Recv", *calls[0], receive(0))
        r2.call("MPI_Recv", *calls[1], receive(0))
    # a rank waits for those before it alone, whoever returns first
    all_in("MPI_Scan", CollectiveOp.SCAN, NONE, (2370, 2371, 2378), (2374, 2380, 2379))
    # neighbours, one operation here and another there, and one that blocks in what does not: nothing is known
    all_in("MPI_Neighbor_allgather", CollectiveOp.ALLGATHER, NONE, (2382, 2384, 2389), (2390, 2390, 2390))
    all_in("MPI_Test", CollectiveOp.BARRIER, NONE, (2392, 2394, 2399), (2400, 2400, 2400))
    for rank, operation, enter in zip(ranks, (CollectiveOp.BCAST, CollectiveOp.ALLREDUCE, CollectiveOp.ALLREDUCE),
                                      (2402, 2404, 2409)):
        rank.call("MPI_Allreduce", enter, 2410, ("mpi_collective_end", operation, world, NONE, 8, 8))
    all_in("MPI_Intercomm_create", CollectiveOp.CREATE_HANDLE, NONE, (2420, 2417, 2415), (2421, 2421, 2421))
    # messages of other tags, and of other communicators, are others
    r1.call("MPI_Send", 2430, 2431, send(0, None, 2))
    r0.call("MPI_Recv", 2435, 2441, receive(1))
    r1.call("MPI_Send", 2440, 2441, send(0))
    r0.call("MPI_Recv", 2442, 2443, receive(1, None, 2))
    r1.call("MPI_Send", 2450, 2451, send(0, None, 1, other))
    r0.call("MPI_Recv", 2455, 2462, receive(1))
    r1.call("MPI_Send", 2461, 2462, send(0))
    r0.call("MPI_Recv", 2463, 2464, receive(1, None, 1, other))
    # so are epochs of other windows
    r1.call("MPI_Win_post", 2470, 2471, sync(0, True, second))
    r0.call("MPI_Win_start", 2475, 2483, sync(1, False))
    r1.call("MPI_Win_post", 2481, 2482, sync(0, True))
    r0.call("MPI_Win_start", 2484, 2485, sync(1, False, second))
    # a probe waits for the message that is received next, and for no other
    r1.call("MPI_Probe", 2485, 2491)
    r0.call("MPI_Send", 2487, 2488, send(1))
    r2.call("MPI_Send", 2490, 2491, send(1))
    r1.call("MPI_Recv", 2492, 2493, receive(2))
    r1.call("MPI_Recv", 2494, 2495, receive(0))
    # locks: one waits when it asks for the lock
    def lock(rank, target, enter, leave, exclusive=True):
        kind = LockType.EXCLUSIVE if exclusive else LockType.SHARED
        rank.call("MPI_Win_lock" if target != EVERY else "MPI_Win_lock_all", enter, leave,
                  ("rma_request_lock", window, target, target, kind), ("rma_acquire_lock", window, target, target, kind))

    def unlock(rank, target, enter, leave):
        rank.call("MPI_Win_unlock" if target != EVERY else "MPI_Win_unlock_all", enter, leave,
                  ("rma_release_lock", window, target, target))

    lock(r0, 1, 2511, 2512)
    lock(r2, 1, 2516, 2528, False)
    unlock(r0, 1, 2526, 2527)
    unlock(r2, 1, 2529, 2530)
    # one waits when it releases the lock, and one when it completes an operation
    lock(r0, 1, 2531, 2532)
    lock(r2, 1, 2533, 2534)
    unlock(r2, 1, 2535, 2547)
    unlock(r0, 1, 2545, 2546)
    lock(r0, 1, 2550, 2551)
    lock(r2, EVERY, 2552, 2553, False)
    r2.call("MPI_Win_flush", 2555, 2567)
    unlock(r0, 1, 2565, 2566)
    r2.call("MPI_Win_flush", 2568, 2569)
    unlock(r2, EVERY, 2569.5, 2570)
    # three in turn: the last one waits for the second
    lock(r0, 1, 2571, 2572)
    lock(r1, 1, 2573, 2581)
    lock(r2, 1, 2574, 2592)
    unlock(r0, 1, 2579, 2580)
    unlock(r1, 1, 2590, 2591)
    unlock(r2, 1, 2593, 2594)
    # shared by both; at different targets; the one that asked for it later has it later, and did not wait that long
    lock(r0, 1, 2600, 2601, False)
    lock(r2, 1, 2602, 2612, False)
    unlock(r0, 1, 2610, 2611)
    unlock(r2, 1, 2613, 2614)
    lock(r0, 1, 2620, 2621)
    lock(r2, 0, 2622, 2632)
    unlock(r0, 1, 2630, 2631)
    unlock(r2, 0, 2633, 2634)
    lock(r2, 1, 2636, 2637)
    lock(r0, 1, 2637, 2638)
    unlock(r2, 1, 2640, 2646)
    unlock(r0, 1, 2642, 2648)
    # it has the lock, which another one takes while the release goes on
    lock(r2, EVERY, 2649, 2650, False)
    lock(r0, 1, 2651, 2654)
    unlock(r2, EVERY, 2652, 2657)
    unlock(r0, 1, 2655, 2656)
    # of its waiting nothing is known
    r2.call("MPI_File_open", 2660, 2760)


with otf2.writer.open(sys.argv[1], timer_resolution=1000000) as trace:
    define = trace.definitions
    node = define.system_tree_node("node01", parent=define.system_tree_node("machine"))
    groups = [define.location_group("Rank %d" % i, system_tree_parent=node) for i in range(3)]
    locations = [define.location("Master thread", group=group) for group in groups]
    define.group(name="MPI", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, group_flags=GroupFlag.NONE,
                 members=locations)
    members = define.group(name="world", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI,
                           group_flags=GroupFlag.NONE, members=[0, 1, 2])
    comm, second = define.comm("MPI_COMM_WORLD", members), define.comm("second", members)
    regions = {}

    def region_of(name):
        if name not in regions:
            paradigm = Paradigm.MPI if name.startswith("MPI_") else Paradigm.USER
            regions[name] = define.region(name, paradigm=paradigm)
        return regions[name]

    three = [Rank(trace.event_writer_from_location(location), region_of) for location in locations]
    plant(three, comm, second, define.rma_win("window", comm), define.rma_win("another", comm))
    for one, end in zip(three, (2761, 2762, 2770)):
        one.write(end)
