#include "core/base/version.h"

#include <build_facts.h>
#include "core/base/text/str_cat.h"
#include "core/base/version_text.h"

namespace doppio {
namespace {

constexpr size_t kShort = 7;
constexpr const char* kChanges = "+changes";

std::string Compiler() {
#if defined(__clang__)
  return StrCat("Clang ", __clang_major__, ".", __clang_minor__, ".", __clang_patchlevel__);
#else
  return StrCat("GCC ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
#endif
}

// Relies on the macros that the compiler defines according to -march.
std::string Instructions() {
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__AVX__)
  return "AVX";
#elif defined(__SSE4_2__)
  return "SSE4.2";
#else
  return "SSE2";
#endif
}

// The compiler defines __k8__ for generic targets such as -march=x86-64-v3, but not for a specific
// processor, which -march=native selects.
#if defined(__k8__)
constexpr bool kAnyProcessor = true;
#else
constexpr bool kAnyProcessor = false;
#endif

}  // namespace

std::string Version() { return DOPPIO_VERSION; }

std::string Commit() { return DOPPIO_COMMIT; }

std::string BuildIdentity() {
  const std::string commit = Commit();
  if (commit.empty()) return Version();
  const bool changed = commit.find(kChanges) != std::string::npos;
  return Version() + " (" + commit.substr(0, kShort) + (changed ? kChanges : "") + ")";
}

BuildFacts HowBuilt() {
  BuildFacts facts;
  facts.compiler = Compiler();
  facts.instructions = Instructions();
  if (DOPPIO_LIBRARIES_INSIDE) {
    facts.kind = "portable";
    facts.kind_meaning = "includes its libraries, for other Linux machines";
  } else if (kAnyProcessor) {
    facts.kind = "generic";
    facts.kind_meaning = "uses this system's libraries, for any CPU that has these instructions";
  } else {
    facts.kind = "native";
    facts.kind_meaning = "uses this system's libraries, for the CPU that compiled it";
  }
  return facts;
}

}  // namespace doppio
