/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument.c - instrumentation of LLVM bitcode, and module metadata. */
#include "instrument/instrument.h"

#include "instrument/instrument_private.h"

#include <errno.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)
#define FUNCTION_INDEX ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

const char *pml_instrument_llvm(void) {
  return QUOTE(PML_LLVM_VERSION);
}

static void take_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
  struct pml_instrument *o = user;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || o->error[0] != '\0') return;
  char *text = LLVMGetDiagInfoDescription(info);
  snprintf(o->error, sizeof o->error, "%.200s", text);
  LLVMDisposeMessage(text);
}

/* The diagnostic contains the name of the producer if it was another version of LLVM. */
static void tell_unreadable(struct pml_instrument *o, const char *in) {
  char why[sizeof o->error];
  memcpy(why, o->error, sizeof why);
  char *producer = strstr(why, "Producer: '"), *end = producer != NULL ? strchr(producer + 11, '\'') : NULL;
  if (end == NULL || strncmp(producer + 11, "LLVM" QUOTE(PML_LLVM_VERSION), (size_t)(end - producer - 11)) == 0) {
    snprintf(o->error, sizeof o->error, "%.150s is not bitcode of LLVM %s or older: %.100s", in, pml_instrument_llvm(),
             why);
    return;
  }
  *end = '\0';
  snprintf(o->error, sizeof o->error, "bitcode of %.40s, which LLVM %s does not read", producer + 11,
           pml_instrument_llvm());
}

static int read_module(struct pml_module *m, const char *in) {
  LLVMMemoryBufferRef file;
  char *text = NULL;
  if (LLVMCreateMemoryBufferWithContentsOfFile(in, &file, &text) != 0) {
    snprintf(m->o->error, sizeof m->o->error, "%.150s: %.120s", in, text);
    LLVMDisposeMessage(text);
    return -EIO;
  }
  bool bad = LLVMParseBitcodeInContext2(m->context, file, &m->module) != 0;
  LLVMDisposeMemoryBuffer(file);
  if (!bad) return 0;
  tell_unreadable(m->o, in);
  m->module = NULL;
  return -ENOEXEC;
}

static int run_passes(struct pml_module *m, const char *passes) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef err = LLVMRunPasses(m->module, passes, NULL, options);
  LLVMDisposePassBuilderOptions(options);
  if (err == NULL) return 0;
  char *text = LLVMGetErrorMessage(err);
  snprintf(m->o->error, sizeof m->o->error, "LLVM's %s: %.200s", passes, text);
  LLVMDisposeErrorMessage(text);
  return -EIO;
}

static void find_attributes(struct pml_module *m) {
  static const char *const names[PML_ATTRIBUTES] = {"nounwind", "willreturn", "nobuiltin", "noprofile", "naked"};
  for (unsigned a = 0; a < PML_ATTRIBUTES; a++)
    m->attribute[a] = LLVMGetEnumAttributeKindForName(names[a], strlen(names[a]));
}

static void declare_runtime(struct pml_module *m) {
  m->self = LLVMAddGlobal(m->module, m->i64_pointer, "pml_count_self");
  LLVMSetThreadLocalMode(m->self, LLVMInitialExecTLSModel);
  m->begin = LLVMAddFunction(m->module, "pml_count_begin", LLVMFunctionType(m->i64_pointer, NULL, 0, 0));
  pml_promise(m, m->begin, PML_TOUCHES_CELLS);
  pml_give(m, m->begin, "cold");
}

static void declare_touch(struct pml_module *m) {
  LLVMTypeRef taken[] = {m->i64_pointer, LLVMPointerType(LLVMInt8TypeInContext(m->context), 0), m->i64};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(m->context), taken, 3, 0);
  m->touch = LLVMAddFunction(m->module, "pml_count_touch", type);
  LLVMAddAttributeAtIndex(m->touch, FUNCTION_INDEX,
                          LLVMCreateEnumAttribute(m->context, m->attribute[PML_ATTR_NOUNWIND], 0));
}

/* Whether @function is an ifunc resolver, which runs before the program's relocations are processed. */
static bool resolves(const struct pml_module *m, LLVMValueRef function) {
  for (LLVMValueRef i = LLVMGetFirstGlobalIFunc(m->module); i != NULL; i = LLVMGetNextGlobalIFunc(i)) {
    LLVMValueRef r = LLVMGetGlobalIFuncResolver(i);
    while (r != NULL && LLVMIsAConstantExpr(r)) r = LLVMGetOperand(r, 0);
    if (r == function) return true;
  }
  return false;
}

