/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/instrument/instrument_plugin.cpp - the instrumenter as a plugin of clang and flang (-fpass-plugin=).
 *
 * The compiler passes its module in memory: no bitcode is written, and no second compiler is started to read it. Counts
 * are added before the first pass or after the last. Uncounted code is reported as by `pmlua cc`.
 * PMLUA_INSTRUMENT contains words separated by commas: final, lines, quiet; and as the last,
 * name=, the source's name, for compilers that do not provide it.
 *
 * Try:  clang-14 -O2 -fpass-plugin=build/preload/libpmlua-instrument-14.so a.c -Lbuild -lpmlua_count
 */
#include <cstdio>
#include <cstdlib>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <string>

extern "C" {
#include "instrument/instrument.h"
}

/* The compiler's, of the targets that counts are written for; a compiler that lacks one does not make code for it. */
extern "C" void LLVMInitializeX86AsmParser() __attribute__((weak));
extern "C" void LLVMInitializeAArch64AsmParser() __attribute__((weak));

namespace {

/* Counts are read and closed by inline assembly. flang-new 16 makes objects without a parser of it, and stops there. */
void prepare_assembly() {
  if (LLVMInitializeX86AsmParser != nullptr) LLVMInitializeX86AsmParser();
  if (LLVMInitializeAArch64AsmParser != nullptr) LLVMInitializeAArch64AsmParser();
}

/* The words up to the name; @name is what follows. */
std::string words_told(std::string *name) {
  const char *told = secure_getenv("PMLUA_INSTRUMENT");
  std::string words = told != nullptr ? told : "";
  size_t end = words.find(",name=");
  if (name != nullptr && end != std::string::npos) *name = words.substr(end + 6);
  return ',' + words.substr(0, end) + ',';
}

bool is_asked(const std::string &word) {
  return words_told(nullptr).find(',' + word + ',') != std::string::npos;
}

std::string name_of(const llvm::Module &module) {
  std::string name = module.getSourceFileName();
  words_told(&name);
  return name;
}

void tell(void *, const char *where, const char *function, unsigned places, const char *what) {
  if (is_asked("quiet")) return;
  std::string more = places > 1 ? ", in " + std::to_string(places) + " places" : "";
  std::fprintf(stderr, "pmlua cc: %s: in %s: %s, not counted%s\n", where, function, what, more.c_str());
}

class CountPass : public llvm::PassInfoMixin<CountPass> {
  bool optimised;

public:
  explicit CountPass(bool o) : optimised(o) {}

  static bool isRequired() {
    return true;
  }

  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &) {
    std::string name = name_of(module), target = module.getTargetTriple();
    if (target.rfind("nvptx", 0) == 0 || target.rfind("amdgcn", 0) == 0) { /* the runtime is the host's */
      tell(nullptr, name.c_str(), "all functions", 1, ("code for " + target).c_str());
      return llvm::PreservedAnalyses::all();
    }
    pml_instrument o = {};
    o.final = is_asked("final");
    o.lines = is_asked("lines");
    o.optimised = optimised;
    o.name = name.c_str();
    o.uncounted = tell;
    if (pml_instrument_module(&o, llvm::wrap(&module)) < 0) module.getContext().emitError(name + ": " + o.error);
    return llvm::PreservedAnalyses::none();
  }
};

void take_part(llvm::PassBuilder &builder) {
  prepare_assembly();
  auto add = [](llvm::ModulePassManager &passes, llvm::OptimizationLevel level) {
    passes.addPass(CountPass(level != llvm::OptimizationLevel::O0));
  };
  if (is_asked("final"))
    builder.registerOptimizerLastEPCallback(add);
  else
    builder.registerPipelineStartEPCallback(add);
}

} // namespace

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "pmlua-instrument", pml_instrument_llvm(), take_part};
}
