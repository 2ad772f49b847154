#include "core/math/dnnl_isa.h"

#include <utility>

#include "core/base/library_version.h"
#include "core/math/dnnl.h"
#include "core/math/dnnl_version.h"

namespace doppio {
namespace {

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
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  if (const char* name = NameOfNewIsa(isa)) return name;
  // The values are sets of feature bits. An unknown newer instruction set contains the bits of
  // those that it extends.
  const auto found = static_cast<unsigned>(isa);
  for (const auto& [isa, name] : kNames) {
    const auto bits = static_cast<unsigned>(isa);
    if ((found & bits) == bits) return name;
  }
  return "x86-64";
}

}  // namespace doppio
