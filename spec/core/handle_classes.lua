-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/handle_classes.lua - handles of C, by the names of their metatables, and the classes that describe them.

return {
  balancer = "pmlua.Balancer", buffer = "pmlua.Buffer", command = "pmlua.Command", controller = "pmlua.BalanceController",
  counter = "pmlua.Counter", countingset = "pmlua.CountingSet", eventset = "pmlua.Eventset", failure = "pmlua.Failure",
  filter = "pmlua.Filter",
  group = "pmlua.CounterGroup", location = "pmlua.TraceLocation", luasubstrate = "pmlua.SubstrateFunctions",
  plugin = "pmlua.Plugin", point = "pmlua.Point", profile = "pmlua.Profile", recorder = "pmlua.Recorder",
  sampler = "pmlua.Sampler",
  samples = "pmlua.Samples", sdecounter = "pmlua.SdeCounter", sdeevent = "pmlua.SdeEvent", sdelibrary = "pmlua.SdeLibrary",
  section = "pmlua.SectionHandle", sectionscope = "pmlua.SectionScope", substrateplugin = "pmlua.SubstratePlugin",
  trace = "pmlua.Trace", tracereader = "pmlua.TraceReader", tune = "pmlua.TuneHandle", watchpoints = "pmlua.watchpoint.Store",
  workload = "pmlua.Workload",
}
