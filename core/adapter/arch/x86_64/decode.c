/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/x86_64/decode.c - instruction decoder for register data flow. */
#if defined(__x86_64__)
#include "adapter/arch/x86_64/decode.h"

#include <stddef.h>
#include <string.h>

/* The bytes after an opcode: '0' none, 'b' 1 byte, 'w' 2, 'z' 4, 'v' 4, or 8 with REX.W; capitals: an operand (ModRM)
 * first, and 'M' only an operand. '.': not supported here. */
static const char one_byte[] = "MMMMbz..MMMMbz..MMMMbz..MMMMbz..MMMMbz..MMMMbz..MMMMbz..MMMMbz.."
                               "................0000000000000000...M....zZbB....bbbbbbbbbbbbbbbb"
                               "BZ.BMMMMMMMMMMMM0000000000.000000...0000bz000000bbbbbbbbvvvvvvvv"
                               "BBw0..BZ.0..0...MMMM....MMMMMMMMbbbb....zz.b........00MM000000MM";
static const char two_bytes[] = ".....0.....0.M..MMMMMMMMMMMMMMMMMMMM....MMMMMMMM.0.............."
                                "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMBBBBMMM0....MMMM"
                                "zzzzzzzzzzzzzzzzMMMMMMMMMMMMMMMM..0MBM.....MBMMMMM.M..MMM.BMMMMM"
                                "MMBMBBBM00000000MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM";
_Static_assert(sizeof one_byte == 257 && sizeof two_bytes == 257, "a character for each opcode");

enum { LEGACY, ESCAPED, MAP_38, MAP_3A };

struct decoding {
  const uint8_t *at, *end;
  unsigned map, op;
  bool wide, small, vex, evex; /* REX.W, 66 */
  unsigned r, x, b, v;         /* upper bits of register numbers; v: the third register */
  bool has_operand;
  unsigned mod, reg, rm; /* with their upper bits */
  int base, index;       /* of memory; -1: none */
};

static bool take(struct decoding *d, unsigned *byte) {
  if (d->at >= d->end) return false;
  *byte = *d->at++;
  return true;
}

static bool skip(struct decoding *d, size_t n) {
  if ((size_t)(d->end - d->at) < n) return false;
  d->at += n;
  return true;
}

/* ---- prefixes ---- */

static bool read_vex(struct decoding *d, unsigned first) {
  unsigned a, b = 0, c = 0;
  d->vex = true;
  if (!take(d, &a) || (first != 0xc5 && !take(d, &b)) || (first == 0x62 && !take(d, &c))) return false;
  d->r = (~a >> 7 & 1) << 3;
  d->evex = first == 0x62;
  d->map = ESCAPED;
  unsigned last = first == 0xc5 ? a : b;
  if (first != 0xc5) {
    d->x = (~a >> 6 & 1) << 3;
    d->b = (~a >> 5 & 1) << 3;
    d->map = a & (d->evex ? 7 : 31);
  }
  d->v = ~last >> 3 & 15;
  return d->map >= ESCAPED && d->map <= MAP_3A && take(d, &d->op);
}

static bool read_opcode(struct decoding *d) {
  if (!take(d, &d->op)) return false;
  while (d->op == 0x66 || d->op == 0xf2 || d->op == 0xf3 || d->op == 0xf0 || d->op == 0x2e || d->op == 0x3e) {
    d->small |= d->op == 0x66;
    if (!take(d, &d->op)) return false;
  }
  if (d->op == 0x64 && !take(d, &d->op)) return false; /* %fs: memory of the thread */
  if (d->op == 0x66) {
    d->small = true;
    if (!take(d, &d->op)) return false;
  }
  if (d->op >> 4 == 4) {
    d->wide = (d->op & 8) != 0;
    d->r = (d->op >> 2 & 1) << 3;
    d->x = (d->op >> 1 & 1) << 3;
    d->b = (d->op & 1) << 3;
    if (!take(d, &d->op)) return false;
  }
  if (d->op == 0xc4 || d->op == 0xc5 || d->op == 0x62) return read_vex(d, d->op);
  if (d->op != 0x0f) return true;
  if (!take(d, &d->op)) return false;
  d->map = d->op == 0x38 ? MAP_38 : d->op == 0x3a ? MAP_3A : ESCAPED;
  return d->map == ESCAPED || take(d, &d->op);
}

