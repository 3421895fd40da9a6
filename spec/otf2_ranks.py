# SPDX-License-Identifier: BSD-3-Clause
# spec/otf2_ranks.py - two ranks, as Score-P has them, by python3-otf2: rank 1 waits for rank 0. otf2_ranks.py FOLDER
#
# Rank 1 waits in main/MPI_Recv from 10 ms to 100 ms, when rank 0 sends; until 90 ms that is in main/solve.

import sys

import otf2
from otf2.enums import GroupFlag, GroupType, Paradigm


def at(ms):
    return 5000 + int(ms * 1000)


with otf2.writer.open(sys.argv[1], timer_resolution=1000000) as trace:
    define = trace.definitions
    node = define.system_tree_node("node01", parent=define.system_tree_node("machine"))
    main = define.region("main", source_file="main.f90", begin_line_number=1, paradigm=Paradigm.USER)
    solve = define.region("solve", source_file="solve.f90", begin_line_number=7, paradigm=Paradigm.COMPILER)
    tick = define.region("tick", paradigm=Paradigm.COMPILER)
    send = define.region("MPI_Send", paradigm=Paradigm.MPI)
    receive = define.region("MPI_Recv", paradigm=Paradigm.MPI)
    ranks = [define.location_group("Rank %d" % i, system_tree_parent=node) for i in range(2)]
    locations = [define.location("Master thread", group=rank) for rank in ranks]
    define.group(name="MPI", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, group_flags=GroupFlag.NONE,
                 members=locations)
    both = define.group(name="world", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, group_flags=GroupFlag.NONE,
                        members=[0, 1])
    world = define.comm("MPI_COMM_WORLD", both)
    first, second = [trace.event_writer_from_location(location) for location in locations]
    first.enter(at(0), main)
    first.enter(at(1), solve)
    first.enter(at(50), tick)  # takes no time, so that no time of the path is its own
    first.leave(at(50), tick)
    first.leave(at(90), solve)
    first.enter(at(100), send)
    first.mpi_send(at(100.5), 1, world, 4, 800)
    first.leave(at(101), send)
    first.leave(at(120), main)
    second.enter(at(0), main)
    second.enter(at(10), receive)
    second.mpi_recv(at(101.5), 0, world, 4, 800)
    second.leave(at(102), receive)
    second.leave(at(130), main)
