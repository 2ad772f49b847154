#include "core/base/shared_library.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

void ExpectParts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks " << part;
  }
}

TEST(SharedLibrary, SaysWhatIsMissingAndWhatToDo) {
  ExpectParts(Mistake<DeviceError>([] { SharedLibrary("cuNothing", "libcunothing.so.7"); }),
              {"cuNothing cannot be opened", "libcunothing.so.7", "LD_LIBRARY_PATH",
               "DOPPIO_CUDA_LIBRARIES"});
}

TEST(SharedLibrary, GivesTheAdviceOfItsCaller) {
  const std::string message = Mistake<DeviceError>(
      [] { SharedLibrary("cuNothing", "libcunothing.so.7", "it comes with the driver"); });
  ExpectParts(message, {"cuNothing cannot be opened", "; it comes with the driver"});
  EXPECT_EQ(message.find("toolkit"), std::string::npos);
}

TEST(SharedLibrary, FindsFunctionsAndNamesThoseItLacks) {
  const SharedLibrary c("the C library", "libc.so.6");
  EXPECT_EQ(c.path(), "libc.so.6");
  int (*absolute)(int) = nullptr;
  c.SetRequired(&absolute, "abs");
  EXPECT_EQ(absolute(-3), 3);
  int (*nothing)(int) = absolute;
  c.SetOptional(&nothing, "cuNothingCreate");
  EXPECT_EQ(nothing, nullptr);
  ExpectParts(Mistake<DeviceError>([&] { c.Find("cuNothingCreate"); }),
              {"the C library", "libc.so.6", "has no function cuNothingCreate", "version"});
}

}  // namespace
}  // namespace doppio
