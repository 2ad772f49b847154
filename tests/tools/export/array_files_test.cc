// Tests files of arrays byte by byte where other programs read them.
// tests/scenarios/export/export_files_test.py reads whole files with NumPy.
#include "tools/export/array_files.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/base/file.h"

namespace doppio {
namespace {

constexpr float kValues[] = {1, 2, 3, 4, 5, 6};

std::vector<NamedArray> Arrays() {
  NamedArray matrix{"ip.weight", {2, 3}, kValues, {}}, scalar{"p.weight", {}, kValues + 5, {}};
  return {matrix, scalar};
}

std::string PathFor(const std::string& name) { return ::testing::TempDir() + "/" + name; }

TEST(Safetensors, IsALengthATableAndTheBytes) {
  const std::string path = PathFor("net.safetensors");
  WriteSafetensors(path, Arrays(), "net");
  const std::string content = ReadFile(path);
  const std::string table = R"({"__metadata__":{"format":"pt","net":"net"},)"
                            R"("ip.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                            R"("p.weight":{"dtype":"F32","shape":[],"data_offsets":[24,28]}})";
  uint64_t bytes = 0;
  std::memcpy(&bytes, content.data(), sizeof(bytes));
  EXPECT_EQ(bytes % 8, 0u);
  EXPECT_EQ(content.substr(8, table.size()), table);
  EXPECT_EQ(content.substr(8 + table.size(), bytes - table.size()),
            std::string(bytes - table.size(), ' '));
  EXPECT_EQ(content.size(), 8 + bytes + 28);
  EXPECT_EQ(std::memcmp(content.data() + 8 + bytes, kValues, 24), 0);
}

TEST(Npz, IsAnArchiveOfNpyFiles) {
  const std::string path = PathFor("net.npz");
  WriteNpz(path, Arrays());
  const std::string content = ReadFile(path);
  EXPECT_EQ(content.substr(0, 4), "PK\x03\x04");
  const size_t npy = content.find("\x93NUMPY");
  ASSERT_NE(npy, std::string::npos);
  EXPECT_EQ(content.substr(30, npy - 30), "ip.weight.npy");
  const std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3,), }";
  EXPECT_EQ(content.substr(npy + 10, head.size()), head);
  // The header before the data has 128 bytes, the smallest multiple of 64 that fits this text.
  EXPECT_EQ(content[npy + 127], '\n');
  EXPECT_EQ(std::memcmp(content.data() + npy + 128, kValues, 24), 0);
  EXPECT_EQ(content.substr(content.size() - 22, 4), "PK\x05\x06");
  EXPECT_EQ(content[content.size() - 12], 2);  // number of files
}

TEST(Npz, HasNoNamesThatLeadOutOfAFolder) {
  EXPECT_EQ(ArchiveName("block/conv.weight"), "block/conv.weight");
  EXPECT_EQ(ArchiveName("a..b/..c.weight"), "a..b/..c.weight");
  EXPECT_EQ(ArchiveName("../../evil.weight"), "..%2F..%2Fevil.weight");
  EXPECT_EQ(ArchiveName("a/../b.weight"), "a%2F..%2Fb.weight");
  EXPECT_EQ(ArchiveName("/conv1/Conv.weight"), "%2Fconv1%2FConv.weight");
  EXPECT_EQ(ArchiveName("%2Fconv1\\.weight"), "%252Fconv1%5C.weight");
  EXPECT_EQ(ArchiveName(std::string("a\0.weight", 9)), "a%00.weight");
}

TEST(Npz, RefusesANameThatAnArchiveCannotHold) {
  const NamedArray named{std::string(65532, 'x'), {}, kValues, {}};
  EXPECT_THROW(WriteNpz(PathFor("long.npz"), {named}), FileError);
}

TEST(Npz, HoldsLessThanFourGibibytes) {
  const NamedArray huge{"ip.weight", {1 << 30}, nullptr, {}};
  EXPECT_THROW(WriteNpz(PathFor("huge.npz"), {huge}), FileError);
}

}  // namespace
}  // namespace doppio
