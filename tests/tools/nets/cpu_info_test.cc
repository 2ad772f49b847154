#include "tools/nets/cpu_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two packages with one core each and two hardware threads per core, in the format of Linux.
constexpr const char* kServer =
    "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nphysical id\t: 0\ncore id\t\t: 0\n"
    "flags\t\t: fpu sse4_2 avx f16c fma avx2 avx512f avx512bw avx512_bf16 amx_bf16 amx_tile\n\n"
    "processor\t: 1\nmodel name\t: Some CPU @ 2.0GHz\nphysical id\t: 0\ncore id\t\t: 0\n"
    "flags\t\t: fpu\n\n"
    "processor\t: 2\nphysical id\t: 1\ncore id\t\t: 0\n\n"
    "processor\t: 3\nphysical id\t: 1\ncore id\t\t: 0\n\n";

TEST(CpuInfo, CountsCoresAndNamesFeaturesWeakestFirst) {
  std::istringstream file(kServer);
  const CpuInfo cpu = ParseCpuInfo(file);
  EXPECT_EQ("Some CPU @ 2.0GHz", cpu.model);
  EXPECT_EQ(2, cpu.cores);
  EXPECT_EQ(4, cpu.hardware_threads);
  EXPECT_THAT(cpu.features, ElementsAre("SSE4.2", "AVX", "F16C", "FMA", "AVX2", "AVX-512",
                                        "AVX-512 BW", "AVX-512 BF16", "AMX BF16"));
}

TEST(CpuInfo, TakesNoWordForAnother) {
  std::istringstream file("flags\t\t: avx512fx noavx2\n");
  EXPECT_THAT(ParseCpuInfo(file).features, IsEmpty());
}

TEST(CpuInfo, SaysSoWhereNothingIsKnown) {
  std::istringstream file("");
  const CpuInfo cpu = ParseCpuInfo(file);
  EXPECT_EQ("unknown CPU", cpu.model);
  EXPECT_EQ(0, cpu.cores);
}

}  // namespace
}  // namespace doppio
