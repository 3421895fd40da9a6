# SPDX-License-Identifier: BSD-3-Clause
# spec/bench/trace/events.py - what python3-otf2 takes for the events of an archive: events.py ANCHOR
#
# Prints events and seconds of the processor.

import sys
import time

import otf2

before, events = time.process_time(), 0
with otf2.reader.open(sys.argv[1]) as trace:
    for location, event in trace.events:
        events += 1
print(events, time.process_time() - before)
