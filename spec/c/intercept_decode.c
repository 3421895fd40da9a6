/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept_decode.c - the instruction decoder: lengths as printed by binutils, and registers that are
 * unchanged, or only written, according to binutils. */
#include "check.h"

#ifndef __x86_64__
int main(void) {
  SKIP("instructions of x86-64 are decoded there");
  return check_done();
}
#else
#include "adapter/arch/x86_64/decode.h"

#define LINES 600000 /* limit of lines for a library */

/* The names of a register of 64, 32, 16 and 8 bits. */
static const char *const names[16][5] = {
    {"rax", "eax", "ax", "al", "ah"},      {"rcx", "ecx", "cx", "cl", "ch"},      {"rdx", "edx", "dx", "dl", "dh"},
    {"rbx", "ebx", "bx", "bl", "bh"},      {"rsp", "esp", "sp", "spl", NULL},     {"rbp", "ebp", "bp", "bpl", NULL},
    {"rsi", "esi", "si", "sil", NULL},     {"rdi", "edi", "di", "dil", NULL},     {"r8", "r8d", "r8w", "r8b", NULL},
    {"r9", "r9d", "r9w", "r9b", NULL},     {"r10", "r10d", "r10w", "r10b", NULL}, {"r11", "r11d", "r11w", "r11b", NULL},
    {"r12", "r12d", "r12w", "r12b", NULL}, {"r13", "r13d", "r13w", "r13b", NULL}, {"r14", "r14d", "r14w", "r14b", NULL},
    {"r15", "r15d", "r15w", "r15b", NULL}};

struct line {
  uint8_t bytes[16];
  unsigned n;
  char text[256]; /* mnemonic and operands */
};

/* Parse " address:\tbytes\ttext"; returns false for other lines. */
static bool read_line(const char *from, struct line *l) {
  const char *at = strchr(from, '\t'), *text = at != NULL ? strchr(at + 1, '\t') : NULL;
  if (text == NULL) return false;
  l->n = 0;
  for (char *end; at < text && l->n < sizeof l->bytes; at = end) {
    unsigned long byte = strtoul(at, &end, 16);
    if (end == at || end > text) break;
    l->bytes[l->n++] = (uint8_t)byte;
  }
  snprintf(l->text, sizeof l->text, "%.*s", (int)strcspn(text + 1, "#<\n"), text + 1);
  bool two = l->bytes[0] == 0x9b && l->n > 1; /* fwait and another, which binutils prints as one */
  bool nothing = l->n == 2 && memcmp(l->bytes, "\x66\x90", 2) == 0; /* a nop that binutils calls xchg %ax,%ax */
  return l->n > 0 && !two && !nothing && strstr(l->text, "(bad)") == NULL && strchr(l->text, '.') == NULL;
}

static unsigned mentions(const char *text, unsigned r) {
  unsigned n = 0;
  for (const char *at = strchr(text, '%'); at != NULL; at = strchr(at + 1, '%')) {
    size_t bytes = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
    for (unsigned i = 0; i < 5 && names[r][i] != NULL; i++)
      n += strlen(names[r][i]) == bytes && memcmp(at + 1, names[r][i], bytes) == 0;
  }
  return n;
}

/* Registers that instructions use without naming them, in the bits of the result. */
static unsigned hidden(const char *text) {
  static const struct {
    const char *begin;
    unsigned registers;
  } of[] = {{"cmpxchg8b", 0xf}, {"cmpxchg16b", 0xf}, {"cmpxchg", 1}, {"cpuid", 0xf},    {"rdtsc", 5},
            {"mul", 5},         {"div", 5},          {"idiv", 5},    {"cqto", 5},       {"cltd", 5},
            {"cltq", 1},        {"cwtl", 1},         {"cwtd", 5},    {"leave", 0x30},   {"syscall", 0xffff},
            {"rep", 0xc3},      {"loop", 2},         {"jrcxz", 2},   {"pcmpistr", 2},   {"pcmpestr", 7},
            {"vpcmpistr", 2},   {"vpcmpestr", 7},    {"mulx", 4},    {"maskmov", 0x80}, {"vmaskmovdqu", 0x80},
            {"push", 0x10},     {"pop", 0x10},       {"call", 0x10}, {"ret", 0x10},     {"sahf", 1},
            {"lahf", 1}};
  unsigned found = strstr(text, "fnstsw %ax") != NULL ? 1 : 0;
  if (strstr(text, "%xmm") != NULL && text[0] != 'p' && text[0] != 'v' && strncmp(text, "maskmov", 7) != 0) return 0;
  for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
    if (strncmp(text, of[i].begin, strlen(of[i].begin)) == 0) found |= of[i].registers;
  if (strncmp(text, "repz ret", 8) == 0) return 0x10;
  if (strncmp(text, "imul", 4) == 0 && strchr(text, ',') == NULL) found |= 5;
  return found;
}

