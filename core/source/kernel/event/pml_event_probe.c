/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_probe.c - hardware breakpoints (mem:) and user-space probes (uprobe:). */
#include "source/kernel/event/pml_event_sysfs.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEM_GRAMMAR "mem:ADDR|SYMBOL[+OFF][:rwx][:len][:ukh]"
#define UPROBE_GRAMMAR "uprobe:PATH:SYMBOL|0xOFFSET[%return][:ukh]"

struct mem {
  uint64_t address;
  uint64_t size;   /* size of the symbol; 0 unknown */
  uint32_t access; /* HW_BREAKPOINT_*; 0 not given */
  uint64_t len;    /* 0 not given */
  struct pml__mods mods;
};

static uint32_t parse_access(const char *s) {
  uint32_t access = 0;
  for (; *s; s++) {
    uint32_t bit = *s == 'r' ? HW_BREAKPOINT_R : *s == 'w' ? HW_BREAKPOINT_W : *s == 'x' ? HW_BREAKPOINT_X : 0;
    if (!bit || access & bit) return 0;
    access |= bit;
  }
  return access;
}

/* ADDR, SYMBOL or SYMBOL+OFF */
static int parse_target(struct mem *m, const char *name, const char *target) {
  char symbol[PML_EVENT_NAME_MAX];
  uint64_t offset = 0;
  if (isdigit((unsigned char)target[0])) {
    if (!pml__parse_u64(target, strlen(target), &m->address))
      return pml_fail(PML_ESYNTAX, "event \"%.200s\": \"%.64s\" is not an address; write one such as 0x7f00", name,
                      target);
    return 0;
  }
  pml__copy(symbol, sizeof symbol, target);
  char *plus = strchr(symbol, '+');
  if (plus) {
    if (!pml__parse_u64(plus + 1, strlen(plus + 1), &offset))
      return pml_fail(PML_ESYNTAX, "event \"%.200s\": the offset \"%.64s\" is not a number", name, plus + 1);
    *plus = '\0';
  }
  struct pml__symbol sym;
  if (!symbol[0]) return pml_fail(PML_ESYNTAX, "event \"%.200s\" has no address; write " MEM_GRAMMAR, name);
  if (pml__process_symbol(symbol, &sym) < 0)
    return pml_fail(PML_ENOSYMBOL,
                    "event \"%.160s\": no symbol \"%.160s\" in this process; give an address (mem:0x7f00:w), or use "
                    "pmlua watchpoint for the symbols of a command",
                    name, symbol);
  m->address = sym.value + offset;
  m->size = plus ? 0 : sym.size;
  return 0;
}

/* The options after the target: access, length, modifiers, in this order, each at most once. */
static int parse_options(struct mem *m, const char *name, char *s) {
  int stage = 0; /* 1 access seen, 2 length seen, 3 modifiers seen */
  while (s) {
    char *next = strchr(s, ':');
    if (next) *next++ = '\0';
    uint32_t access = parse_access(s);
    uint64_t len;
    if (stage < 1 && access) {
      m->access = access;
      stage = 1;
    } else if (stage < 2 && pml__parse_u64(s, strlen(s), &len)) {
      if (len != 1 && len != 2 && len != 4 && len != 8)
        return pml_fail(PML_ESYNTAX, "event \"%.200s\": a breakpoint is 1, 2, 4 or 8 bytes long, not %.32s", name, s);
      m->len = len;
      stage = 2;
    } else if (stage < 3 && pml__mods_parse(&m->mods, s)) {
      stage = 3;
    } else {
      return pml_fail(PML_ESYNTAX, "event \"%.160s\": \"%.64s\" is not expected here; write " MEM_GRAMMAR, name, s);
    }
    s = next;
  }
  return 0;
}

/* Nothing said: the symbol's own size, else 4 bytes, less where the address is not aligned to that. */
static uint64_t default_length(const struct mem *m) {
  if (m->access == HW_BREAKPOINT_X) return sizeof(long);
  uint64_t len = m->size == 1 || m->size == 2 || m->size == 8 ? m->size : 4;
  while (m->address & (len - 1)) len /= 2;
  return len;
}