/* ---- operands ---- */

static bool read_memory(struct decoding *d) {
  size_t distance = d->mod == 1 ? 1 : d->mod == 2 ? 4 : 0;
  unsigned rm = d->rm & 7;
  d->base = (int)d->rm;
  if (rm == 4) {
    unsigned sib;
    if (!take(d, &sib)) return false;
    d->base = (int)((sib & 7) | d->b);
    d->index = (int)((sib >> 3 & 7) | d->x);
    if (d->index == 4 && !d->evex) d->index = -1;
    if ((sib & 7) == 5 && d->mod == 0) d->base = -1, distance = 4;
  } else if (rm == 5 && d->mod == 0) {
    d->base = -1;
    distance = 4;
  }
  return skip(d, distance);
}

static bool read_operand(struct decoding *d) {
  unsigned modrm;
  if (!take(d, &modrm)) return false;
  d->has_operand = true;
  d->mod = modrm >> 6;
  d->reg = (modrm >> 3 & 7) | d->r;
  d->rm = (modrm & 7) | d->b;
  return d->mod == 3 || read_memory(d);
}

static char shape_of(const struct decoding *d) {
  switch (d->map) {
  case LEGACY:
    return one_byte[d->op];
  case ESCAPED:
    return d->vex && d->op == 0x77 ? '0' : two_bytes[d->op];
  default:
    return d->map == MAP_38 ? 'M' : 'B';
  }
}

static size_t immediate(const struct decoding *d, char shape) {
  bool test = d->map == LEGACY && (d->op & 0xfe) == 0xf6 && (d->reg & 7) < 2;
  switch (shape) {
  case 'b':
  case 'B':
    return 1;
  case 'w':
    return 2;
  case 'z':
  case 'Z':
    return d->small && d->map == LEGACY && (d->op & 0xfe) != 0xe8 ? 2 : 4;
  case 'v':
    return d->wide ? 8 : d->small ? 2 : 4;
  default:
    return !test ? 0 : d->op == 0xf6 ? 1 : d->small ? 2 : 4;
  }
}

/* ---- registers ---- */

static bool is_in(const char *set, unsigned op) {
  return memchr(set, (int)op, strlen(set)) != NULL;
}

/* Both registers of the operand are vectors, or k, or of the x87: none of the general ones. */
static bool has_vectors(const struct decoding *d) {
  unsigned op = d->op;
  if (d->map == LEGACY) return op >= 0xd8 && op <= 0xdf;
  if (d->map == MAP_38) return op < 0xf0 && !(d->evex && op >= 0x7a && op <= 0x7c);
  if (d->map == MAP_3A) return op < 0xf0 && !((op & 0xfc) == 0x14 || op == 0x20 || op == 0x22);
  if (is_in("\x2a\x2c\x2d\x50\x6e\x7e\x78\x79\x7a\x7b\xc3\xc4\xc5\xc7\xd7", op)) return false;
  return (op >= 0x10 && op <= 0x17) || (op >= 0x28 && op <= 0x2f) || (op >= 0x50 && op <= 0x7f) || op == 0xc2 ||
         op == 0xc6 || op >= 0xd0;
}

/* The middle of the operand's first byte is part of the opcode. */
static bool is_group(const struct decoding *d) {
  unsigned op = d->op;
  if (d->map == LEGACY)
    return (op >= 0x80 && op <= 0x83) || is_in("\x8f\xc0\xc1\xc6\xc7\xd0\xd1\xd2\xd3\xf6\xf7\xfe\xff", op);
  return d->map == ESCAPED && !d->vex &&
         ((op >= 0x18 && op <= 0x1f) || (op >= 0x90 && op <= 0x9f) || is_in("\x0d\x71\x72\x73\xae\xba\xc7", op));
}

