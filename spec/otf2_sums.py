# SPDX-License-Identifier: BSD-3-Clause
"""Sums over an OTF2 archive by python3-otf2, for comparison: calls and times in ticks by region and location, call paths,
messages by sender and receiver, values of metrics. Prints JSON.

Try:  /usr/bin/python3 spec/otf2_sums.py out/traces.otf2
"""
import json
import sys

import otf2
from otf2.events import (Enter, Leave, Metric, MpiCollectiveEnd, MpiIrecv, MpiIsend, MpiRecv, MpiSend)


def main(path):
    sums, paths, stacks, pairs, metrics, kinds, last = {}, {}, {}, {}, {}, {}, {}
    moved = {}
    with otf2.reader.open(path) as trace:
        order = {location: i + 1 for i, location in enumerate(trace.definitions.locations)}
        start = trace.definitions.clock_properties.global_offset

        def close(location, time):
            region, entered, inside, key = stacks[location].pop()
            whole = time - entered
            row = sums.setdefault("%s@%d" % (region.name, order[location]), [0, 0, 0])
            row[0] += 1
            row[2] += whole - inside
            if all(frame[0] != region for frame in stacks[location]):
                row[1] += whole
            path_row = paths.setdefault(key, [0, 0, 0])
            path_row[0] += 1
            path_row[1] += whole
            path_row[2] += whole - inside
            if stacks[location]:
                stacks[location][-1][2] += whole

        for location, event in trace.events:
            kinds[type(event).__name__] = kinds.get(type(event).__name__, 0) + 1
            stack = stacks.setdefault(location, [])
            last[location] = event.time
            if isinstance(event, Enter):
                key = (stack[-1][3] + "/" if stack else "") + event.region.name
                stack.append([event.region, event.time, 0, key])
            elif isinstance(event, Leave):
                close(location, event.time)
            elif isinstance(event, (MpiSend, MpiIsend)):
                pair = pairs.setdefault((location, event.communicator.location(event.receiver)), [0, 0])
                pair[0] += 1
                pair[1] += event.msg_length
                row = moved.setdefault(stack[-1][0].name, [0, 0])
                row[0] += event.msg_length
            elif isinstance(event, (MpiRecv, MpiIrecv)):
                row = moved.setdefault(stack[-1][0].name, [0, 0])
                row[1] += event.msg_length
            elif isinstance(event, MpiCollectiveEnd):
                row = moved.setdefault(stack[-1][0].name, [0, 0])
                row[0] += event.size_sent
                row[1] += event.size_received
            elif isinstance(event, Metric):
                for member, value in zip(event.metric.members if hasattr(event.metric, "members")
                                         else event.metric.metric_class.members, event.values):
                    row = metrics.setdefault("%s@%d" % (member.name, order[location]), [0, value, value, value])
                    row[0] += 1
                    row[1], row[2], row[3] = min(row[1], value), max(row[2], value), value
        for location, stack in stacks.items():
            while stack:
                close(location, last[location])
        by_pair = {"%d>%d" % (order[a], order[b]): pair for (a, b), pair in pairs.items()}
        total = sum(pair[0] for pair in pairs.values()), sum(pair[1] for pair in pairs.values())
    print(json.dumps({"start": start, "sums": sums, "paths": paths, "messages": total, "pairs": by_pair, "moved": moved, "metrics": metrics,
                      "kinds": kinds}))


main(sys.argv[1])
