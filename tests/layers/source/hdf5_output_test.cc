#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/file.h"
#include "core/net/store/hdf5_blobs.h"
#include "tests/layers/source/memory_net.h"
#include "tests/testing/mistake.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string OutPath(const std::string& name = "out.h5") {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return testing::TempDir() + "/" + test->name() + "." + name;
}

std::string Text(const std::string& path, int batch = 2, const std::string& name = "o") {
  return "layer { name: 'd' type: 'MemoryData' top: 'x' top: 'y' memory_data_param { batch_size: " +
         std::to_string(batch) +
         " channels: 2 height: 1 width: 1 } }"
         "layer { name: '" +
         name + "' type: 'HDF5Output' bottom: 'x' bottom: 'y'\nhdf5_output_param { file_name: '" +
         path + "' } }";
}

// Runs `passes` passes over the samples (0, 1), (2, 3), ... with labels 10, 11, ...
void RunPasses(MemoryNet* net, int passes) {
  static const std::vector<float> images = {0, 1, 2, 3, 4, 5, 6, 7}, labels = {10, 11, 12, 13};
  FindMemorySource(net->net(), "d").SetSamples(images.data(), labels.data(), 4);
  for (int pass = 0; pass < passes; ++pass) (*net)->Forward();
}

PlainBlob Read(const std::string& path, const std::string& name) {
  return Hdf5BlobReader(path, "HDF5 file").Blob(name);
}

TEST(HDF5Output, WritesItsBottomsWithFourAxes) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    {
      MemoryNet net(Text(OutPath()), 0, 1, dtype);
      RunPasses(&net, 1);
    }
    EXPECT_EQ(Read(OutPath(), "data").shape, (Shape{2, 2, 1, 1}));
    EXPECT_THAT(Read(OutPath(), "data").data, ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(Read(OutPath(), "label").shape, (Shape{2, 1, 1, 1}));
    EXPECT_THAT(Read(OutPath(), "label").data, ElementsAre(10, 11));
  }
}

TEST(HDF5Output, AddsTheRowsOfEachPassAndStartsOverWithANewNet) {
  for (int run = 0; run < 2; ++run) {
    MemoryNet net(Text(OutPath()));
    RunPasses(&net, 3);
  }
  EXPECT_EQ(Read(OutPath(), "data").shape, (Shape{6, 2, 1, 1}));
  EXPECT_THAT(Read(OutPath(), "data").data, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3));
  EXPECT_THAT(Read(OutPath(), "label").data, ElementsAre(10, 11, 12, 13, 10, 11));
}

// A test with a smaller last batch runs a second net for it, which writes to the same file.
TEST(HDF5Output, IsSharedByNetsOfOneLayer) {
  {
    MemoryNet net(Text(OutPath())), last(Text(OutPath(), 1));
    RunPasses(&net, 1);
    RunPasses(&last, 1);
  }
  EXPECT_THAT(Read(OutPath(), "label").data, ElementsAre(10, 11, 10));
}

TEST(HDF5Output, HasItsNameOnlyWhenItIsWholeAndLeavesNothingBehind) {
  const std::string path = OutPath();
  { MemoryNet unused(Text(path)); }
  EXPECT_FALSE(FileExists(path));
  {
    MemoryNet net(Text(path));
    RunPasses(&net, 1);
    EXPECT_FALSE(FileExists(path));
  }
  EXPECT_THAT(Glob(path + "*"), ElementsAre(path));
}

TEST(HDF5Output, HasOneFileForEachRank) {
  {
    MemoryNet first(Text(OutPath()), 0, 2), second(Text(OutPath()), 1, 2);
    RunPasses(&first, 1);
    RunPasses(&second, 1);
  }
  EXPECT_THAT(Read(OutPath(), "label").data, ElementsAre(10, 11));
  EXPECT_THAT(Read(OutPath("out.rank1.h5"), "label").data, ElementsAre(12, 13));
}

TEST_ON_GPU(HDF5Output, TakesBlobsFromAGpu) {
  {
    MemoryNet net(Text(OutPath()), 0, 1, DType::kFloat32, TestGpu());
    RunPasses(&net, 2);
  }
  EXPECT_THAT(Read(OutPath(), "data").data, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(HDF5Output, SaysWhatIsWrong) {
  MemoryNet net(Text(OutPath()));
  RunPasses(&net, 1);
  EXPECT_THAT(Mistake([] {
                MemoryNet other(Text(OutPath(), 2, "p"));
                RunPasses(&other, 1);
              }),
              HasSubstr("is written by layer 'o' of a TEST net already"));
  EXPECT_THAT(Mistake([] { MemoryNet(Text("nowhere/out.h5")); }),
              HasSubstr("net.prototxt:2:21: layer 'o': there is no folder 'nowhere/'"));
  EXPECT_THAT(Mistake([] { MemoryNet(Text("")); }),
              HasSubstr("layer 'o': needs a file_name, the HDF5 file to write"));
  const std::string input =
      "layer { name: 'i' type: 'Input' top: 'x' top: 'y' input_param { shape { dim: 2 dim: 3 } "
      "shape { dim: 6 } } }\n";
  EXPECT_THAT(Mistake([&] {
                MemoryNet(input +
                          "layer { name: 'o' type: 'HDF5Output' bottom: 'x' bottom: 'y' "
                          "hdf5_output_param { file_name: 'a' } }");
              }),
              HasSubstr("the first bottom has 2 rows, the second 6"));
  EXPECT_THAT(Mistake([&] {
                MemoryNet(input +
                          "layer { name: 'o' type: 'HDF5Output' bottom: 'x' "
                          "hdf5_output_param { file_name: 'a' } }");
              }),
              HasSubstr("HDF5Output takes 2 bottom(s), got 1"));
}

}  // namespace
}  // namespace doppio