/* Instructions that read or write rax, rcx, rdx, rbx, rsi or rdi without saying so. */
static bool has_hidden(const struct decoding *d) {
  unsigned op = d->op;
  if (d->map == ESCAPED) return op == 0xf7 || (!d->vex && is_in("\x31\xa2\xa5\xad\xb0\xb1\xc7", op));
  if (d->map == MAP_38) return !d->vex || op >= 0xf0;
  if (d->map == MAP_3A) return true;
  return (op == 0x90 && d->b != 0) || (op > 0x90 && op <= 0xaf) || op == 0xd2 || op == 0xd3 || op == 0xdf ||
         (op >= 0xe0 && op <= 0xe3) || ((op & 0xfe) == 0xf6 && (d->reg & 7) >= 4) || (op < 0x40 && (op & 7) >= 4);
}

/* A register in the opcode itself. */
static int in_opcode(const struct decoding *d) {
  bool has = d->map == LEGACY
                 ? (d->op >= 0x50 && d->op <= 0x5f) || (d->op >= 0x90 && d->op <= 0x97) || d->op >> 4 == 0xb
                 : d->map == ESCAPED && !d->vex && d->op >= 0xc8 && d->op <= 0xcf;
  if (!has || (d->map == LEGACY && d->op == 0x90 && d->b == 0)) return -1;
  return (int)((d->op & 7) | d->b);
}

static bool in_memory(const struct decoding *d, int r) {
  return d->has_operand && d->mod != 3 && (d->base == r || d->index == r);
}

static bool is_named(const struct decoding *d, unsigned r) {
  if (in_opcode(d) == (int)r || in_memory(d, (int)r)) return true;
  if (d->vex && (d->map == MAP_38 || d->map == MAP_3A) && d->op >= 0xf0 && d->v == r) return true;
  if (!d->has_operand || has_vectors(d)) return false;
  return (d->mod == 3 && d->rm == r) || (!is_group(d) && d->reg == r);
}

/* Whether the whole register is overwritten, independent of its old value. */
static bool is_written(const struct decoding *d, int r) {
  if (d->vex || d->small || in_memory(d, r)) return false;
  bool to_reg = d->has_operand && (int)d->reg == r, to_rm = d->has_operand && d->mod == 3 && (int)d->rm == r;
  unsigned op = d->op;
  if (d->map == ESCAPED) return to_reg && !to_rm && (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf);
  if (d->map != LEGACY) return false;
  if ((op >= 0x58 && op <= 0x5f) || (op >= 0xb8 && op <= 0xbf)) return in_opcode(d) == r;
  if (op == 0x8b || op == 0x63) return to_reg && !to_rm;
  if (op == 0x8d) return to_reg && d->mod != 3;
  if (op == 0x89) return to_rm && !to_reg;
  if (op == 0xc7) return to_rm && (d->reg & 7) == 0;
  return (op == 0x31 || op == 0x33 || op == 0x29 || op == 0x2b) && to_reg && to_rm; /* 0 */
}

/* test r, r: whether it is NULL, which no other address of the function changes. */
static bool is_test_of_zero(const struct decoding *d, unsigned r) {
  return d->map == LEGACY && d->op == 0x85 && d->wide && d->mod == 3 && d->reg == r && d->rm == r;
}

/* ah to bh have the numbers of rsp to rdi where there is no REX: with one, this is at worst a read too many. */
static bool has_upper_byte(const struct decoding *d, unsigned r) {
  unsigned op = d->op;
  bool bytes = d->map == LEGACY ? op >> 3 == 0x16 || (op < 0x40 && (op & 1) == 0) ||
                                      is_in("\x80\x84\x86\x88\x8a\xc0\xc6\xd0\xd2\xf6\xfe", op)
                                : d->map == ESCAPED && !d->vex && (is_in("\xb0\xb6\xbe\xc0", op) || op >> 4 == 9);
  return bytes && r < 4 &&
         ((d->has_operand && ((d->mod == 3 && d->rm == r + 4) || d->reg == r + 4)) || in_opcode(d) == (int)r + 4);
}

