// Tests TensorBoard's records byte by byte. The expected bytes were made by hand from the
// description of the format, with the CRC-32C of RFC 3720.
#include "tools/runs/event_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/file.h"
#include "core/base/host_name.h"

namespace doppio {
namespace {

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (unsigned char c : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    hex += kDigits[c >> 4];
    hex += kDigits[c & 15];
  }
  return hex;
}

TEST(EventFile, BeginsWithItsVersion) {
  EXPECT_EQ(Hex(FirstRecord(0)),
            "1800000000000000a37f4b22"
            "090000000000000000"
            "1a0d627261696e2e4576656e743a32"
            "eedf28a3");
}

TEST(EventFile, HasARecordForAScalar) {
  EXPECT_EQ(Hex(ScalarRecord(0, 100, {{"train/loss", 0.5}})),
            "200000000000000029eda950"
            "090000000000000000"
            "1064"
            "2a130a110a0a747261696e2f6c6f7373150000003f"
            "cdecedcf");
}

TEST(EventFile, IsOneForEachProcessAndIsWrittenAtOnce) {
  std::string folder = testing::TempDir() + "/eventsXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  EventFile file(folder, 1763662373.5);
  file.Add(1763662374, 7, {{"a", 1}, {"b", 2}});
  std::string name;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    name = entry.path().filename().string();
  EXPECT_EQ(name, "events.out.tfevents.1763662373." + HostName() + "." + std::to_string(getpid()));
  const std::string content = ReadFile(folder + "/" + name);
  EXPECT_EQ(content, FirstRecord(1763662373.5) + ScalarRecord(1763662374, 7, {{"a", 1}, {"b", 2}}));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace doppio
