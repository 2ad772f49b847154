// Tests how a process with several GPUs sets up its environment.
#include "tools/nets/devices.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/error.h"
#include "tests/testing/scoped_variable.h"

namespace doppio {
namespace {

// Returns the resulting value of CUDA_MODULE_LOADING; "" if it is not set.
std::string LoadingFor(const std::string& gpu, const char* before = nullptr) {
  const ScopedVariable loading("CUDA_MODULE_LOADING", before);
  PrepareForSeveralGpus(gpu);
  const char* value = std::getenv("CUDA_MODULE_LOADING");
  return value == nullptr ? "" : value;
}

TEST(Devices, LoadAllKernelsWhereAProcessHasSeveralGpus) {
  if (FindDeviceBackend() == nullptr) GTEST_SKIP() << "no backend for GPUs is linked";
  for (const char* gpu : {"0,1", "0,0", "all", "free:2"}) EXPECT_EQ(LoadingFor(gpu), "EAGER");
  for (const char* gpu : {"", "0", "3", "free:1"}) EXPECT_EQ(LoadingFor(gpu), "");
}

TEST(Devices, KeepTheUsersWayOfLoadingKernels) { EXPECT_EQ(LoadingFor("0,1", "LAZY"), "LAZY"); }

TEST(Devices, RefuseAMistakeInTheListFirst) { EXPECT_THROW(LoadingFor("0,x"), UsageError); }

}  // namespace
}  // namespace doppio
