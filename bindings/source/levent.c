/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/source/levent.c - pml.event: event names, and the list of all events. */
#include "module.h"

#include "source/kernel/event/pml_event_parsers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void push_part(lua_State *L, const void *event, size_t i) {
  static const struct field fields[] = {FIELD(struct pml_event_part, pmu), FIELD(struct pml_event_part, here),
                                        FIELD_OF(struct pml_event_part, "place", place, FIELD_WRITTEN), FIELD_END};
  const struct pml_event_part p = pml_event_part(event, (unsigned)i);
  field_push(L, fields, &p);
  lutil_setint(L, "type", p.attr.type);
  lutil_setint(L, "config", p.attr.config);
  lutil_setint(L, "config1", p.attr.config1);
  lutil_setint(L, "config2", p.attr.config2);
  lutil_setbool(L, "exclude_user", p.attr.exclude_user);
  lutil_setbool(L, "exclude_kernel", p.attr.exclude_kernel);
  lutil_setbool(L, "exclude_hv", p.attr.exclude_hv);
  if (p.attr.precise_ip > 0) lutil_setint(L, "precise", p.attr.precise_ip);
  if (p.cpu_any >= 0) lutil_setint(L, "cpu", (uint64_t)p.cpu_any);
}

static int l_parse(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_event, name, unit, scale);
  struct pml_event ev;
  int err = pml_event_parse(&ev, lutil_string(L, 1));
  if (err < 0) return pml_pusherr(L, err, "event.parse");
  field_push(L, fields, &ev);
  lutil_setstr(L, "kind", pml_event_source(ev.name));
  field_each(L, "parts", ev.nparts, push_part, &ev);
  return 1;
}

/* { precise =, counts_guests =, kinds = } */
static int l_pmu_traits(lua_State *L) {
  static const struct field fields[] = FIELDS(struct pml_event_pmu_traits, precise, counts_guests, kinds);
  struct pml_event_pmu_traits t;
  int err = pml_event_pmu_traits(&t);
  if (err < 0) return pml_pusherr(L, err, "event.pmu_traits");
  return field_push(L, fields, &t);
}

static int l_user_only(lua_State *L) {
  return lutil_pushstr(L, pml_event_user_only());
}

/*
 * The walk holds the lock of the event tables, so its visitor must not enter Lua: an allocation there may raise, or run
 * a finalizer that parses an event. Rows are kept as C strings, one after the other, and become tables afterwards.
 */
static int rows_visit(const struct pml_event_info *info, void *arg) {
  struct lutil_rows *r = arg;
  const char *field[] = {info->name, info->description,           info->source,
                         info->pmu,  info->available ? "y" : "n", info->reason};
  for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
    const char *text = field[i] != NULL ? field[i] : "";
    int err = lutil_add(r, text, strlen(text) + 1);
    if (err < 0) return err;
  }
  return 0;
}

static const char *setnext(lua_State *L, const char *key, const char *s) {
  lutil_setstr(L, key, s);
  return s + strlen(s) + 1;
}

static void pushrows(lua_State *L, const struct lutil_rows *r) {
  const char *s = r->at;
  lua_newtable(L);
  for (lua_Integer i = 1; s != r->at + r->used; i++) {
    lua_createtable(L, 0, 6);
    s = setnext(L, "name", s);
    s = setnext(L, "description", s);
    s = setnext(L, "source", s);
    s = setnext(L, "pmu", s);
    lutil_setbool(L, "available", *s == 'y');
    s = setnext(L, "reason", s + 2);
    lua_rawseti(L, -2, i);
  }
}

static int l_list(lua_State *L) {
  const char *pattern = lutil_optstring(L, 1, NULL);
  int all = lua_toboolean(L, 2);
  struct lutil_rows *r = lutil_rows(L);
  int err = pml_event_list(pattern, all, rows_visit, r);
  if (err < 0) return pml_pusherr(L, err, "event.list");
  pushrows(L, r);
  lutil_close(&r->h); /* tens of thousands of rows: not left to the collector */
  return 1;
}

static int l_pmus(lua_State *L) {
  static const struct field fields[] =
      FIELDS(struct pml_event_pmu, name, description, kind, counters, fixed, events, here);
  int n = pml_event_pmus(NULL, 0);
  struct pml_event_pmu *pmu = lua_newuserdatauv(L, (size_t)n * sizeof *pmu + 1, 0);
  n = pml_event_pmus(pmu, (size_t)n);
  return field_list(L, fields, pmu, (size_t)n, sizeof *pmu);
}

static int l_has_pmu(lua_State *L) {
  int has = pml_event_has_pmu();
  lua_pushboolean(L, has > 0);
  if (has > 0) return 1;
  lua_pushstring(L, pml_error_detail(PML_ENOPMU));
  return 2;
}

static int l_set_sysfs(lua_State *L) {
  return pml_pushdone(L, pml_event_set_sysfs(lutil_optstring(L, 1, NULL)), "event.set_sysfs");
}

/* The places of one probe, with what its note says of their arguments. */
#define USDT_MOST 512
struct usdt_places {
  const char *provider, *name;
  size_t n;
  struct usdt_place {
    uint64_t offset;
    char arguments[256];
  } place[USDT_MOST];
};

static int keep_place(const struct pml__usdt_place *p, void *arg) {
  struct usdt_places *all = arg;
  if (strcmp(p->provider, all->provider) != 0 || strcmp(p->name, all->name) != 0) return 0;
  all->place[all->n].offset = p->offset;
  (void)snprintf(all->place[all->n].arguments, sizeof all->place[0].arguments, "%s", p->arguments);
  return ++all->n == USDT_MOST;
}

static int l_usdt(lua_State *L) {
  static const struct field fields[] = FIELDS(struct usdt_place, offset, arguments);
  const char *path = lutil_string(L, 1), *provider = lutil_string(L, 2), *name = lutil_string(L, 3);
  struct usdt_places *all = lua_newuserdatauv(L, sizeof *all, 0); /* it is Lua's: an error leaves nothing behind */
  all->provider = provider;
  all->name = name;
  all->n = 0;
  int err = pml__usdt_walk(path, keep_place, all);
  if (err < 0) {
    (void)pml_fail(err, "cannot read the probes of %.200s: %s", path, pml_error_text(err));
    return pml_pusherr(L, err, "event.usdt");
  }
  return field_list(L, fields, all->place, all->n, sizeof all->place[0]);
}

int luaopen_pmlua_event(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"parse", l_parse},         {"user_only", l_user_only}, {"pmu_traits", l_pmu_traits},
      {"list", l_list},           {"pmus", l_pmus},           {"has_pmu", l_has_pmu},
      {"set_sysfs", l_set_sysfs}, {"usdt", l_usdt},           {NULL, NULL}};
  return lutil_module(L, functions);
}
