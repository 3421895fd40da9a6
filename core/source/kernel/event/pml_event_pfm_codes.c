/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_pfm_codes.c - corrections of libpfm4's event codes. */
/*
 * Found by comparing the codes of libpfm4 4.13 with Intel's event files (perfmon, August 2026): the 4,935 events of 24
 * core PMUs (atom to spr) and the 6,248 events of 52 uncore PMUs (snbep to skx) that both name alike. Left out are
 * codes that count the same (04c4 and 00c4: all branches; fixed counters), and names that both define otherwise (atom's
 * :SELF and :ALL_AGENTS; skx_unc_cha's TOR_*:IRQ and LLC_VICTIMS:TOTAL_*).
 */
#include "source/kernel/event/pml_event_pfm.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define HASWELL " hsw hsw_ep bdw bdw_ep "
#define SKYLAKE " skl skx clx "
#define ICELAKE " icl icx "
#define ICELAKE_SPR " icl icx spr "
#define IVYBRIDGE " ivb ivb_ep "
#define NEHALEM " nhm nhm_ex "

/*
 * Events by the first of libpfm4's names. Codes are in PERF_TYPE_RAW's format: the event, unit mask * 256, and above
 * these edge, inversion and counter mask. If the wrong code has any of the latter, they are part of the event;
 * otherwise those that the caller requested are preserved.
 */
static const struct code {
  const char *pmus, *event;
  uint32_t wrong, right;
  uint32_t frontend; /* value for MSR_PEBS_FRONTEND in config1, or 0 */
} codes[] = {
    {" atom ", "BOGUS_BR", 0x00e4, 0x01e4, 0},
    {" atom ", "CYCLES_DIV_BUSY", 0x0014, 0x0114, 0},
    {" atom ", "HW_INT_RCV", 0x01c8, 0x00c8, 0},
    {" glm ", "CPU_CLK_UNHALTED:CORE_P", 0x0000, 0x003c, 0},
    {" glm ", "CPU_CLK_UNHALTED:REF", 0x0100, 0x013c, 0},
    {NEHALEM, "MACRO_INSTS:FUSIONS_DECODED", 0x01d0, 0x01a6, 0},
    {IVYBRIDGE, "MOVE_ELIMINATION:INT_ELIMINATED", 0x0458, 0x0158, 0},
    {IVYBRIDGE, "MOVE_ELIMINATION:INT_NOT_ELIMINATED", 0x0158, 0x0458, 0},
    {" ivb_ep ", "MEM_LOAD_UOPS_LLC_MISS_RETIRED:LOCAL_DRAM", 0x01d3, 0x03d3, 0},
    {HASWELL, "L2_RQSTS:DEMAND_DATA_RD_HIT", 0x4124, 0xc124, 0},
    {HASWELL, "L2_RQSTS:DEMAND_RFO_HIT", 0x4224, 0xc224, 0},
    {HASWELL, "L2_RQSTS:CODE_RD_HIT", 0x4424, 0xc424, 0},
    {HASWELL, "L2_RQSTS:PF_HIT", 0xd824, 0xd024, 0},
    {HASWELL, "L2_RQSTS:PF_MISS", 0x3824, 0x3024, 0},
    {SKYLAKE, "UOPS_RETIRED:ALL", 0x018001c2, 0x018002c2, 0}, /* STALL_CYCLES */
    {SKYLAKE, "UOPS_RETIRED:ALL", 0x018401c2, 0x018402c2, 0}, /* STALL_OCCURRENCES: their beginnings */
    {SKYLAKE, "UOPS_RETIRED:ALL", 0x0a8001c2, 0x108002c2, 0}, /* TOTAL_CYCLES */
    {ICELAKE, "MEM_LOAD_MISC_RETIRED:UC", 0x04c4, 0x04d4, 0},
    {ICELAKE_SPR, "TOPDOWN:BACKEND_BOUND_SLOTS", 0x0200, 0x02a4, 0},
    {ICELAKE_SPR, "TOPDOWN:BR_MISPREDICT_SLOTS", 0x0800, 0x08a4, 0},
    {" spr ", "TOPDOWN:BAD_SPEC_SLOTS", 0x0400, 0x04a4, 0},
    {" spr ", "TOPDOWN:MEMORY_BOUND_SLOTS", 0x1000, 0x10a4, 0},
    {" spr ", "ARITH:IDIV_ACTIVE", 0x08b0, 0x010008b0, 0},
    {" spr ", "INT_MISC:UNKNOWN_BRANCH_CYCLES", 0x07ad, 0x40ad, 0x7},
    {" spr ", "MEM_TRANS_RETIRED:STORE_SAMPLE", 0x03cd, 0x02cd, 0},
    {" spr ", "UOPS_RETIRED:MS", 0x08c2, 0x04c2, 0x8},
};

