// Tests reading mean images from files.
#include "data/augment/mean_file.h"

#include <unistd.h>

#include "core/base/file.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

TEST(MeanFile, IsWrittenAsCaffeReadsIt) {
  const std::string path = ScratchPath("mean.binaryproto");
  WriteMeanFile({{2, 1, 2}, {1, 2, 3, 5}}, path);
  BlobProto blob;
  ASSERT_TRUE(blob.ParseFromString(ReadFile(path)));
  EXPECT_EQ(blob.ShortDebugString(),
            "num: 1 channels: 2 height: 1 width: 2 data: 1 data: 2 data: 3 data: 5");
  const MeanImage back = ReadMeanFile(path);
  EXPECT_EQ(back.shape, (ImageShape{2, 1, 2}));
  EXPECT_EQ(back.values, (std::vector<float>{1, 2, 3, 5}));
  EXPECT_EQ(back.ChannelMeans(), (std::vector<double>{1.5, 4}));
}

TEST(MeanFile, IsReadWithAShapeAndDoubles) {
  const std::string path = ScratchPath("mean.binaryproto");
  WriteFile(
      path,
      Parse<BlobProto>("shape { dim: 1 dim: 1 dim: 2 } double_data: [0.5, 4]").SerializeAsString());
  EXPECT_EQ(ReadMeanFile(path).values, (std::vector<float>{0.5f, 4}));
}

TEST(MeanFile, IsRefusedWithWhatItIs) {
  const std::string path = ScratchPath("mean.binaryproto");
  WriteFile(path, "\x1f\x8b");
  EXPECT_EQ(MessageOf([&] { ReadMeanFile(path); }),
            "4: mean file '" + path +
                "' is not a Caffe mean (a binary BlobProto): it is a gzip file; unpack it (gunzip, "
                "or tar xf for an archive)");
}

TEST(MeanFile, IsRefusedAboveTwoGigabytes) {
  const std::string path = ScratchPath("mean");
  WriteFile(path, "x");
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 31), 0);  // sparse: takes no space on disk
  EXPECT_EQ(MessageOf([&] { ReadMeanFile(path); }),
            "4: '" + path + "' has 2147483648 bytes, more than the limit of 2147483647");
}

TEST(MeanFile, IsRefusedWhereItContradictsItself) {
  const std::string path = ScratchPath("mean.binaryproto");
  WriteFile(path, Parse<BlobProto>("shape { dim: 3 dim: 1 dim: 2 } data: 1").SerializeAsString());
  EXPECT_EQ(MessageOf([&] { ReadMeanFile(path); }),
            "4: mean file '" + path + "' holds 1 values, but its shape is 3x1x2");
  WriteFile(
      path,
      Parse<BlobProto>("num: 2 channels: 1 height: 1 width: 1 data: [1, 2]").SerializeAsString());
  EXPECT_EQ(MessageOf([&] { ReadMeanFile(path); }),
            "4: mean file '" + path + "' does not hold one image");
  // The product of the extents matches, even if they are truncated to 32 bits.
  for (const char* dims : {"dim: -2 dim: -1 dim: 1", "dim: 4294967297 dim: 1 dim: 2"}) {
    const std::string shape = std::string("shape { ") + dims + " } data: [1, 2]";
    WriteFile(path, Parse<BlobProto>(shape).SerializeAsString());
    EXPECT_EQ(MessageOf([&] { ReadMeanFile(path); }),
              "4: mean file '" + path + "' does not hold one image");
  }
}

}  // namespace
}  // namespace doppio
