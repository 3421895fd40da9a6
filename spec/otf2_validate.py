#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""spec/otf2_validate.py - whether an OTF2 archive is what its readers rely on.

    /usr/bin/python3 spec/otf2_validate.py [--cut] DIR/traces.otf2

--cut: of a job that was killed, or not recorded whole: messages and collective operations may lack partners.

Prints "name: sentence" for every violation and exits 1, or "ok: N locations, N events" and exits 0; exit 2 is misuse.
otf2-print accepts most of what is refused here. The reading is done in a child, because libotf2 may crash on what it
cannot read or never end (OTF2_VALIDATE_LIMIT_S, 300); and it is done below the `otf2` package, because that raises on
the first reference it does not know.
"""

import collections
import os
import signal
import sys
import tempfile

try:
    import _otf2
except ImportError as missing:
    print("unavailable: python3-otf2 is missing (%s); install it and use /usr/bin/python3" % missing)
    sys.exit(2)

TIME_LIMIT_S = int(os.environ.get("OTF2_VALIDATE_LIMIT_S", "300"))
SHOWN_PER_NAME = 20
LATE_S = 5  # clocks of the files and of the trace may differ by so much
UNDEFINED_32 = 0xFFFFFFFF
UNDEFINED_64 = 0xFFFFFFFFFFFFFFFF
ROOTS = 0xFFFFFFFD  # this and more are no ranks
METRIC_VALUE_KINDS = {0x00, 0x01, 0x02}
METRIC_TIMINGS = {0x00, 0x10, 0x20, 0x30}


def number(value):
    """The integer in a ctypes enum, or the integer itself."""
    return getattr(value, "value", value)


class Findings:
    def __init__(self):
        self.count = collections.Counter()
        self.lines = []

    def add(self, name, sentence, *args):
        self.count[name] += 1
        if self.count[name] <= SHOWN_PER_NAME:
            self.lines.append("%s: %s" % (name, sentence % args))

    def report(self):
        for line in self.lines:
            print(line)
        for name, n in self.count.items():
            if n > SHOWN_PER_NAME:
                print("%s: and %d more" % (name, n - SHOWN_PER_NAME))


class Definitions:
    """The global definitions as they are written, and what is wrong with them."""

    def __init__(self, findings):
        self.findings = findings
        self.clock = None
        self.nclocks = 0
        self.tables = collections.defaultdict(dict)

    def define(self, kind, ref, what):
        if ref in self.tables[kind]:
            self.findings.add("defined-twice", "%s %d is defined more than once", kind, ref)
        self.tables[kind][ref] = what

    def callbacks(self):
        def clock(_, resolution, offset, length, realtime):
            self.nclocks += 1
            self.clock = (resolution, offset, length, realtime)

        def string(_, ref, text):
            self.define("string", ref, text.decode("utf-8", "replace") if isinstance(text, bytes) else text)

        def node(_, ref, name, class_name, parent):
            self.define("node", ref, (name, class_name, parent))

        def group(_, ref, name, kind, node_ref, *creator):
            self.define("group", ref, (name, number(kind), node_ref))

        def location(_, ref, name, kind, nevents, group_ref):
            self.define("location", ref, (name, number(kind), nevents, group_ref))

        def region(_, ref, name, canonical, description, role, paradigm, flags, source, begin, end):
            self.define("region", ref, (name, canonical, description, source))

        def ranks(_, ref, name, kind, paradigm, flags, members):
            self.define("ranks", ref, (name, number(kind), number(paradigm), list(members)))

        def comm(_, ref, name, group_ref, parent, *rest):
            self.define("comm", ref, (name, [group_ref], parent))

        def window(_, ref, name, comm_ref, *rest):
            self.define("window", ref, (name, comm_ref))

        def inter_comm(_, ref, name, first, second, parent, *rest):
            self.define("comm", ref, (name, [first, second], parent))

        def member(_, ref, name, description, kind, mode, value_type, base, exponent, unit):
            self.define("member", ref, (name, description, number(mode), number(value_type), number(base), unit))

        def metric_class(_, ref, members, *rest):
            self.define("metric", ref, list(members))

        def metric_instance(_, ref, class_ref, *rest):
            self.define("metric", ref, class_ref)

        return {
            "ClockProperties": clock, "String": string, "SystemTreeNode": node, "LocationGroup": group,
            "Location": location, "Region": region, "MetricMember": member, "MetricClass": metric_class,
            "MetricInstance": metric_instance, "Group": ranks, "Comm": comm, "InterComm": inter_comm,
            "RmaWin": window,
        }

    def name_of_group(self, ref):
        """The name of a location group, or None."""
        return self.tables["string"].get(self.tables["group"].get(ref, (None,))[0])

    def members_of(self, metric):
        """The members of a metric class, or of the class of an instance; None if it is not defined."""
        what = self.tables["metric"].get(metric)
        return self.tables["metric"].get(what) if isinstance(what, int) else what

    def check(self, anchor):
        self.check_clock(anchor)
        strings = self.tables["string"]
        if strings.get(0) != "":
            self.findings.add("string-zero", "string 0 is %s, not \"\"", repr(strings[0]) if 0 in strings else "not defined")
        self.check_tree()
        for ref, (name, canonical, description, source) in self.tables["region"].items():
            self.need_strings("region %d" % ref, name, canonical, description, source)
        self.check_metrics()
        self.check_communicators()

    def check_clock(self, anchor):
        if self.nclocks != 1:
            self.findings.add("clock-missing", "ClockProperties is defined %d times, not once", self.nclocks)
        if self.clock is None:
            return
        resolution, offset, length, realtime = self.clock
        if resolution == 0:
            self.findings.add("clock-resolution", "the clock has 0 ticks per second")
        if offset + length > UNDEFINED_64:
            self.findings.add("clock-range", "offset %d and length %d together do not fit 64 bits", offset, length)
        if realtime in (0, UNDEFINED_64):
            self.findings.add("clock-realtime", "the real-time stamp is not set")
        elif resolution > 0:
            late = realtime / 1e9 + length / resolution - max(os.stat(anchor).st_mtime, 0)
            if late > LATE_S:
                self.findings.add("clock-truth", "by its clock the trace ends %.3g s after it was written; "
                                  "%d ticks per second, or the stamp, are wrong", late, resolution)

    def check_tree(self):
        strings, nodes, groups = self.tables["string"], self.tables["node"], self.tables["group"]
        if "node" not in [strings.get(class_name) for _, class_name, _ in nodes.values()]:
            self.findings.add("node-missing", "no SystemTreeNode is of class \"node\"")
        for ref, (name, class_name, parent) in nodes.items():
            self.need_strings("node %d" % ref, name, class_name)
            if parent != UNDEFINED_32 and (parent not in nodes or parent == ref):
                self.findings.add("reference-undefined", "node %d is in node %d, which is not defined", ref, parent)
        process = number(_otf2.LOCATION_GROUP_TYPE_PROCESS)
        if process not in [kind for _, kind, _ in groups.values()]:
            self.findings.add("process-missing", "no LocationGroup is of type PROCESS")
        for ref, (name, _, node) in groups.items():
            self.need_strings("group %d" % ref, name)
            if node not in nodes:
                self.findings.add("reference-undefined", "group %d is on node %d, which is not defined", ref, node)
        for ref, (name, kind, _, group) in self.tables["location"].items():
            self.need_strings("location %d" % ref, name)
            if group not in groups:
                self.findings.add("reference-undefined", "location %d is in group %d, which is not defined", ref, group)
            elif kind == number(_otf2.LOCATION_TYPE_CPU_THREAD) and groups[group][1] != process:
                self.findings.add("process-missing", "the thread location %d is in a group that is no PROCESS", ref)

    def check_metrics(self):
        for ref, (name, description, mode, _, base, unit) in self.tables["member"].items():
            self.need_strings("metric member %d" % ref, name, description, unit)
            if mode & 0x0F not in METRIC_VALUE_KINDS or mode & 0xF0 not in METRIC_TIMINGS:
                self.findings.add("metric-member", "metric member %d has mode %d, which is none", ref, mode)
            if base not in (0, 1):
                self.findings.add("metric-member", "metric member %d has base %d, which is none", ref, base)
        for ref, what in self.tables["metric"].items():
            if self.members_of(ref) is None:
                self.findings.add("reference-undefined", "metric %d is of class %d, which is not defined", ref, what)
            for member in what if isinstance(what, list) else []:
                if member not in self.tables["member"]:
                    self.findings.add("reference-undefined", "metric %d has member %d, which is not defined", ref, member)

    def ranks_of(self, kind):
        """Groups of MPI of one kind by their references."""
        mpi = number(_otf2.PARADIGM_MPI)
        return {ref: members for ref, (_, is_kind, paradigm, members) in self.tables["ranks"].items()
                if is_kind == number(kind) and paradigm == mpi}

    def check_communicators(self):
        all_ranks = self.ranks_of(_otf2.GROUP_TYPE_COMM_LOCATIONS)
        if len(all_ranks) > 1 or (self.ranks_of(_otf2.GROUP_TYPE_COMM_GROUP) and not all_ranks):
            self.findings.add("comm-locations", "there are %d groups of the locations of MPI, not one", len(all_ranks))
        self.rank_locations = next(iter(all_ranks.values()), [])
        for location in self.rank_locations:
            if location not in self.tables["location"]:
                self.findings.add("reference-undefined", "a rank is at location %d, which is not defined", location)
        for ref, members in self.ranks_of(_otf2.GROUP_TYPE_COMM_GROUP).items():
            if [m for m in members if m >= len(self.rank_locations)] or len(set(members)) < len(members):
                self.findings.add("comm-group", "group %d has a member twice, or one that is no rank", ref)
        for ref, (name, groups, parent) in self.tables["comm"].items():
            self.need_strings("communicator %d" % ref, name)
            if [g for g in groups if g not in self.tables["ranks"]]:
                self.findings.add("reference-undefined", "communicator %d is of a group that is not defined", ref)
            if parent != UNDEFINED_32 and parent not in self.tables["comm"]:
                self.findings.add("reference-undefined", "communicator %d has a parent that is not defined", ref)

        for ref, (name, comm_ref) in self.tables["window"].items():
            self.need_strings("window %d" % ref, name)
            if comm_ref not in self.tables["comm"]:
                self.findings.add("reference-undefined", "window %d is of a communicator that is not defined", ref)

    def members(self, comm, rank):
        """Ranks in the group whose ranks @rank sends to by a communicator; None if it is not defined."""
        if comm not in self.tables["comm"]:
            return None
        groups = [self.tables["ranks"].get(g, (0, 0, 0, []))[3] for g in self.tables["comm"][comm][1]]
        own_group = self.tables["comm"][comm][1][0] in self.ranks_of(_otf2.GROUP_TYPE_COMM_SELF)
        return [rank] if own_group else groups[1] if len(groups) > 1 and rank in groups[0] else groups[0]

    def need_strings(self, whose, *refs):
        for ref in refs:
            if ref != UNDEFINED_32 and ref not in self.tables["string"]:
                self.findings.add("reference-undefined", "%s names string %d, which is not defined", whose, ref)


class Events:
    """The events of one location, in the order of its file."""

    def __init__(self, location, definitions, findings, job):
        self.location, self.definitions, self.findings = location, definitions, findings
        self.job, self.process = job, definitions.tables["location"][location][3]
        self.collective = None
        self.n, self.last, self.open = 0, None, []
        clock = definitions.clock
        self.first, self.end = (0, UNDEFINED_64) if clock is None else (clock[1], clock[1] + clock[2])

    def tick(self, moment):
        self.n += 1
        if not self.first <= moment <= self.end:
            self.findings.add("time-range", "location %d, event %d is at %d, outside ClockProperties [%d, %d]",
                              self.location, self.n, moment, self.first, self.end)
        if self.last is not None and moment < self.last:
            self.findings.add("time-back", "location %d, event %d is at %d, before the one it follows at %d",
                              self.location, self.n, moment, self.last)
        self.last = moment

    def need_region(self, region):
        if region not in self.definitions.tables["region"]:
            self.findings.add("region-undefined", "location %d, event %d is of region %d, which is not defined",
                              self.location, self.n, region)

    def callbacks(self):
        def enter(_, moment, *args):
            self.tick(moment)
            self.need_region(args[-1])
            self.open.append(args[-1])

        def leave(_, moment, *args):
            self.tick(moment)
            self.need_region(args[-1])
            if not self.open:
                self.findings.add("leave-unmatched", "location %d, event %d leaves region %d, but none is open",
                                  self.location, self.n, args[-1])
            elif self.open.pop() != args[-1]:
                self.findings.add("leave-unmatched", "location %d, event %d leaves region %d, which is not the innermost",
                                  self.location, self.n, args[-1])

        def metric(_, moment, position, user, attributes, ref, types, values):
            self.tick(moment)
            self.check_metric(ref, types)

        def of_mpi(what):
            def take(_, moment, *args):
                self.tick(moment)
                self.job.take(self, what, moment, args)
            return take

        def other():  # one function each: the bindings keep with it what libotf2 calls
            return lambda _, moment, *args: self.tick(moment)

        def one_sided():
            def take(_, moment, *args):
                self.tick(moment)
                if args[3] not in self.definitions.tables["window"]:
                    self.findings.add("window-undefined", "location %d has an operation on window %d, which is not defined",
                                      self.location, args[3])
            return take

        known = {"Enter": enter, "Leave": leave, "Metric": metric}
        known.update({what: one_sided() for what in ("RmaPut", "RmaGet", "RmaAtomic")})
        known.update({what: of_mpi(what) for what in Job.KINDS})
        return collections.defaultdict(other, known)

    def check_metric(self, ref, types):
        members = self.definitions.members_of(ref)
        if members is None:
            self.findings.add("metric-undefined", "location %d, event %d is of metric %d, which is not defined",
                              self.location, self.n, ref)
            return
        if len(types) != len(members):
            self.findings.add("metric-values", "location %d, event %d has %d values of metric %d, which has %d members",
                              self.location, self.n, len(types), ref, len(members))
        for value_type, member in zip(types, members):
            defined = self.definitions.tables["member"].get(member)
            if defined is not None and defined[3] != number(value_type):
                self.findings.add("metric-values", "location %d, event %d has a value of type %d of member %d of type %d",
                                  self.location, self.n, number(value_type), member, defined[3])

    def finish(self, declared):
        for region in reversed(self.open):
            self.findings.add("enter-unmatched", "location %d never leaves region %d", self.location, region)
        if self.n != declared:
            self.findings.add("event-count", "location %d has %d events, its definition says %d",
                              self.location, self.n, declared)


class Job:
    """Messages, requests and collective operations of all ranks, to be compared when all are read."""

    KINDS = ("MpiSend", "MpiIsend", "MpiIsendComplete", "MpiIrecvRequest", "MpiRecv", "MpiIrecv", "MpiRequestTest",
             "MpiRequestCancelled", "MpiCollectiveBegin", "MpiCollectiveEnd", "NonBlockingCollectiveRequest",
             "NonBlockingCollectiveComplete")

    def __init__(self, definitions, findings):
        self.definitions, self.findings = definitions, findings
        groups = {r: definitions.tables["location"].get(l, (0, 0, 0, None))[3]
                  for r, l in enumerate(getattr(definitions, "rank_locations", []))}
        self.rank_of = {process: rank for rank, process in reversed(groups.items())}
        # of these nothing is known but that they take part
        self.foreign = {r for r, g in groups.items() if definitions.name_of_group(g) == "ranks of other jobs"}
        self.sent, self.received = collections.defaultdict(list), collections.defaultdict(list)
        self.requests = collections.defaultdict(list)  # (moment, what), by id
        self.operations = collections.defaultdict(list)  # [moment, comm, (operation, root)], by rank

    def take(self, events, what, moment, args):
        rank = self.rank_of.get(events.process)
        if rank is None:
            self.findings.add("rank-missing", "location %d has events of MPI, and is of no rank", events.location)
        elif what in ("MpiSend", "MpiIsend", "MpiRecv", "MpiIrecv"):
            self.take_message(rank, what, moment, args)
        elif "Collective" in what:
            self.take_collective(events, rank, what, moment, args)
        if what not in ("MpiSend", "MpiRecv", "MpiCollectiveBegin", "MpiCollectiveEnd"):
            self.requests[args[-1]].append((moment, events.process, what))

    def take_message(self, rank, what, moment, args):
        peer, comm, tag, length = args[-5:-1] if what.startswith("MpiI") else args[-4:]
        members = self.definitions.members(comm, rank)
        if members is None or peer >= len(members):
            self.findings.add("peer-undefined", "rank %d has a message of rank %d of communicator %d, which has no such",
                              rank, peer, comm)
        elif members[peer] in self.foreign:
            pass
        elif what in ("MpiSend", "MpiIsend"):
            self.sent[comm, rank, members[peer], tag].append((moment, length))
        else:
            self.received[comm, members[peer], rank, tag].append((moment, length))

    def take_collective(self, events, rank, what, moment, args):
        if what == "MpiCollectiveBegin":
            if events.collective is not None:
                self.findings.add("collective-open", "location %d begins a collective operation in another", events.location)
            events.collective = [moment, None, None]
            self.operations[rank].append(events.collective)
        elif what == "NonBlockingCollectiveRequest":
            self.operations[rank].append([moment, None, args[-1]])
        else:
            self.end_collective(events, rank, what, args)

    def end_collective(self, events, rank, what, args):
        if what == "MpiCollectiveEnd":
            begun, events.collective = events.collective, None
        else:
            begun = next((b for b in self.operations[rank] if b[1] is None and b[2] == args[-1]), None)
            args = args[:-1]
        op, comm, root = number(args[-5]), args[-4], args[-3]
        if comm not in self.definitions.tables["comm"]:
            self.findings.add("comm-undefined", "location %d has an operation of communicator %d, which is not defined",
                              events.location, comm)
        if begun is None:
            self.findings.add("collective-open", "location %d ends a collective operation that has not begun", events.location)
        else:
            begun[1], begun[2] = comm, (op, min(root, ROOTS))

    def check(self, cut):
        self.check_requests()
        self.check_messages(cut)
        if not cut:
            self.check_collectives()

    def check_requests(self):
        posts = ("MpiIsend", "MpiIrecvRequest", "NonBlockingCollectiveRequest")
        last = {"MpiIsend": "MpiIsendComplete", "MpiIrecvRequest": "MpiIrecv",
                "NonBlockingCollectiveRequest": "NonBlockingCollectiveComplete"}
        for ref, events in self.requests.items():
            events.sort(key=lambda e: (e[0], e[2] not in posts, e[2] == "MpiRequestTest" and -1 or 0))
            whats = [what for _, _, what in events]
            ends = [w for w in whats[1:] if w != "MpiRequestTest"]
            if whats[0] not in posts or len({process for _, process, _ in events}) > 1:
                self.findings.add("request-order", "request %d begins with %s, or is of two processes", ref, whats[0])
            elif [e for e in ends if e not in (last[whats[0]], "MpiRequestCancelled")] or len(ends) > 2:
                self.findings.add("request-order", "request %d: %s", ref, ", ".join(whats))

    def check_messages(self, cut):
        for key in set(self.sent) | set(self.received):
            sent, received = sorted(self.sent[key]), sorted(self.received[key])
            where = "communicator %d, from rank %d to %d, tag %d" % key
            if len(sent) != len(received) and not cut:
                self.findings.add("message-unmatched", "%s: %d sent, %d received", where, len(sent), len(received))
            elif not cut and sorted(n for _, n in sent) != sorted(n for _, n in received):
                self.findings.add("message-length", "%s: other lengths are received than sent", where)
            for (left, _), (arrived, _) in zip(sent, received):
                if arrived < left:
                    self.findings.add("message-early", "%s: received at %d, sent at %d", where, arrived, left)

    def check_collectives(self):
        by_comm = collections.defaultdict(dict)
        for rank, operations in self.operations.items():
            for _, comm, what in sorted(operations, key=lambda o: o[0]):
                if comm is None:
                    self.findings.add("collective-open", "rank %d never ends a collective operation", rank)
                else:
                    by_comm[comm].setdefault(rank, []).append(what)
        for comm, lists in by_comm.items():
            groups = self.definitions.tables["comm"].get(comm, (0, [], 0))[1]
            members = {m for g in groups for m in self.definitions.tables["ranks"].get(g, (0, 0, 0, []))[3]} - self.foreign
            different = [r for r in lists if lists[r] != next(iter(lists.values()))]
            if members and (set(lists) != members or (different and len(groups) == 1)):
                self.findings.add("collective-incomplete", "communicator %d: ranks %s of %s take part, ranks %s in others",
                                  comm, sorted(lists), sorted(members), different)


def set_callbacks(prefix, handle, functions, every=False):
    for setter in dir(_otf2):
        if setter.startswith(prefix + "_Set") and setter.endswith("Callback"):
            kind = setter[len(prefix) + 4:-len("Callback")]
            if every or kind in functions:
                getattr(_otf2, setter)(handle, functions[kind])


def read_definitions(reader, definitions):
    def_reader = _otf2.Reader_GetGlobalDefReader(reader)
    callbacks = _otf2.GlobalDefReaderCallbacks_New()
    functions = definitions.callbacks()  # to be kept: the bindings do not
    set_callbacks("GlobalDefReaderCallbacks", callbacks, functions)
    _otf2.Reader_RegisterGlobalDefCallbacks(reader, def_reader, callbacks, definitions)
    n = _otf2.Reader_ReadAllGlobalDefinitions(reader, def_reader)
    declared = _otf2.Reader_GetNumberOfGlobalDefinitions(reader)
    if n != declared:
        definitions.findings.add("definition-count", "there are %d global definitions, the anchor file says %d", n, declared)
    _otf2.GlobalDefReaderCallbacks_Delete(callbacks)
    _otf2.Reader_CloseGlobalDefReader(reader, def_reader)


def check_files(folder, definitions, findings):
    """Which locations have both files; a file without a location holds events that no reader finds."""
    locations = definitions.tables["location"]
    for file in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
        stem, ext = os.path.splitext(file)
        if ext in (".evt", ".def") and stem.isdigit() and int(stem) not in locations:
            findings.add("location-undefined", "'%s' belongs to location %s, which is not defined", file, stem)
    whole = []
    for ref, (_, _, nevents, _) in sorted(locations.items()):
        has_def = os.path.exists(os.path.join(folder, "%d.def" % ref))
        has_evt = os.path.exists(os.path.join(folder, "%d.evt" % ref))
        if not has_def:
            findings.add("local-definitions", "location %d has no local definition file", ref)
        if not has_evt and nevents > 0:
            findings.add("event-count", "location %d has no event file, its definition says %d events", ref, nevents)
        if has_evt:
            whole.append((ref, has_def))
    return whole


def read_local_definitions(reader, files):
    _otf2.Reader_OpenDefFiles(reader)
    for ref, has_def in files:
        if has_def:
            def_reader = _otf2.Reader_GetDefReader(reader, ref)
            _otf2.Reader_ReadAllLocalDefinitions(reader, def_reader)
            _otf2.Reader_CloseDefReader(reader, def_reader)
    _otf2.Reader_CloseDefFiles(reader)


def read_events(reader, files, definitions, findings, job):
    total = 0
    for ref, _ in files:
        _otf2.Reader_SelectLocation(reader, ref)
    read_local_definitions(reader, files)
    _otf2.Reader_OpenEvtFiles(reader)
    for ref, _ in files:
        events = Events(ref, definitions, findings, job)
        evt_reader = _otf2.Reader_GetEvtReader(reader, ref)
        callbacks = _otf2.EvtReaderCallbacks_New()
        functions = events.callbacks()  # to be kept: the bindings do not
        set_callbacks("EvtReaderCallbacks", callbacks, functions, every=True)
        _otf2.Reader_RegisterEvtCallbacks(reader, evt_reader, callbacks, events)
        try:
            _otf2.Reader_ReadAllLocalEvents(reader, evt_reader)
        except _otf2.Error as error:
            findings.add("unreadable", "location %d after %d events: %s", ref, events.n, error.description)
        events.finish(definitions.tables["location"][ref][2])
        total += events.n
        _otf2.EvtReaderCallbacks_Delete(callbacks)
        _otf2.Reader_CloseEvtReader(reader, evt_reader)
    _otf2.Reader_CloseEvtFiles(reader)
    return total


def validate(anchor, cut):
    """In the child: print what was found; 0 or 1."""
    findings = Findings()
    definitions = Definitions(findings)
    total = 0
    try:
        reader = _otf2.Reader_Open(anchor)
        _otf2.Reader_SetSerialCollectiveCallbacks(reader)
        read_definitions(reader, definitions)
        definitions.check(anchor)
        declared = _otf2.Reader_GetNumberOfLocations(reader)
        if declared != len(definitions.tables["location"]):
            findings.add("location-count", "%d locations are defined, the anchor file says %d",
                         len(definitions.tables["location"]), declared)
        files = check_files(os.path.splitext(anchor)[0], definitions, findings)
        if files:
            job = Job(definitions, findings)
            total = read_events(reader, files, definitions, findings, job)
            job.check(cut)
        _otf2.Reader_Close(reader)
    except _otf2.Error as error:
        findings.add("unreadable", "libotf2 cannot read it: %s", error.description)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        findings.add("unreadable", "%s", " ".join(str(error).split()))
    findings.report()
    if findings.lines:
        return 1
    print("ok: %d locations, %d events" % (len(definitions.tables["location"]), total))
    return 0


def in_child(anchor, cut):
    """Run validate() in a child whose stderr, libotf2's, is kept. Returns (wait status, its words)."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as words:
        child = os.fork()
        if child == 0:
            os.dup2(words.fileno(), 2)
            signal.alarm(TIME_LIMIT_S)  # unhandled, so that it ends a loop inside libotf2, too
            status = 1
            try:
                status = validate(anchor, cut)
                sys.stdout.flush()
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        words.seek(0)
        return status, words.read().decode("utf-8", "replace")


def main(args):
    cut = len(args) > 2 and args[1] == "--cut"
    if len(args) != 2 + cut or args[-1].startswith("-"):
        print("usage: %s [--cut] DIR/traces.otf2" % args[0], file=sys.stderr)
        return 2
    anchor = args[-1]
    if not os.path.isfile(anchor):
        print("unreadable: there is no file '%s'" % anchor)
        return 1
    status, words = in_child(anchor, cut)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        print("unreadable: libotf2 did not come to an end within %d s" % TIME_LIMIT_S)
    elif os.WIFSIGNALED(status):
        print("unreadable: libotf2 crashed on it (%s)" % signal.Signals(os.WTERMSIG(status)).name)
    elif os.WEXITSTATUS(status) == 0 and "Traceback" not in words:
        return 0
    lines = [line for line in words.splitlines() if line.strip()]
    if lines:
        print("unreadable: in the words of libotf2: %s" % lines[-1].strip())
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
