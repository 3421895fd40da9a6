#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""spec/otf2_validate.py - whether an OTF2 archive is what its readers rely on.

    /usr/bin/python3 spec/otf2_validate.py DIR/traces.otf2

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

        def member(_, ref, name, description, kind, mode, value_type, base, exponent, unit):
            self.define("member", ref, (name, description, number(mode), number(value_type), number(base), unit))

        def metric_class(_, ref, members, *rest):
            self.define("metric", ref, list(members))

        def metric_instance(_, ref, class_ref, *rest):
            self.define("metric", ref, class_ref)

        return {
            "ClockProperties": clock, "String": string, "SystemTreeNode": node, "LocationGroup": group,
            "Location": location, "Region": region, "MetricMember": member, "MetricClass": metric_class,
            "MetricInstance": metric_instance,
        }

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

    def need_strings(self, whose, *refs):
        for ref in refs:
            if ref != UNDEFINED_32 and ref not in self.tables["string"]:
                self.findings.add("reference-undefined", "%s names string %d, which is not defined", whose, ref)


class Events:
    """The events of one location, in the order of its file."""

    def __init__(self, location, definitions, findings):
        self.location, self.definitions, self.findings = location, definitions, findings
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

        def other():  # one for each kind: the bindings keep a function for its last kind only
            return lambda _, moment, *args: self.tick(moment)

        return collections.defaultdict(other, {"Enter": enter, "Leave": leave, "Metric": metric})

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


def set_callbacks(prefix, handle, functions, every=False):
    for setter in dir(_otf2):
        if setter.startswith(prefix + "_Set") and setter.endswith("Callback"):
            kind = setter[len(prefix) + 4:-len("Callback")]
            if every or kind in functions:
                getattr(_otf2, setter)(handle, functions[kind])


def read_definitions(reader, definitions):
    def_reader = _otf2.Reader_GetGlobalDefReader(reader)
    callbacks = _otf2.GlobalDefReaderCallbacks_New()
    set_callbacks("GlobalDefReaderCallbacks", callbacks, definitions.callbacks())
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


def read_events(reader, files, definitions, findings):
    total = 0
    for ref, _ in files:
        _otf2.Reader_SelectLocation(reader, ref)
    read_local_definitions(reader, files)
    _otf2.Reader_OpenEvtFiles(reader)
    for ref, _ in files:
        events = Events(ref, definitions, findings)
        evt_reader = _otf2.Reader_GetEvtReader(reader, ref)
        callbacks = _otf2.EvtReaderCallbacks_New()
        set_callbacks("EvtReaderCallbacks", callbacks, events.callbacks(), every=True)
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


def validate(anchor):
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
            total = read_events(reader, files, definitions, findings)
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


def in_child(anchor):
    """Run validate() in a child whose stderr, libotf2's, is kept. Returns (wait status, its words)."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as words:
        child = os.fork()
        if child == 0:
            os.dup2(words.fileno(), 2)
            signal.alarm(TIME_LIMIT_S)  # unhandled, so that it ends a loop inside libotf2, too
            status = 1
            try:
                status = validate(anchor)
                sys.stdout.flush()
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        words.seek(0)
        return status, words.read().decode("utf-8", "replace")


def main(args):
    if len(args) != 2 or args[1].startswith("-"):
        print("usage: %s DIR/traces.otf2" % args[0], file=sys.stderr)
        return 2
    anchor = args[1]
    if not os.path.isfile(anchor):
        print("unreadable: there is no file '%s'" % anchor)
        return 1
    status, words = in_child(anchor)
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
