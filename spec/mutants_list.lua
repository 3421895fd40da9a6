-- SPDX-License-Identifier: BSD-3-Clause
-- spec/mutants_list.lua - list of the mutants for spec/mutants.lua, each of one line, and of the specs that must notice them.
--
-- Try:  local m = dofile "spec/mutants_list.lua"; print(#m.list, m.list[1][1], m.list[1][2])

local READER = "core/source/kernel/pml_rdpmc.h"
local SECTION, LOG = "core/adapter/section/pml_section.c", "core/record/log/pml_log.c"
local SECTION_THREAD = "core/adapter/section/pml_section_thread.c"
local STREAM, DELIVER = "core/base/stream/pml_stream.c", "core/base/stream/pml_stream_deliver.c"
local DELIVERY = "core/base/stream/pml_stream_private.h"
local STUBS, CALL = "core/adapter/arch/x86_64/stubs.S", "core/adapter/arch/pml_call_gpr.c"
local CALL_H = "core/adapter/arch/pml_call.h"
local EXPORTS = "core/adapter/intercept/pml_intercept_exports.c"
local KEPT = "core/adapter/intercept/pml_intercept_cache.c"
local CALL_FULL = "core/adapter/arch/pml_call.c"
local BUFFER, BUFFER_GPR = "core/record/events/pml_event_buffer.h", "core/record/events/pml_event_buffer_gpr.c"
local BUFFER_RARE = "core/record/events/pml_event_buffer.c"
local ACCUMULATOR = "core/record/events/pml_recording_accumulator.h"
local HISTOGRAM = "core/substrate/profile/pml_profile_histogram.h"
local DURATION = "core/substrate/profile/pml_profile_private.h"
local RECORDER, KEEP = "core/record/recorder/pml_recorder.c", "core/record/recorder/pml_recorder_keep.c"
local NEAR = "core/record/recorder/pml_recorder_cache.c"
local SDE, SDE_COUNTER = "core/source/sde/pml_sde_private.h", "core/source/sde/pml_sde_counter.c"
local RSEQ, FAULT = "core/source/kernel/pml_rseq.h", "core/source/kernel/pml_rdpmc_fault.c"
local PRIVATE = "core/source/kernel/pml_counter_private.h"
local COUNTER, GROUP = "core/source/kernel/pml_counter.c", "core/source/kernel/pml_group.c"
local SET, LAYOUT = "core/source/base/pml_eventset.c", "core/source/base/pml_eventset_private.h"
local SHARE, PAGES = "core/source/kernel/pml_eventset_kernel.c", "core/source/kernel/pml_eventset_kernel_read.h"
local RING = "core/record/pml_ring.h"
local ARCHIVE = "core/read/archive/pml_archive_"
local WAITS, PAIRS = ARCHIVE .. "waits.c", ARCHIVE .. "pairs.c"
local RANKS, LOCK = ARCHIVE .. "ranks.c", ARCHIVE .. "lock.c"
local OF_CALLS, READS = "core/read/recording/pml_recording_events.c", "core/read/log/pml_log_read.c"
local JSON = "lua/pmlua/json.lua"
local STATES = "lua/pmlua/analysis/waits.lua"
local IMBALANCE, CRITICAL = "lua/pmlua/analysis/imbalance.lua", "lua/pmlua/analysis/critical_path.lua"
local READ = "core/read/otf2/pml_otf2_"
local WALK, ROWS, SUMS, EVENTS = READ .. "walk.c", READ .. "rows.c", READ .. "read_sums.c", READ .. "events.c"
local SAMPLER = "core/source/kernel/sampler/pml_sampler_"
local SAMPLES, MAPS = SAMPLER .. "ring.c", SAMPLER .. "maps.c"

--- A header is included in several sources; the sources of @SOURCES_OF are built with its mutants.
local SOURCES_OF = { [PRIVATE] = COUNTER .. " " .. GROUP, [SDE] = "core/source/sde/*.c",
  [DELIVERY] = "core/base/stream/pml_stream*.c",
  [CALL_H] = "core/adapter/arch/pml_call*.c core/adapter/wrap/pml_wrap.c",
  [BUFFER] = "core/record/events/pml_event_buffer_gpr.c core/record/events/pml_event_buffer.c",
  [ACCUMULATOR] = "core/record/events/pml_recording_sums.c core/record/events/pml_recording_sums_gpr.c",
  [HISTOGRAM] = "core/substrate/profile/pml_profile*.c", [DURATION] = "core/substrate/profile/pml_profile*.c",
  [LAYOUT] = SET .. " " .. SHARE, [PAGES] = SHARE .. " core/source/kernel/pml_eventset_kernel_gpr.c" }

--- name, file, text, replacement; `unless`: an architecture on which the mutant is equivalent to the original; `by`: the spec
--- that judges it instead of the specs of the file; `crashes`: it may end by a signal; `pmu = false`: a real PMU and copies of
--- its page cannot reveal it; `pmu = "maybe"`: only a PMU with 32-bit registers reveals it, because arm's kernel sets the upper
--- half of larger ones.
local mutants = {
  { "offset ignored", READER, "uint64_t raw = (uint64_t)pc->offset + pmc;", "uint64_t raw = pmc;" },
  { "index not decremented", READER, "PML__RDPMC_TAKE(pc, index - 1, pmc)", "PML__RDPMC_TAKE(pc, index, pmc)" },
  { "sign-extension dropped", READER, "pmc = pml__rdpmc_sign_extend(pmc, pc->pmc_width);", "", pmu = "maybe" },
  { "zero-extension", READER, "(uint64_t)((int64_t)(pmc << shift) >> shift)", "(pmc << shift) >> shift" },
  { "width is 32", READER, "(pmc, pc->pmc_width)", "(pmc, 32)" },
  { "width is 40", READER, "(pmc, pc->pmc_width)", "(pmc, 40)" },
  { "width is 48", READER, "(pmc, pc->pmc_width)", "(pmc, 48)" },
  { "index 0 unchecked", READER, "index == 0 || ", "" },
  { "largest index unchecked", READER, " || index > PML_RDPMC_COUNTERS", "", unless = "x86_64" },
  { "seqlock removed", READER, "if (PML_UNLIKELY(!stable)) return -1;", "" },
  { "first load removed", READER, "uint32_t seq = pc->lock;", "uint32_t seq = 0;" },
  { "first load too late", READER, "bool stable = pc->lock == (seq & ~1u);", "seq = pc->lock; bool stable = true;" },
  { "second check removed", READER, "bool stable = pc->lock == (seq & ~1u);", "bool stable = true;" },
  { "odd lock unchecked", READER, "(seq & ~1u)", "seq" },
  { "retry unbounded", READER, "tries <= PML_RDPMC_TRIES", "true" },
  { "no try at all", READER, "tries <= PML_RDPMC_TRIES", "tries <= 0" },
  { "retries untold", READER, "return rc > 0 ? tries : 0;", "return rc;", pmu = false },
  { "result written too early", READER, "uint64_t enabled = 0, running = 0;",
    "uint64_t enabled = 0, running = 0; r->raw = raw;", pmu = false },
  { "cap_user_rdpmc unchecked", READER, "if (PML_UNLIKELY(!pc->cap_user_rdpmc)) return 0;", "" },
  { "cap_user_time unchecked", READER, "if (PML_UNLIKELY(!pc->cap_user_time)) return 0;", "" },
  { "delta not added", READER, "uint64_t delta = pml__rdpmc_delta_ns(pc);", "uint64_t delta = 0;" },
  { "delta not added to enabled", READER, "pc->time_enabled + delta", "pc->time_enabled" },
  { "delta not added to running", READER, "pc->time_running + delta", "pc->time_running" },
  { "running taken for enabled", READER, "pc->time_enabled + delta", "pc->time_running + delta" },
  { "time not multiplied", READER, "quot * mult + ((rem * mult) >> shift)", "cyc" },
  { "remainder dropped", READER, "quot * mult + ((rem * mult) >> shift)", "quot * mult" },
  { "time offset ignored", READER, "return pc->time_offset + quot", "return quot" },
  { "short-time mask ignored", READER, "if (pc->cap_user_time_short) {", "if (false) {" },
  { "short time where it is not", READER, "if (pc->cap_user_time_short) {", "if (true) {", pmu = false },

  { "counter: owner unchecked", PRIVATE, "if (PML_LIKELY(c->owner == self)) return", "if (true) return" },
  { "counter: owner not asked for the path", COUNTER, "(c->owner & ~PML__OWNER_RESTARTS) != pml_thread_id()", "false" },
  { "counter: a child unmaps what lies where its parent's page was", COUNTER,
    "pml__thread_is_of_parent(c->owner & ~PML__OWNER_RESTARTS)", "false" },
  { "counter: page of an inherited event", COUNTER, "if (attr->inherit) return", "if (false) return" },
  { "counter: page of another's event", COUNTER, "if (pid != 0) return", "if (false) return" },
  { "counter: page of a cpu-wide event", COUNTER, [[if (pid < 0) return OF_CPU;
  if (pid != 0) return OF_OTHER;]], "if (pid > 0) return OF_OTHER; cpu = -1;" },
  { "counter: page of a cpu-bound event", COUNTER, "if (cpu != -1) return", "if (false) return" },
  { "counter: page though turned off", COUNTER, "if (flags & PML_OPEN_NO_PAGE) return", "if (false) return" },
  { "counter: permission not asked for the path", COUNTER, "else if (!c->page->cap_user_rdpmc)", "else if (false)" },
  { "group: half by page", GROUP, "if (tries == 0) return -EAGAIN;", "if (tries == 0) continue;" },
  { "set: owner unchecked", SHARE, "bool owner = k->owner == pml_thread_id();", "bool owner = true;" },
  { "set: owner unchecked where all are read by page", PAGES, "k->owner != pml_thread_id()", "false" },
  { "set: half by page", SHARE, "false, restarts);\n    if (PML_UNLIKELY(tries == 0)) return -EAGAIN;",
    "false, restarts);\n    if (tries == 0) continue;" },

  { "counter: close leaves the page mapped", COUNTER, "if (c->page != NULL) munmap((void *)(uintptr_t)c->page, page_bytes());",
    "" },
  { "counter: a forbidden page stays mapped", COUNTER, "return;\n  }\n  unmap(c);",
    "return;\n  }\n  c->page = NULL;" },

  { "page: lock loaded after the index", READER, [[  uint32_t seq = pc->lock;
  PML_RDPMC_FENCE();

  if (PML_UNLIKELY(!pc->cap_user_rdpmc)) return 0;
  uint64_t pmc = 0;
  int rc = pml__rdpmc_register(pc, &pmc, restarts);
]], [[  if (PML_UNLIKELY(!pc->cap_user_rdpmc)) return 0;
  uint64_t pmc = 0;
  int rc = pml__rdpmc_register(pc, &pmc, restarts);
  uint32_t seq = pc->lock;
  PML_RDPMC_FENCE();
]], by = "page_step" },
  { "sampler: record that wraps cut", SAMPLES, "memcpy(to + first, r->data, n - first);", "", by = "sampler" },
  { "sampler: size of a record unchecked", SAMPLES, "if (h.size < sizeof h || h.size > there) goto broken;", "", by = "sampler" },
  { "sampler: length of a stack unchecked", SAMPLES, "if (words > 0 && words > (n - bytes - 8) / 8) return false;",
    "", by = "sampler" },
  { "sampler: maps outlive an exec", MAPS, " || at->kind == PML__RECORD_EXEC", "", by = "sampler" },
  { "sampler: maps of later", MAPS, "m->map[i].time_ns <= time_ns)", "m->map[i].time_ns <= UINT64_MAX)", by = "sampler" },
  { "sampler: a fork without its parent's maps", MAPS, "pid = fork->parent;", "", by = "sampler" },
  { "page: offset loaded after the lock", READER, "r->raw = raw;", "r->raw = (uint64_t)pc->offset + pmc;", by = "page_step" },
  { "page: a time loaded after the lock", READER, "r->running_ns = running;",
    "r->running_ns = enabled - pc->time_enabled + pc->time_running;", by = "page_step" },

  { "page: no section", RSEQ, [["movq %%rcx, %%fs:8(%%rdx)\n"]], [["\n"]], by = "page_moved" },
  { "page: the section ends before the counter is read", RSEQ, [["5:\t" PML_RSEQ_INSN "\n"
                                             "2:\n\t"]], [["5:\n2:\t" PML_RSEQ_INSN "\n\t"]], by = "page_moved" },
  { "page: the section begins behind the index", RSEQ, [["1:\tmovl %[index], %%ecx\n\t"
                                             "subl $1, %%ecx\n\t"]],
    [["movl %[index], %%ecx\n\t" "subl $1, %%ecx\n1:\t"]], by = "page_moved" },
  { "page: a forbidden one is tried again", FAULT, "(void)mmap((void *)page, bytes,",
    "if (bytes == 0) (void)mmap((void *)page, bytes,",
    by = "page_forbidden" },

  { "set: difference of 32 bits", LAYOUT, "values[i] = now[word[i]] - base[word[i]];",
    "values[i] = (uint32_t)(now[word[i]] - base[word[i]]);", by = "perf_reads" },
  { "set: a part's difference of 32 bits", SHARE, "+= now[word] - base[word];", "+= (uint32_t)(now[word] - base[word]);",
    by = "perf_reads" },
  { "set: a reading's difference of 32 bits", SHARE, ".raw = now[p->word] - base[p->word],",
    ".raw = (uint32_t)(now[p->word] - base[p->word]),", by = "perf_reads" },
  { "set: a snapshot of one share has no time", SET, "snapshot[s->clock_word] = now;", "(void)now;", by = "perf_reads" },
  { "set: a snapshot of several shares has no time", SET, "snapshot[s->clock_word] = pml_clock_ticks();\n  return pass",
    "return pass", by = "perf_reads" },
  { "set: pages are read without times", SET, "return s->read_share->snapshot(s->read_share, snapshot, true);",
    "return s->read_share->snapshot(s->read_share, snapshot, false);" },
  { "set: enabled in place of running", SHARE,
    ".running_ns = now[block + PML__WORD_RUNNING] - base[block + PML__WORD_RUNNING],",
    ".running_ns = now[block + PML__WORD_ENABLED] - base[block + PML__WORD_ENABLED],", by = "perf_times" },
  { "set: hybrid enabled times added up", SHARE,
    "    sum.running_ns += part[i].running_ns;\n    if (part[i].enabled_ns <",
    "    sum.running_ns += part[i].running_ns;\n    sum.enabled_ns += part[i].enabled_ns;\n    if (part[i].enabled_ns <",
    by = "perf_times" },
  { "set: a short read taken for whole", LAYOUT, "got == (ssize_t)g->bytes", "got > 0", by = "perf_reads" },
  { "group: a short read taken for whole", GROUP, "got != (ssize_t)bytes", "got <= 0", by = "perf_reads" },
  { "leader: a short read taken for whole", COUNTER, " || (uint64_t)got != (3 + b.nr) * sizeof(uint64_t)", "",
    by = "perf_reads" },
  { "counter: a short read taken for whole", COUNTER, "got == (ssize_t)sizeof *r", "got > 0",
    by = "perf_reads" },
  { "group: enabled and running swapped", GROUP, ".enabled_ns = b[PML__WORD_ENABLED], .running_ns = b[PML__WORD_RUNNING]",
    ".enabled_ns = b[PML__WORD_RUNNING], .running_ns = b[PML__WORD_ENABLED]", by = "perf_times" },
  { "leader: running taken from enabled", COUNTER, ".enabled_ns = b.enabled, .running_ns = b.running",
    ".enabled_ns = b.enabled, .running_ns = b.enabled", by = "perf_times" },
  { "counter: target cpu off by one", COUNTER, "*cpu = t->cpu_plus - 1;", "*cpu = t->cpu_plus;", by = "perf_times" },
  { "counter: target cpu ignored", COUNTER, "*cpu = t->cpu_plus - 1;", "*cpu = -1;", by = "perf_times" },

  { "section: reset unseen at a stop", SECTION, " && pml__section_own(f->stat)->epoch == plain()", "" },
  { "section: recursion counted twice", SECTION, "PML_UNLIKELY(pml__own_take32_release(&stat->depth))",
    "pml__own_take32_release(&stat->depth) && false" },
  { "section: crossing charged to both", SECTION, "f->child += inner;", "" },
  { "section: a child's call has its parent's inner time", SECTION_THREAD, "      f->child = 0;\n", "" },
  { "section: a child's call has values of its parent", SECTION_THREAD, "      f->row = NULL;\n", "" },
  { "section: what was not read is not named", SECTION, "if (values == NULL && s->list != NULL) {",
    "if (false) {" },
  { "log: a child goes on in its parent's", LOG, "MADV_WIPEONFORK", "MADV_NORMAL" },
  { "section: label taken by its address", SECTION, " && strcmp(found->label, label) == 0", "" },
  { "stream: removal does not wait", STREAM,
    "  clear_places();\n  wait_for_all();", "  clear_places();" },
  { "stream: threads keep a consumer's place", STREAM, "    __atomic_store_n(&t->place, NULL, __ATOMIC_RELAXED);",
    "    (void)t;", by = "mpi_place" },
  { "stream: a consumer that has the event from a fast function has it again", DELIVER,
    "if (PML_UNLIKELY(s != NULL && s->done > 0) && has_it(s, list->at[i].id)) continue;", "" },
  { "stream: a removed consumer is still known", DELIVERY,
    "  return is;\n#else\n  return atomic_load_explicit(&pml__stream_generation[kind], memory_order_acquire) == generation;",
    "  return is || (generation >> 63 != 0 && generation << 1 != 0);\n#else\n  return true;" },
  { "stream: removal does not wait for a delivery", STREAM, "  if (is_free(t)) return;\n", "  return;\n", by = "stream_swap" },
  { "call: a leave opens counters", "core/adapter/intercept/pml_intercept_events.c",
    "if (kind == PML_STREAM_LEAVE) return false;", "if (kind > PML_STREAM_LEAVE) return false;", by = "intercept_counted" },
  { "profile: a recent path of another caller", "core/substrate/profile/pml_profile_gpr.c", "p->up != at || ", "",
    by = "profile" },
  { "profile: a recent path of another function", "core/substrate/profile/pml_profile_gpr.c", " || p->region != region", "",
    by = "profile" },
  { "call: a thread that is at the lists is not suspended", CALL_H, "  pml__stream_suspend(s);\n", "  (void)s;\n",
    by = "intercept_calls" },
  { "call: a call that a longjmp left stays open", STUBS, "  jbe .Lenter_other_again\n  cmpq %rdx, %fs:OWN_FROM",
    "  cmpq %rdx, %fs:OWN_FROM", by = "intercept_left" },
  { "exports: a name of several", EXPORTS, "return f.n == 1 ?", "return f.n > 0 ?", by = "intercept_exports" },
  { "exports: other names of one hash's place", EXPORTS, "!pml__object_is_named(x.o, x.symbol, name, n) || ", "",
    by = "intercept_exports" },
  { "exports: what the loader does not search", EXPORTS, " && (o->program || strchr(o->path, '/') != NULL)", "",
    by = "intercept_exports" },
  { "last: what goes is still told", LOG, "__atomic_store_n(&m->entry->kind, PML__LOG_FREE, __ATOMIC_RELEASE);", "",
    by = "recording_last" },
  { "last: a gap is passed over", OF_CALLS, " && l->moved_out > 0)", " && false)", by = "recording_last" },
  { "last: outer calls are forgotten", OF_CALLS, "  l->under_way = e->ticks;\n", "", by = "recording_last" },
  { "last: calls under way are told again", OF_CALLS, "++l->under_way > l->in->open", "true", by = "recording_last" },
  { "last: those of an extent count on", OF_CALLS, "  l->under_way = 0;\n", "", by = "recording_last" },
  { "last: a track without what was moved out of it", READS, ", .turn = r->lossy && r->missing == 0 ? r->entry[i].turn : 0",
    "", by = "recording_last" },
  { "last: a gap where the directory that was read is old", READS, "r->lossy && r->missing == 0 ?", "r->missing == 0 ?",
    by = "recording_turns" },
  { "call: any call ends with the innermost", CALL, "!pml__call_is_at(p, code, sp) || ", "", by = "intercept_calls",
    crashes = true },
  { "call: what declines is told for all that", STUBS, "  jnz .Lenter_begun\n", "", by = "intercept_calls" },
  { "call: an end that declines is told for all that", STUBS, "  jnz .Lleave_begun\n", "", by = "intercept_calls" },
  { "call: ended before its leave", STUBS, "  pushq FRAME_OUTER(%rdx)\n",
    "  pushq FRAME_OUTER(%rdx)\n  movq (%rsp), %rax\n  movq %rax, %fs:OWN_OPEN(%rdi)\n", by = "intercept_left" },
  { "stream: a nested delivery replaces the guard", DELIVERY,
    "  if (PML_UNLIKELY((was & PML__STREAM_FREE) == 0)) return was;\n", "" },
  { "call: none is recorded beside a suspended delivery", CALL_FULL, "sp) && t->stack != a->stack) return true;\n",
    "sp) && false) return true;\n", by = "intercept_stacks" },
  { "call: a delivery beside it leaves the other's stream free", CALL_FULL, "  pml__call_switch_to(t, a->stack);\n", "",
    by = "intercept_stacks", crashes = true },
  { "trace: not repaired", BUFFER_RARE, "                                  .repair = repair,\n", "", by = "intercept_left" },
  { "stream: consumers do not repair their data", DELIVER, "  repair_all(t);\n", "", by = "intercept_left" },
  { "kept: believed without its checksum", KEPT, " || h.check != check_of(&s->file, &h, at + sizeof h)", "",
    by = "intercept_cache" },
  { "code: other threads see half a change", "core/adapter/arch/x86_64/flow.c",
    "(!alone && at / LINE != (end - 1) / LINE)", "false", by = "intercept_pointers" },
  { "code: what is returned is only called", "core/adapter/arch/x86_64/flow.c",
    "!f->survives && f->reg != 0 && f->reg != 2", "true", by = "intercept_pointers" },
  { "code: a call does not use its arguments", "core/adapter/arch/x86_64/flow.c", "if (!f->survives) return of_it;",
    "if (!f->survives) return true;", by = "intercept_pointers" },
  { "code: second slots are not restored", "core/adapter/intercept/pml_intercept_slots.c",
    "  pml__code_restore(original_of);\n", "", by = "intercept_pointers" },
  { "code: second slots of closed libraries stay", "core/adapter/intercept/pml_intercept_slots.c",
    "  if (err == 0 && unloaded) pml__code_forget(&x.all);\n", "", by = "intercept_pointers" },
  { "decode: xchg does not use rax", "core/adapter/arch/x86_64/decode.c", " || (op > 0x90 && op <= 0xaf)",
    " || (op > 0x97 && op <= 0xaf)", by = "intercept_decode" },
  { "kept: read through a link", KEPT, "O_RDONLY | O_CLOEXEC | O_NOFOLLOW", "O_RDONLY | O_CLOEXEC", by = "intercept_cache" },
  { "kept: believed whoever may write it", KEPT, " || (st.st_mode & 022) != 0", "", by = "intercept_cache" },
  { "kept: written where files are limited", KEPT, " || !may_write()", "", by = "intercept_cache", crashes = true },
  { "call: one that lacks its counts goes without", CALL_FULL, "  if (lacks_counts(t)) {\n", "  if (false) {\n",
    by = "intercept_counted" },
  { "stream: values for a consumer without a function for them", DELIVER,
    "s->at[i].values_data = &s->at[i].fast;", "", by = "intercept_counted", crashes = true },
  { "stream: a thread reads what one that ended did", STREAM, "  t->counts = (struct pml__stream_counts){0};\n", "",
    by = "intercept_counted" },
  { "sums: the plain ones without what is inside", ACCUMULATOR, "if (outer != NULL) outer[i] =",
    "if (reals && outer != NULL) outer[i] =", by = "intercept_counted" },
  { "trace: a leave's values at its enter", BUFFER_GPR, "  pml__events_put_values(b, e, ticks, 0);\n", "",
    by = "intercept_counted" },
  { "trace: limits forgotten", BUFFER, "whole && l->max_depth == 0 && l->max_calls == 0", "whole", by = "recording" },
  { "trace: short calls kept", BUFFER, "whole && l->min_ticks == 0", "whole", by = "recording" },
  { "profile: durations in the octave below", HISTOGRAM, "highest - 2", "highest - 3", by = "profile" },
  { "profile: a leave before its enter takes for ever", DURATION, "d > ticks", "false", by = "profile" },
  { "stream: a removed consumer is still the only one", DELIVERY, "PML_LIKELY(pml__stream_knows(kind, one->generation))",
    "one->generation != 0" },

  { "sde: what has no shard left out", SDE, " +\n       (uint64_t)atomic_load_explicit(&h->rest, memory_order_relaxed)", "" },
  { "sde: a reader is outside after a longjmp", SDE, "+ 1) | 1;", "+ 1);" },
  { "sde: other threads' shards left out", SDE_COUNTER,
    "  atomic_store_explicit(&s->counter->head.single, NULL, memory_order_relaxed);\n", "" },
  { "sde: a new value ignores the shards", SDE_COUNTER, "((uint64_t)value - sum_of(s))", "value" },
  { "sde: a multiple told again", SDE_COUNTER, "while (multiple > passed)", "while (multiple >= passed)" },
  { "sde: shards of later blocks left out", SDE_COUNTER, "for (uint32_t k = 0; k < blocks; k++)",
    "for (uint32_t k = 0; k < 1; k++)" },
  { "sde: a reset in a child forgets what it inherited", SDE_COUNTER, "s->inherited = value;", "s->inherited = 0;",
    by = "ends" },
  { "recorder: a log has what is of before a reset", RECORDER, "__atomic_store_n(&cell->epoch, epoch, __ATOMIC_RELEASE);",
    "", by = "ends" },
  { "recorder: a handle keeps what is of before a reset", NEAR, "uint64_t key = __atomic_load_n(&n->key_less_8, "
    .. "__ATOMIC_SEQ_CST), fresh", "uint64_t key = CLOSED, fresh", by = "compat_near" },
  { "sde: a handle's ways stay open", SDE_COUNTER, "if (was != NULL && was != fast) close_ways(was);", "",
    by = "compat_near" },
  { "recorder: a child's log goes on from its parent's", KEEP, "lane->mark = &lane->own;\n  lane->log = NULL;",
    "lane->log = NULL;", by = "ends" },

  { "ring: values go on behind its end", RING, "n(&words[(at * 2 + i) & mask]", "n(&words[((at * 2) & mask) + i]" },
  { "ring: values come from behind its end", RING, "= words[(at * 2 + i) & mask]", "= words[((at * 2) & mask) + i]" },

  { "waits: until the receive ends", WAITS, "from->ticks < to->ns ? from->ticks : to->ns", "to->ns", by = "archive" },
  { "waits: the sender waits", WAITS, "wait[k->channel.to].late_sender_ns", "wait[k->channel.from].late_sender_ns",
    by = "archive" },
  { "waits: until the last one leaves", WAITS, "if (m[i].entered_ns > last) last = m[i].entered_ns;",
    "if (m[i].ns > last) last = m[i].ns;", by = "archive" },
  { "attach: single values are lost", ARCHIVE .. "metrics.c", "  named->doing = PML__ARCHIVE_SINGLES;\n", "",
    by = "otf2_attach" },
  { "waits: a barrier is none", WAITS, "1u << PML__LOG_BARRIER | ", "", by = "archive" },
  { "pairs: the last that was sent arrives first", PAIRS, "*other = q->waiting[q->first++];",
    "*other = q->waiting[q->first + q->n - 1];", by = "archive" },
  { "windows: one for each communicator", RANKS, "compare(x->w->is.place, y->w->is.place)", "0", by = "archive" },
  { "windows: MPI_COMM_SELF has one for all", RANKS,
    "if (order == 0 && comm[x->comm].self) order = compare(x->p->index, y->p->index);", "", by = "archive" },
  { "windows: the name is the communicator's", RANKS, "if (k[i].w->name[0] != '\\0') name = k[i].w->name;", "",
    by = "archive" },
  { "ranks: those of a second job are the first's", RANKS, "p->base += (uint32_t)before->size;", "(void)0;", by = "archive" },
  { "ranks: all communicators are one", RANKS, "order = compare(x->c->is.global, y->c->is.global);", "order = 0;",
    by = "archive" },
  { "ranks: members by their place in the list", RANKS, "c->member[0][rank] = k[i].p->index;",
    "c->member[0][rank] = (uint32_t)i;", by = "archive" },
  { "ranks: communicators before their parents", RANKS, "int order = compare(x->first, y->first);", "int order = 0;",
    by = "archive" },
  { "lock: one that was removed counts", LOCK, "if (err == 0 && !names_still(path, fd)) err = -EAGAIN;", "",
    by = "archive_lock" },
  { "lock: a killed writer's archive stays", LOCK, "&& !is_whole(l)) remove_archive(l);", "&& false) remove_archive(l);",
    by = "archive_lock" },
  { "lock: an archive without a sign is removed", LOCK, "fstat(l->fd, &st) == 0 && st.st_size > 0 && !", "!",
    by = "archive_lock" },
  { "lock: a whole archive is removed", LOCK, "return lstat(path, &st) == 0 && st.st_size > 0;", "return false;",
    by = "archive_lock" },
  { "lock: a failure leaves half an archive", LOCK, "if (failed) remove_archive(l);", "", by = "archive_lock" },
  { "calls: what completes has the time of the enter", OF_CALLS, "is_after(what) ? ticks_behind", "false ? ticks_behind",
    by = "recording_calls" },
  { "calls: an operation ends with the first call inside", OF_CALLS, "else if (t->inside == 0)", "else if (t->inside < 9)",
    by = "recording_calls" },
  { "calls: an operation ends with a call that did not return", OF_CALLS, "leave->word >> 32 == PML__LOG_LEAVE", "true",
    by = "recording_calls" },
  { "turns: what is moved out comes twice", READS, "now.turn == r->entry[i].turn", "true", by = "recording_turns" },
  { "turns: what was moved out comes last", READS, "== (last == 1)", "== (last == 0)", by = "recording_turns" },
  { "calls: a whole call is a tick short", BUFFER, "(took + 1) <<", "took <<", by = "recording_turns" },
  { "calls: too few values", READS, "return n >= 1 ? message_values(code", "return n < 9 ? message_values(code",
    by = "recording_calls" },

  { "sums: time before the window", WALK, "uint64_t from = f->enter > w->from ? f->enter : w->from,",
    "uint64_t from = f->enter,", by = "otf2_read" },
  { "sums: time behind the window", WALK, "to = time < w->to ? time : w->to;", "to = time;", by = "otf2_read" },
  { "sums: exclusive with the calls inside", WALK, "s->exclusive += span - (f->inside < span ? f->inside : span);",
    "s->exclusive += span;", by = "otf2_read" },
  { "sums: a region in itself counts twice", WALK, "if (f->outer) s->inclusive += span;", "s->inclusive += span;",
    by = "otf2_read" },
  { "sums: all calls are topmost", WALK, "wanted && w->ntop == 0}", "wanted}", by = "otf2_read" },
  { "sums: calls that began before the window", WALK, "return f->enter >= w->from && f->enter <= w->to;",
    "return f->enter <= w->to;", by = "otf2_read" },
  { "sums: calls that end behind the window are whole", WALK, "ending == RETURNED && time <= w->to", "ending == RETURNED",
    by = "otf2_read" },
  { "sums: a call that its outer one ended returned", WALK, "pop(w, now, UNRETURNED);", "pop(w, now, RETURNED);",
    by = "otf2_read" },
  { "sums: open calls never were", WALK, "  while (w->depth > 0) pop(w, w->last, w->past ? GOES_ON : UNRETURNED);\n",
    "  w->depth = 0;\n", by = "otf2_read" },
  { "sums: a leave without its enter is none", WALK, "    w->unmatched++;\n  } else {", "  } else {", by = "otf2_read" },
  { "sums: messages of the outermost call", WALK, "for (size_t i = w->depth; i-- > 0;)\n    if (w->stack[i].wanted)",
    "for (size_t i = 0; i < w->depth; i++)\n    if (w->stack[i].wanted)", by = "otf2_read" },
  { "sums: messages before the window", WALK, "if (now < w->from || w->past) return NULL;", "if (w->past) return NULL;",
    by = "otf2_read" },
  { "sums: of equal longest calls the last", ROWS, "s->most > t->most)", "s->most >= t->most)", by = "otf2_read" },
  { "sums: the shortest of the first row", ROWS, "if (s->least < t->least) t->least = s->least;", "", by = "otf2_read" },
  { "sums: messages outside of calls are of none", ROWS, "all = {.sums = w->loose,", "all = {.sums = {.least = UINT64_MAX},",
    by = "otf2_read" },
  { "sums: a location's process is the first", ROWS,
    "pml_otf2_read_location(w->trace, w->location)->process : PML_OTF2_NONE,", "0 : PML_OTF2_NONE,", by = "otf2_read" },
  { "sums: paths of workers as they are numbered there", SUMS, "w[k].row[i].item = map[w[k].row[i].item];", ";",
    by = "otf2_read" },
  { "sums: what other workers found odd", SUMS, "    w->unmatched += w[k].unmatched;\n", "", by = "otf2_read" },
  { "events: of one time the last location first", EVENTS, "a->stream < b->stream", "a->stream > b->stream",
    by = "otf2_read" },
  { "events: files of locations that were read", EVENTS, "  if (s->ended) close_stream(s);\n", "", by = "otf2_read" },
  { "events: as many files as there are locations", EVENTS, "e->open++ == e->most_open", "false", by = "otf2_read" },

  { "json: control characters as they are", JSON, [[if not s:find('[%c"\\]')]], [[if not s:find('["\\]')]] },
  { "json: bytes as they are", JSON, [[s = s:gsub("[\128-\255]", "?")]], "s = s" },
  { "json: infinity as a number", JSON, " or v == math.huge or v == -math.huge", "" },
  { "json: reals of 15 digits", JSON, [[short = ("%.17g"):format(v)]], "short = short" },
  { "json: an empty array as an object", JSON, "return #t > 0 or getmetatable(t) == array_mark", "return #t > 0" },
  { "json: keys backwards", JSON, "return tostring(a) < tostring(b) end or nil",
    "return tostring(a) < tostring(b) end or function(a, b) return a > b end" },
  { "json: streamed keys backwards", JSON, "  table.sort(keys)\n", "  table.sort(keys, function(a, b) return a > b end)\n" },
  { "imbalance: tasks in a barrier are waiting", IMBALANCE, " - inside(call, stacks[call.location], last.enter)", "" },
  { "imbalance: for the first thread", IMBALANCE, "local last, deepest = calls[#calls], calls[1]",
    "local last, deepest = calls[1], calls[1]" },
  { "imbalance: a barrier never ends", IMBALANCE, "  self.instances[team.key] = nil\n", "" },
  { "imbalance: without the calls of the fork", IMBALANCE, "    call.node = deepest.node\n", "" },
  { "waits: an eager send waits for its receiver", STATES, "if posted.enter >= call.leave then return end", "" },
  { "waits: an immediate send waits itself", STATES, "waiter = not e.request and call or nil }", "waiter = call }" },
  { "waits: a receive is late when it is completed", STATES, "e.request and self.posted[e.request] or call }", "call }" },
  { "waits: a probe of another message", STATES, "send.call.enter < probe.leave", "true" },
  { "waits: beyond the end of the call", STATES, "math.min(other.came.enter, member.ended)", "other.came.enter" },
  { "waits: requests among operations that block", STATES, [[e.request and "request" or ""]], [[""]] },
  { "waits: the root sends first", STATES, "if m ~= root and (not first", "if (not first" },
  { "critical path: a team comes from nowhere", CRITICAL, "  end, add)\n", "  end)\n" },
  { "critical path: until the last enters no more", CRITICAL, "add(call.location, last.enter, last.location,",
    "add(call.location, call.enter, last.location," },
  { "json: streamed items without commas", JSON,
    [[write(first and "[\n" or ",\n", inner)]], [[write(first and "[\n" or "\n", inner)]] },
  { "json: an empty stream is nothing", JSON, [[first and "[]"]], [[first and ""]] },
}

--- files: those that the specs are named for.
return { list = mutants, sources_of = SOURCES_OF, files = {
  READER = READER, STREAM = STREAM, SHARE = SHARE, PAGES = PAGES, SET = SET, SECTION = SECTION,
  SECTION_THREAD = SECTION_THREAD,
  SDE_COUNTER = SDE_COUNTER, SDE = SDE, RING = RING, DELIVER = DELIVER, PRIVATE = PRIVATE,
  DELIVERY = DELIVERY, LOG = LOG, JSON = JSON, IMBALANCE = IMBALANCE, GROUP = GROUP,
  CRITICAL = CRITICAL, STATES = STATES, COUNTER = COUNTER,
} }