static enum pml__reg_use use_of(const struct decoding *d, unsigned r) {
  bool special = r < 4 || r == 6 || r == 7;
  if ((special && has_hidden(d)) || has_upper_byte(d, r)) return PML__REG_READ;
  if (r == 4 || (r == 5 && d->map == LEGACY && d->op == 0xc9)) return PML__REG_READ;
  if (d->map == ESCAPED && d->op == 0x05) return PML__REG_READ; /* a system call */
  if (!is_named(d, r) || is_test_of_zero(d, r)) return PML__REG_LEFT;
  return is_written(d, (int)r) ? PML__REG_WRITTEN : PML__REG_READ;
}

/* ---- where it leads ---- */

static uintptr_t target_of(const struct decoding *d, size_t bytes) {
  int32_t far = 0;
  if (bytes == 4) memcpy(&far, d->at - 4, 4);
  return (uintptr_t)d->at + (uintptr_t)(intptr_t)(bytes == 1 ? (int8_t)d->at[-1] : far);
}

static void lead_by_group(const struct decoding *d, struct pml__insn *i, unsigned r) {
  unsigned what = d->reg & 7;
  if (what == 3 || what == 5 || what == 7) { /* far calls and jumps */
    i->kind = PML__INSN_UNKNOWN;
  } else if (what == 2 || what == 4) {
    bool is_reg = d->mod == 3;
    i->kind = what == 2 ? is_reg ? PML__INSN_CALL_REG : PML__INSN_CALL
              : is_reg  ? PML__INSN_JUMP_REG
                        : PML__INSN_JUMP_ANY;
    i->reg = (uint8_t)d->rm;
    i->use = r == 4 || (!is_reg && is_named(d, r)) ? PML__REG_READ : PML__REG_LEFT;
  }
}

static void lead(const struct decoding *d, struct pml__insn *i, unsigned r) {
  unsigned op = d->op;
  i->kind = PML__INSN_PLAIN;
  if (d->vex) return;
  if (d->map == ESCAPED) {
    if (op == 0x0b) i->kind = PML__INSN_END;
    if (op >> 4 == 8) i->kind = PML__INSN_BRANCH, i->to = target_of(d, 4);
  } else if (d->map == LEGACY) {
    if (op >> 4 == 7 || (op >= 0xe0 && op <= 0xe3)) i->kind = PML__INSN_BRANCH, i->to = target_of(d, 1);
    if (op == 0xe8) i->kind = PML__INSN_CALL, i->to = target_of(d, 4);
    if (op == 0xe9) i->kind = PML__INSN_JUMP, i->to = target_of(d, 4);
    if (op == 0xeb) i->kind = PML__INSN_JUMP, i->to = target_of(d, 1);
    if (op == 0xc3 || op == 0xc2) i->kind = PML__INSN_RETURN;
    if (op == 0xcc || op == 0xf4) i->kind = PML__INSN_END;
    if (op == 0xff) lead_by_group(d, i, r);
  }
}

#define LONGEST 15u

struct pml__insn pml__decode(const uint8_t *at, uintptr_t n, unsigned r) {
  struct pml__insn i = {.kind = PML__INSN_UNKNOWN, .use = PML__REG_READ};
  struct decoding d = {.at = at, .end = at + (n < LONGEST ? n : LONGEST), .base = -1, .index = -1};
  if (!read_opcode(&d)) return i;
  char shape = shape_of(&d);
  if (shape == '.' || (d.small && !d.wide && (d.op & 0xfe) == 0xe8 && d.map == LEGACY)) return i;
  if (shape < 'a' && shape > '9' && !read_operand(&d)) return i;
  if (!skip(&d, immediate(&d, shape))) return i;
  if (d.map == LEGACY && d.op == 0x8f && (d.reg & 7) != 0) return i; /* XOP */
  i.length = (uint8_t)(d.at - at);
  i.use = use_of(&d, r);
  lead(&d, &i, r);
  return i;
}

#else
typedef int pml_decode_is_another;
#endif