static void skip(struct pml_module *m, LLVMValueRef function, const char *what) {
  size_t n;
  m->uncounted++;
  if (m->o->uncounted != NULL) m->o->uncounted(m->o->user, m->o->name, LLVMGetValueName2(function, &n), 1, what);
}

static const char *to_be_left(const struct pml_module *m, LLVMValueRef f) {
  if (pml_has_attribute(m, f, PML_ATTR_NAKED)) return "a naked function";
  if (pml_has_attribute(m, f, PML_ATTR_NOPROFILE)) return "a function that asks not to be instrumented";
  return resolves(m, f) ? "a resolver of an indirect function" : NULL;
}

static int instrument_functions(struct pml_module *m) {
  int err = 0;
  LLVMValueRef last = LLVMGetLastFunction(m->module); /* functions that add are appended behind it */
  for (LLVMValueRef f = LLVMGetFirstFunction(m->module), next; f != NULL && !err; f = next) {
    next = f != last ? LLVMGetNextFunction(f) : NULL;
    if (LLVMIsDeclaration(f)) continue;
    bool told = m->mark != NULL && !m->marking;
    const char *why = to_be_left(m, f);
    if (why != NULL && !told) skip(m, f, why);
    if (why == NULL)
      err = pml_instrument_function(m, f);
    else if (told)
      pml_marks_erase(m, f);
  }
  return err;
}

/* Marks all operations, and lets the compiler inline as usual. */
static int mark_and_inline(struct pml_module *m) {
  pml_marks_open(m);
  m->marking = true;
  int err = instrument_functions(m);
  m->marking = false;
  if (!err) err = run_passes(m, "cgscc(inline),function(sroa,loop-simplify)");
  pml_functions_close(m);
  return err ? err : pml_functions_open(m);
}

static int count_module(struct pml_module *m) {
  int err = pml_functions_open(m);
  if (err) return err;
  pml_functions_forget_memory(m);
  if (!m->o->final && m->o->optimised && !m->o->lines) err = mark_and_inline(m);
  if (err) return err;
  declare_runtime(m);
  if (m->o->lines) declare_touch(m);
  err = instrument_functions(m);
  if (!err) err = pml_adders_settle(m);
  if (!err) pml_instrument_table(m);
  return err;
}

/*
 * The passes give each loop its own entry and exits, which changes no operation. Before optimisation, calls that are
 * always inlined are not counted as calls (processor intrinsics are such functions), and locals become registers.
 * Counters of loops are left to later optimisation, because without optimisation a register would be spilled in each
 * block anyway.
 */
static int instrument(struct pml_module *m) {
  int err = run_passes(m, m->o->final ? "function(loop-simplify)" : "always-inline,function(sroa,loop-simplify)");
  if (err) return err;
  m->data = LLVMGetModuleDataLayout(m->module);
  m->builder = LLVMCreateBuilderInContext(m->context);
  m->i64 = LLVMInt64TypeInContext(m->context);
  m->i64_pointer = LLVMPointerType(m->i64, 0);
  find_attributes(m);
  m->assembles = pml_assembles(LLVMGetTarget(m->module));
  err = count_module(m);
  LLVMDisposeBuilder(m->builder);
  pml_functions_close(m);
  pml_marks_close(m);
  pml_adders_close(m);
  if (err == -ENOMEM) snprintf(m->o->error, sizeof m->o->error, "no memory to count in");
  return err || !m->o->final ? err : run_passes(m, "function(mem2reg)");
}

int pml_instrument_module(struct pml_instrument *o, LLVMModuleRef module) {
  struct pml_module m = {.o = o, .module = module, .context = LLVMGetModuleContext(module)};
  o->error[0] = '\0';
  return instrument(&m);
}

int pml_instrument_file(struct pml_instrument *o, const char *in, const char *out) {
  struct pml_module m = {.o = o, .context = LLVMContextCreate()};
  o->error[0] = '\0';
  LLVMContextSetDiagnosticHandler(m.context, take_diagnostic, o);
  int err = read_module(&m, in);
  if (!err) err = pml_instrument_module(o, m.module);
  if (!err && LLVMWriteBitcodeToFile(m.module, out) != 0) {
    snprintf(o->error, sizeof o->error, "%.150s cannot be written: %.100s", out, strerror(errno));
    err = -EIO;
  }
  if (m.module != NULL) LLVMDisposeModule(m.module);
  LLVMContextDispose(m.context);
  return err;
}
