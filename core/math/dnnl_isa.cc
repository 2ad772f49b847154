#include "core/math/dnnl_isa.h"

#include <utility>

#include "core/base/library_version.h"
#include "core/math/dnnl.h"
#include "core/math/dnnl_version.h"

namespace doppio {
namespace {

// Returns true if oneDNN may use the instructions of `set`. An instruction set is a set of feature
// bits, so a newer one contains the bits of those that it extends.
bool Uses(dnnl::cpu_isa set) {
  DnnlEngine();  // applies the limits on the instruction set
  const auto bits = static_cast<unsigned>(set);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

std::string DnnlVersion() {
  const dnnl_version_t* v = dnnl_version();
  return DottedVersion(v->major, v->minor, v->patch);
}

DOPPIO_REGISTER(Libraries, "oneDNN",
                {DottedVersion(DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH),
                 &DnnlVersion});

}  // namespace

std::string DnnlIsa() {
  using Isa = dnnl::cpu_isa;
  static const std::pair<Isa, const char*> kNames[] = {{Isa::avx512_core_amx, "AVX-512 AMX"},
                                                       {Isa::avx512_core_bf16, "AVX-512 BF16"},
                                                       {Isa::avx512_core_vnni, "AVX-512 VNNI"},
                                                       {Isa::avx512_core, "AVX-512"},
                                                       {Isa::avx2_vnni, "AVX2 VNNI"},
                                                       {Isa::avx2, "AVX2"},
                                                       {Isa::avx, "AVX"},
                                                       {Isa::sse41, "SSE4.1"}};
  DnnlEngine();  // applies the limits on the instruction set
  if (const char* name = NameOfNewIsa(dnnl::get_effective_cpu_isa())) return name;
  for (const auto& [isa, name] : kNames) {
    if (Uses(isa)) return name;
  }
  return "x86-64";
}

std::string WhyNoDnnlProducts(DType type) {
  if (type == DType::kFloat32) return "";
  if (type == DType::kFloat64) return "oneDNN trains in float32 only";
  if (type == DType::kBFloat16 ? Uses(dnnl::cpu_isa::avx512_core_bf16) : MultipliesHalf(&Uses))
    return "";
  return std::string("oneDNN has no products of ") + Name(type) + " on this CPU";
}

std::string WhyShortVectors(int lanes) {
  const int longest = Uses(dnnl::cpu_isa::avx512_core) ? 16 : Uses(dnnl::cpu_isa::avx) ? 8 : 4;
  if (lanes >= longest) return "";
  return StrCat("oneDNN's vectors have ", longest, " floats, and the program is compiled for ",
                lanes);
}

bool MultipliesInTiles(DType type) {
  return type == DType::kBFloat16 && Uses(dnnl::cpu_isa::avx512_core_amx);
}

}  // namespace doppio