static int check_mem(const struct mem *m, const char *name) {
  if ((m->access & HW_BREAKPOINT_X) && m->access != HW_BREAKPOINT_X)
    return pml_fail(PML_ESYNTAX, "event \"%.200s\": use x alone: a breakpoint is on execution or on data", name);
  if (m->access == HW_BREAKPOINT_X && m->len != sizeof(long))
    return pml_fail(PML_ESYNTAX, "event \"%.200s\": omit the length of an execution breakpoint", name);
#if defined(__x86_64__)
  if (m->access == HW_BREAKPOINT_R)
    return pml_fail(PML_ESYNTAX, "event \"%.200s\": x86 cannot watch reads alone; use rw, or w", name);
  if (m->access != HW_BREAKPOINT_X && (m->address & (m->len - 1)))
    return pml_fail(PML_ESYNTAX, "event \"%.160s\": address 0x%llx is not a multiple of the length %u", name,
                    (unsigned long long)m->address, (unsigned)m->len);
#endif
  return 0;
}

int pml__event_parse_mem(struct pml_event *ev, const char *name) {
  struct mem m = {0};
  char text[PML_EVENT_NAME_MAX];
  pml__copy(text, sizeof text, name + strlen("mem:"));
  if (strchr(text, '/'))
    return pml_fail(PML_ESYNTAX, "event \"%.200s\": the length follows a colon, not a slash; write " MEM_GRAMMAR, name);
  char *options = strchr(text, ':');
  if (options) *options++ = '\0';
  int err = parse_options(&m, name, options);
  if (err == 0) err = parse_target(&m, name, text);
  if (err < 0) return err;
  if (!m.access) m.access = HW_BREAKPOINT_RW;
  if (!m.len) m.len = default_length(&m);
  err = check_mem(&m, name);
  if (err < 0) return err;

  struct pml_event_part *part = pml__event_first(ev, "breakpoint");
  part->attr.type = PERF_TYPE_BREAKPOINT;
  part->attr.bp_type = m.access;
  part->attr.bp_addr = m.address;
  part->attr.bp_len = m.len;
  pml__mods_apply(&m.mods, &part->attr, false);
  return 0;
}

struct uprobe {
  char path[PML_EVENT_NAME_MAX];
  char place[PML_EVENT_NAME_MAX]; /* symbol or offset */
  bool at_return;
  struct pml__mods mods;
};

/* The last colon parts path and place: paths may have colons. */
static int split_uprobe(struct uprobe *u, const char *name) {
  char text[PML_EVENT_NAME_MAX];
  pml__mods_split(&u->mods, text, name + strlen("uprobe:"));
  if (!strchr(text, ':')) { /* the apparent modifiers are the symbol */
    u->mods = (struct pml__mods){0};
    pml__copy(text, sizeof text, name + strlen("uprobe:"));
  }
  char *colon = strrchr(text, ':');
  if (!colon || colon == text || !colon[1])
    return pml_fail(PML_ESYNTAX, "event \"%.200s\": write %s", name, UPROBE_GRAMMAR);
  *colon = '\0';
  pml__copy(u->path, sizeof u->path, text);
  pml__copy(u->place, sizeof u->place, colon + 1);
  char *percent = strchr(u->place, '%');
  if (!percent) return 0;
  if (strcmp(percent, "%return") != 0 || percent == u->place)
    return pml_fail(PML_ESYNTAX, "event \"%.200s\": after the symbol only %%return may follow", name);
  u->at_return = true;
  *percent = '\0';
  return 0;
}

static int find_offset(const struct uprobe *u, const char *name, uint64_t *offset) {
  if (isdigit((unsigned char)u->place[0])) {
    if (pml__parse_u64(u->place, strlen(u->place), offset)) return 0;
    return pml_fail(PML_ESYNTAX, "event \"%.200s\": \"%.64s\" is not an offset; write one such as 0x1139", name,
                    u->place);
  }
  struct pml__symbol sym = {0};
  int err = pml__elf_symbol(u->path, u->place, &sym);
  if (err == 0 && sym.indirect && sym.offset == UINT64_MAX)
    return pml_fail(PML_ENOSYMBOL,
                    "%.100s in %.160s is an indirect function, chosen at load time; name the chosen one or its offset",
                    u->place, u->path);
  if (err == PML_ENOSYMBOL || (err == 0 && sym.offset == UINT64_MAX))
    return pml_fail(PML_ENOSYMBOL, "no function \"%.100s\" in the symbol tables of %.200s (stripped?)", u->place,
                    u->path);
  if (err == PML_EFORMAT) return pml_fail(err, "%.200s is not an ELF file of this machine's kind", u->path);
  if (err < 0) return pml_fail(err, "cannot read %.200s: %s", u->path, strerror(-err));
  *offset = sym.offset;
  return 0;
}

