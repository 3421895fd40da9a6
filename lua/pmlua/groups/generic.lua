-- SPDX-License-Identifier: BSD-3-Clause
-- Any PMU that the kernel drives, and none: perf's generic names.
return {
  pmus = { "generic" },
  source = "Event names: perf_event_open(2); groups: K. Mikami, K. Ono, J. Nonaka, Performance evaluation and " ..
    "visualization of scientific applications using PMlib.",
  constants = { line = { 64, "byte" }, ns = { 1e-9, "s" } },
  events = {
    backend_stalls = "stalled-cycles-backend", branches = "branches", code_misses = "iTLB-load-misses", cpu_ns = "task-clock",
    cycles = "cycles", data_misses = "dTLB-load-misses", faults = "page-faults", frontend_stalls = "stalled-cycles-frontend",
    instructions = "instructions", l3_asked = "LLC-loads", l3_missed = "LLC-load-misses",
    load_misses = "L1-dcache-load-misses", loads = "L1-dcache-loads", mispredicted = "branch-misses", misses = "cache-misses",
    references = "cache-references", stores = "L1-dcache-stores", switches = "context-switches",
  },
  groups = {
    FLOPS = {
      prose = "perf has no generic name for floating-point work, so this group counts instructions instead of operations. It " ..
        "counts operations on PMUs that pmlua supports by name.",
      "instruction_rate [instruction/s] = instructions / time", "ipc",
    },
    BANDWIDTH = {
      prose = "Misses of the last level cache, taken as lines of 64 bytes. The kernel and the CPU " ..
        "define last level and miss.",
      "memory_read", "last_level",
    },
    VECTOR = {
      prose = "perf has no generic name for vector instructions, so this group has instructions per second of CPU time, " ..
        "which show whether a change of the code removed any.",
      "instructions_per_cpu_second [instruction/s] = instructions / (ns * cpu_ns)",
    },
    CACHE = {
      prose = "Loads and misses of the first and the last level, by the names that perf gives them.",
      "l1_miss_ratio = 100 * load_misses / loads", "ll_miss_ratio", "ll_mpki",
    },
    CYCLE = {
      prose = "Cycles, instructions and branches, and figures of the operating system that need no counter: CPU time, " ..
        "page faults and context switches.",
      "ipc", "mispredict_ratio", "cpus [] = ns * cpu_ns / time", "frequency [cycle/s] = cycles / (ns * cpu_ns)",
      "fault_rate [1/s] = faults / time", "switch_rate [1/s] = switches / time",
    },
    LOADSTORE = {
      prose = "Loads and stores of the first level cache, by the names that perf gives them.",
      "loads_per_instruction", "stores_per_instruction", "loads_per_store",
    },
    TLB = {
      prose = "Misses of the TLBs, by the names that perf gives them; whether of the first level or a walk is up to the " ..
        "kernel and the CPU.",
      "data_tlb_mpki", "code_tlb_mpki",
    },
    L3 = {
      prose = "Loads that reached the last level of the cache and its misses, by perf's names.",
      "l3_missed_ratio", "l3_missed_mpki",
    },
    BRANCH = {
      prose = "Branches and those that were mispredicted, by the names that perf gives them.",
      "branch_rate", "mispredict_ratio", "branch_mpki",
    },
    STALLS = {
      prose = "Cycles with a stalled frontend or backend, as the kernel defines them; many CPUs lack these events.",
      "stalled_by_frontend", "stalled_by_backend",
    },
    USER = {
      prose = "The arithmetic workload that the user counted in the source, per second of elapsed and of CPU time. " ..
        "A comparison with counted operations needs a PMU that pmlua supports by name.",
      inputs = { work = "the workload counted in the source (equation 1), in flop" },
      "user_rate", "rate_per_cpu_second [flop/s] = work / (ns * cpu_ns); only for the time on a CPU",
      "work_per_instruction = work / instructions",
    },
  },
}
