# SPDX-License-Identifier: BSD-3-Clause
"""Write an OTF2 archive as another tool would: two ranks with messages, a collective operation, a metric, properties, a
clock that differs by known ticks, numbers of definitions with gaps, and an event that pmlua does not sum.

Try:  /usr/bin/python3 spec/otf2_foreign.py out 1000000000
"""
import sys

import _otf2
import otf2
from otf2.enums import CollectiveOp, GroupType, LocationGroupType, MetricMode, MetricType, Paradigm, RegionRole, Type

OFFSET = 500  # ticks that the second location's clock is behind
FIRST = 10**18  # as of a clock that counts nanoseconds since 1970


def main(folder, resolution):
    with otf2.writer.open(folder, timer_resolution=resolution) as archive:
        definitions = archive.definitions
        machine = definitions.system_tree_node("cluster", class_name="machine")
        node = definitions.system_tree_node("host-1", class_name="node", parent=machine)
        definitions.system_tree_node_property(node, "cores", Type.UINT32, 4)
        locations = []
        for rank in range(2):
            group = definitions.location_group("rank %d" % rank, system_tree_parent=node,
                                               location_group_type=LocationGroupType.PROCESS)
            locations.append(definitions.location("main", group=group))
            definitions.location_property(locations[rank], "cpu", Type.INT64, 7 + rank)
        regions = {name: definitions.region(name, name, name, RegionRole.FUNCTION,
                                            Paradigm.MPI if name.startswith("MPI_") else Paradigm.USER, source_file="a.f90", begin_line_number=10,
                                            end_line_number=20)
                   for name in ("main", "solve", "MPI_Send", "MPI_Recv", "MPI_Barrier", "höchste<&\"")}
        definitions.group("ranks", GroupType.COMM_LOCATIONS, Paradigm.MPI, members=locations)
        members = definitions.group("world", GroupType.COMM_GROUP, Paradigm.MPI, members=[0, 1])
        comm = definitions.comm("MPI_COMM_WORLD", members)
        residual = definitions.metric("residual", description="of the solver", metric_type=MetricType.USER,
                                      metric_mode=MetricMode.ABSOLUTE_POINT, value_type=Type.DOUBLE, unit="m")
        writers = [archive.event_writer_from_location(location) for location in locations]

        def at(rank, time):
            return FIRST + time - (OFFSET if rank else 0)

        for rank, writer in enumerate(writers):
            writer.enter(at(rank, 1000), regions["main"])
            for step in range(3):
                base = 2000 + 1000 * step
                writer.enter(at(rank, base), regions["solve"])
                writer.metric(at(rank, base + 10), residual, [1.0 / (step + 1 + rank)])
                if rank == 0:
                    writer.enter(at(rank, base + 100), regions["MPI_Send"])
                    writer.mpi_send(at(rank, base + 110), 1, comm, 5, 64 << step)
                    writer.leave(at(rank, base + 200), regions["MPI_Send"])
                else:
                    writer.enter(at(rank, base + 50), regions["MPI_Recv"])
                    writer.mpi_recv(at(rank, base + 240), 0, comm, 5, 64 << step)
                    writer.leave(at(rank, base + 250), regions["MPI_Recv"])
                writer.leave(at(rank, base + 900), regions["solve"])
            writer.enter(at(rank, 5100), regions["höchste<&\""])
            writer.leave(at(rank, 5200), regions["höchste<&\""])
            writer.enter(at(rank, 6000), regions["MPI_Barrier"])
            writer.mpi_collective_end(at(rank, 6090), CollectiveOp.BARRIER, comm, 4294967295, 3, 4)
            writer.leave(at(rank, 6100), regions["MPI_Barrier"])
            writer.leave(at(rank, 7000), regions["main"])
            writer.program_end(at(rank, 7001), 0)
        low = _otf2.Archive_GetDefWriter(archive.handle, 1)
        for time in (FIRST, FIRST + 8000):  # it does not change
            _otf2.DefWriter_WriteClockOffset(low, time, OFFSET, 0.0)


main(sys.argv[1], int(sys.argv[2]))