/*
 * Events of uncore PMUs by patterns of fnmatch(3) for libpfm4's names; the PMUs' numbers are left out. Codes have the
 * format of these PMUs: the event, unit mask * 256; bit 21 extends the event. @mask: the bits that are wrong.
 */
#define UNIT_MASK 0x1ff00 /* with the bit above, which libpfm4 sets where it has shifted a mask too far */
#define EVENT 0x2000ff
static const struct uncore {
  const char *pmus, *event;
  uint32_t mask, wrong, right;
} uncores[] = {
    {" snbep_unc_qpi ", "UNC_Q_CTO_COUNT", EVENT, 0x38, 0x200038},
    {" ivbep_unc_pcu ", "UNC_P_FREQ_MIN_PERF_P_CYCLES", EVENT, 0x200002, 0x62},
    {" ivbep_unc_ha ", "UNC_H_BYPASS_IMC:TAKEN", UNIT_MASK, 0x0200, 0x0100},
    {" ivbep_unc_ha ", "UNC_H_BYPASS_IMC:NOT_TAKEN", UNIT_MASK, 0x0100, 0x0200},
    {" ivbep_unc_ha ivbep_unc_r2pcie ", "UNC_*_RING_[AB]?_USED:CW_VR1_EVEN", UNIT_MASK, 0x0100, 0x1000},
    {" ivbep_unc_ha ivbep_unc_r2pcie ", "UNC_*_RING_[AB]?_USED:CW_VR1_ODD", UNIT_MASK, 0x0200, 0x2000},
    {" ivbep_unc_ha ivbep_unc_r2pcie ", "UNC_*_RING_[AB]?_USED:CCW_VR1_EVEN", UNIT_MASK, 0x0400, 0x4000},
    {" ivbep_unc_ha ivbep_unc_r2pcie ", "UNC_*_RING_[AB]?_USED:CCW_VR1_ODD", UNIT_MASK, 0x0800, 0x8000},
    {" ivbep_unc_imc hswep_unc_imc ", "UNC_M_CAS_COUNT:RD_RMM", UNIT_MASK, 0x1000, 0x2000},
    {" ivbep_unc_imc hswep_unc_imc ", "UNC_M_CAS_COUNT:RD_WMM", UNIT_MASK, 0x2000, 0x1000},
    {" hswep_unc_imc ", "UNC_M_[RW][DR]_CAS_RANK?:BANK12", UNIT_MASK, 0xc000, 0x0c00},
    {" hswep_unc_imc ", "UNC_M_[RW][DR]_CAS_RANK?:BANK13", UNIT_MASK, 0xd000, 0x0d00},
    {" hswep_unc_imc ", "UNC_M_[RW][DR]_CAS_RANK?:BANK14", UNIT_MASK, 0xe000, 0x0e00},
    {" hswep_unc_imc ", "UNC_M_[RW][DR]_CAS_RANK?:BANK15", UNIT_MASK, 0xf000, 0x0f00},
    {" hswep_unc_imc ", "UNC_M_[RW][DR]_CAS_RANK?:BANKG1", UNIT_MASK, 0x12000, 0x1200},
    {" hswep_unc_imc ", "UNC_M_[RW][DR]_CAS_RANK?:BANKG2", UNIT_MASK, 0x13000, 0x1300},
    {" hswep_unc_imc ", "UNC_M_[RW][DR]_CAS_RANK?:BANKG3", UNIT_MASK, 0x14000, 0x1400},
    {" hswep_unc_cbo ", "UNC_C_RING_BOUNCES:AK", UNIT_MASK, 0x0400, 0x0200},
    {" hswep_unc_cbo ", "UNC_C_RING_BOUNCES:BL", UNIT_MASK, 0x0800, 0x0400},
    {" hswep_unc_cbo ", "UNC_C_RXR_I*_RETRY2:BL_SBO", UNIT_MASK, 0x0100, 0x0200},
    {" hswep_unc_cbo ", "UNC_C_RING_[AB]?_USED:ALL", UNIT_MASK, 0xcc00, 0x0f00},
    {" hswep_unc_cbo hswep_unc_sbo ", "UNC_?_RING_[AB]?_USED:UP", UNIT_MASK, 0x3300, 0x0300},
    {" hswep_unc_cbo hswep_unc_sbo bdx_unc_sbo ", "UNC_?_RING_[AB]?_USED:DOWN", UNIT_MASK, 0xcc00, 0x0c00},
    {" hswep_unc_ha ", "UNC_H_RING_[AB]?_USED:CW", UNIT_MASK, 0x3300, 0x0300},
    {" hswep_unc_ha ", "UNC_H_RING_[AB]?_USED:CCW", UNIT_MASK, 0xcc00, 0x0c00},
    {" hswep_unc_r2pcie ", "UNC_R2_RING_IV_USED:ANY", UNIT_MASK, 0xff00, 0x0f00},
    {" hswep_unc_r2pcie hswep_unc_r3qpi ", "UNC_R?_STALL_NO_SBO_CREDIT:SBO1_AD", UNIT_MASK, 0x0100, 0x0200},
    {" hswep_unc_r2pcie hswep_unc_r3qpi ", "UNC_R?_STALL_NO_SBO_CREDIT:SBO0_BL", UNIT_MASK, 0x0100, 0x0400},
    {" hswep_unc_r2pcie hswep_unc_r3qpi ", "UNC_R?_STALL_NO_SBO_CREDIT:SBO1_BL", UNIT_MASK, 0x0100, 0x0800},
    {" bdx_unc_qpi ", "UNC_Q_RXL_FLITS_G0:IDLE", UNIT_MASK, 0x0200, 0x0100},
    {" knl_unc_cha knm_unc_cha ", "UNC_H_VERT_RING_[AB]?_IN_USE:DN_EVEN", UNIT_MASK, 0x0200, 0x0400},
    {" knl_unc_cha knm_unc_cha ", "UNC_H_VERT_RING_[AB]?_IN_USE:DN_ODD", UNIT_MASK, 0x0400, 0x0800},
    {" knl_unc_m2pcie knm_unc_m2pcie ", "UNC_M2P_INGRESS_CYCLES_NE:ALL", UNIT_MASK, 0x0800, 0x8000},
};