int pml__uprobe_part(struct pml_event *ev, const char *name, const char *path, uint64_t offset) {
  uint32_t type = 0;
  if (pml__sysfs_type("uprobe", &type) < 0)
    return pml_fail(PML_ENOEVENT, "event \"%.200s\": this kernel has no uprobe PMU (CONFIG_UPROBE_EVENTS)", name);
  path = pml__keep(path, strlen(path) + 1);
  if (!path) return pml_fail(-ENOMEM, "no memory for the path of event \"%.200s\"", name);
  struct pml_event_part *part = pml__event_first(ev, "uprobe");
  part->attr.type = type;
  part->attr.uprobe_path = (uintptr_t)path;
  part->attr.probe_offset = offset;
  return 0;
}

/* Set the bit for returns at the position in the PMU's format. */
static void ask_for_returns(struct perf_event_attr *attr) {
  char text[64];
  struct pml__format format = {0};
  uint64_t word[4] = {0};
  if (pml__sysfs_file("uprobe", "format/retprobe", text, sizeof text) < 0 || !pml__format_parse(&format, text))
    (void)pml__format_parse(&format, "config:0");
  (void)pml__format_put(&format, &word[format.word], 1);
  attr->config = word[0];
}

int pml__event_parse_uprobe(struct pml_event *ev, const char *name) {
  struct uprobe u = {0};
  uint64_t offset = 0;
  int err = split_uprobe(&u, name);
  if (err == 0) err = find_offset(&u, name, &offset);
  if (err == 0) err = pml__uprobe_part(ev, name, u.path, offset);
  if (err < 0) return err;
  if (u.at_return) ask_for_returns(&ev->first.attr);
  pml__mods_apply(&u.mods, &ev->first.attr, false);
  return 0;
}

static int row(const struct pml__walk *w, const char *name, const char *source, const char *text) {
  bool uprobe = strcmp(source, "uprobe") == 0;
  struct pml_event ev;
  struct pml_event_info info = {.name = name, .description = text, .source = source, .reason = ""};
  info.pmu = source;
  int err = pml__event_begin(&ev, name);
  if (err == 0) err = uprobe ? pml__event_parse_uprobe(&ev, name) : pml__event_parse_mem(&ev, name);
  if (err == 0)
    info.available = pml__event_probe(&ev.first.attr, -1, &info.reason);
  else
    info.reason = pml_error_detail(err);
  return pml__walk_row(w, &info);
}

/* There are infinitely many names, so list a valid example of each form, with the grammar. */
int pml__event_walk_probe(const struct pml__walk *w) {
  char name[PML_EVENT_NAME_MAX];
  Dl_info libc;
  void *function = dlsym(RTLD_DEFAULT, "malloc");
  int err = row(w, "mem:environ:w", "breakpoint", MEM_GRAMMAR ": accesses to an address; here writes to environ");
  if (!err)
    err = row(w, "mem:malloc:x", "breakpoint", MEM_GRAMMAR ": executions of an instruction; here calls of malloc");
  if (err || !function || !dladdr(function, &libc) || !libc.dli_fname) return err;
  for (int at_return = 0; at_return <= 1 && !err; at_return++) {
    int n = snprintf(name, sizeof name, "uprobe:%s:malloc%s", libc.dli_fname, at_return ? "%return" : "");
    if (n < 0 || (size_t)n >= sizeof name) break;
    err = row(w, name, "uprobe", UPROBE_GRAMMAR ": calls of a function of any program, or its returns");
  }
  return err;
}