static bool is_one_of(const char *text, const char *const *list) {
  for (; *list != NULL; list++)
    if (strncmp(text, *list, strlen(*list)) == 0) return true;
  return false;
}

static bool overwrites(const char *text, unsigned r) {
  static const char *const whole[] = {"mov", "lea", "pop", NULL}, *const zero[] = {"xor", "sub", NULL};
  const char *last = strrchr(text, ',');
  if (last == NULL) last = strrchr(text, ' ');
  if (last == NULL || mentions(last, r) != 1 || strchr(last, ')') != NULL) return false;
  return (mentions(text, r) == 1 && is_one_of(text, whole)) || (mentions(text, r) == 2 && is_one_of(text, zero));
}

static size_t unknown, wrong_lengths, wrong_uses, all;

static void compare(const struct line *l) {
  for (unsigned r = 0; r < 16; r++) {
    struct pml__insn i = pml__decode(l->bytes, l->n, r);
    if (r == 0) all++;
    if (i.kind == PML__INSN_UNKNOWN) {
      unknown += r == 0;
      return;
    }
    if (i.length != l->n) {
      if (wrong_lengths++ < 10) printf("# %u bytes, not %u: %s\n", i.length, l->n, l->text);
      return;
    }
    bool by_register = i.kind == PML__INSN_CALL_REG || i.kind == PML__INSN_JUMP_REG;
    bool null = strncmp(l->text, "test", 4) == 0 && mentions(l->text, r) == 2;
    unsigned n = mentions(l->text, r) + (hidden(l->text) >> r & 1);
    bool right = i.use == PML__REG_READ || (i.use == PML__REG_WRITTEN ? overwrites(l->text, r) : n == 0 || null);
    if (by_register && i.reg == r) right = n >= 1;
    if (!right && wrong_uses++ < 10) printf("# %s: use %d of %s\n", l->text, (int)i.use, names[r][0]);
  }
}

static bool decode(const char *file) {
  char command[256], text[1024];
  struct line l;
  snprintf(command, sizeof command, "objdump -d -w %s 2>/dev/null", file);
  FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c) */
  size_t before = all;
  for (size_t i = 0; f != NULL && i < LINES && fgets(text, sizeof text, f) != NULL; i++)
    if (read_line(text, &l)) compare(&l);
  if (f != NULL) (void)pclose(f);
  return all > before;
}

/* Every prefix of a byte string can be asked for. */
static void short_code(void) {
  uint8_t bytes[16];
  uint64_t x = 88172645463325252u;
  bool bounded = true;
  for (int i = 0; i < 200000; i++) {
    for (size_t k = 0; k < sizeof bytes; k++) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      bytes[k] = (uint8_t)x;
    }
    size_t n = x % (sizeof bytes + 1);
    uint8_t *part = malloc(n + (n == 0)); /* a separate block, so that a sanitizer detects reads behind it */
    if (part == NULL) return;
    memcpy(part, bytes, n);
    struct pml__insn insn = pml__decode(part, n, (unsigned)x % 16);
    bounded &= insn.length <= n && (insn.kind == PML__INSN_UNKNOWN || insn.length > 0);
    free(part);
  }
  CHECK(bounded, "no more bytes are read than there are");
}

/* Another file may be named. */
int main(int n, char **v) {
  const char *file[] = {n > 1 ? v[1] : "/proc/self/exe",
                        "/lib/x86_64-linux-gnu/libc.so.6",
                        "/lib/x86_64-linux-gnu/libm.so.6",
                        "/lib64/libc.so.6",
                        "/lib64/libm.so.6",
                        NULL};
  short_code();
  bool any = false;
  for (size_t i = 0; file[i] != NULL; i++) any |= decode(file[i]);
  if (!any) {
    SKIP("no objdump, or no library that it reads");
    return check_done();
  }
  printf("# %zu instructions, %zu of them not known\n", all, unknown);
  CHECK(wrong_lengths == 0, "instructions are as long as binutils says");
  CHECK(wrong_uses == 0, "registers that are said to be left alone, or overwritten, are");
  CHECK(unknown * 50 < all, "nearly all are known");
  return check_done();
}
#endif