/* Does @list, " a b ", have the first @n characters of @pmu? */
static bool has_pmu(const char *list, const char *pmu, size_t n) {
  for (const char *p = strchr(list, ' '); p[1] != '\0'; p = strchr(p + 1, ' '))
    if (strncmp(p + 1, pmu, n) == 0 && p[1 + n] == ' ') return true;
  return false;
}

/* Is what follows the event in libpfm4's full name its modifiers ("e=0:i=0"), not one more unit mask? */
static bool is_whole(const char *rest) {
  if (*rest == '\0') return true;
  return *rest == ':' && rest[1 + strcspn(rest + 1, ":=")] == '=';
}

/* Replace @config by the right code, unless it is not the wrong code, as from a corrected libpfm4. */
static uint64_t correct(const struct code *c, uint64_t config) {
  const uint64_t event_and_mask = 0xffff;
  uint64_t above = config & ~event_and_mask, wrong_above = c->wrong & ~event_and_mask;
  if ((config ^ c->wrong) & event_and_mask) return config;
  if (above == wrong_above) return c->right;
  return wrong_above == 0 ? above | (c->right & event_and_mask) : config;
}

/* The event and its unit masks, without modifiers. */
static void copy_name(char *name, size_t size, const char *event) {
  size_t n = 0;
  while (event[n] != '\0' && !(event[n] == ':' && is_whole(event + n))) n++;
  (void)snprintf(name, size, "%.*s", (int)n, event);
}

static bool correct_uncore(const char *pmu, size_t n, const char *event, struct perf_event_attr *attr) {
  char name[128];
  while (n > 0 && pmu[n - 1] >= '0' && pmu[n - 1] <= '9') n--;
  copy_name(name, sizeof name, event);
  for (const struct uncore *u = uncores; u < uncores + sizeof uncores / sizeof *uncores; u++) {
    if ((attr->config & u->mask) != u->wrong || !has_pmu(u->pmus, pmu, n) || fnmatch(u->event, name, 0) != 0) continue;
    attr->config = (attr->config & ~(uint64_t)u->mask) | u->right;
    return true;
  }
  return false;
}

bool pml__pfm_correct(const char *full, struct perf_event_attr *attr) {
  const char *event = strstr(full, "::");
  if (event == NULL) return false;
  size_t n = (size_t)(event - full);
  event += 2;
  if (attr->type != PERF_TYPE_RAW) return correct_uncore(full, n, event, attr);
  for (const struct code *c = codes; c < codes + sizeof codes / sizeof *codes; c++) {
    size_t length = strlen(c->event);
    if (strncmp(event, c->event, length) != 0 || !is_whole(event + length) || !has_pmu(c->pmus, full, n)) continue;
    uint64_t config = correct(c, attr->config);
    if (config == attr->config) continue;
    attr->config = config;
    if (c->frontend != 0) attr->config1 = c->frontend;
    return true;
  }
  return false;
}
