// Tests the layer HDF5Data in a net.
#include <hdf5.h>

#include "tests/data/data_net.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Writes a file with the data sets `d` and `l` of these shapes, with the values 1, 2 and so on.
// Returns its path.
std::string WriteSets(const std::string& name, const std::vector<hsize_t>& d,
                      const std::vector<hsize_t>& l) {
  const hid_t file = H5Fcreate(ScratchPath(name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const auto& [set, shape] : {std::pair("d", d), std::pair("l", l)}) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t data =
        H5Dcreate2(file, set, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(data);
    H5Sclose(space);
  }
  H5Fclose(file);
  return ScratchPath(name);
}

std::string FourRows() {
  WriteFile(ScratchPath("list.txt"), WriteSets("a.h5", {4, 2}, {4}));
  return "type: 'HDF5Data' top: 'd' top: 'l' hdf5_data_param { source: '" +
         ScratchPath("list.txt") + "' batch_size: 3 } ";
}

TEST(Hdf5DataLayer, DeliversTheDataSetsNamedLikeItsTops) {
  DataNet net(FourRows(), DataMode::kOpen, TRAIN, DType::kFloat64);
  EXPECT_EQ(net.ShapeOf("d"), (Shape{3, 2}));
  EXPECT_EQ(net.ShapeOf("l"), Shape{3});
  EXPECT_EQ(net.source()->source_size(), 4);
  net->Forward();
  EXPECT_THAT(net.Values("d"), ElementsAre(1, 2, 3, 4, 5, 6));
  net->Forward();
  EXPECT_THAT(net.Values("l"), ElementsAre(4, 1, 2));
  EXPECT_EQ(net.source()->position(), 6);
}

TEST_ON_DEVICES(Hdf5DataLayer, DeliversVolumesOfSeveralSizesOneByOne) {
  WriteFile(ScratchPath("volumes.txt"), WriteSets("a.h5", {1, 1, 2, 1, 3}, {1}) + "\n" +
                                            WriteSets("b.h5", {2, 1, 1, 2, 2}, {2}));
  DataNet net("type: 'HDF5Data' top: 'd' top: 'l' hdf5_data_param { source: '" +
                  ScratchPath("volumes.txt") + "' batch_size: 1 }",
              DataMode::kOpen, TRAIN, DType::kFloat32, TestDevice());
  for (int epoch = 0; epoch < 2; ++epoch) {
    net->Forward();
    EXPECT_EQ(net.ShapeOf("d"), (Shape{1, 1, 2, 1, 3}));
    EXPECT_THAT(net.Values("d"), ElementsAre(1, 2, 3, 4, 5, 6));
    for (int row = 0; row < 2; ++row) {
      net->Forward();
      EXPECT_EQ(net.ShapeOf("d"), (Shape{1, 1, 1, 2, 2}));
      EXPECT_THAT(net.Values("d"), ElementsAre(4 * row + 1, 4 * row + 2, 4 * row + 3, 4 * row + 4));
      EXPECT_THAT(net.Values("l"), ElementsAre(row + 1));
      EXPECT_EQ(net.source()->position(), 3 * epoch + row + 2);
    }
  }
}

TEST(Hdf5DataLayer, DeliversTheSameWithAnyNumberOfThreads) { ExpectSameWithAnyThreads(FourRows()); }

TEST(Hdf5DataLayer, SaysWhatIsWrong) {
  EXPECT_THAT(LayerMistake(FourRows() + "transform_param { scale: 2 }"),
              HasSubstr("HDF5Data does not take transform_param; remove it"));
  EXPECT_THAT(LayerMistake("type: 'HDF5Data' top: 'd'"),
              HasSubstr("batch_size must be at least 1"));
  EXPECT_THAT(LayerMistake("type: 'HDF5Data' top: 'd' hdf5_data_param { batch_size: 1 }"),
              HasSubstr("needs a source"));
  EXPECT_THAT(
      LayerMistake("type: 'HDF5Data' top: 'd' hdf5_data_param { source: 'none' batch_size: 1 }"),
      HasSubstr("layer 'input': cannot read 'none'"));
}

TEST_ON_GPU(Hdf5DataLayer, NeedsNoHostWithoutItsSource) {
  DataNet cpu(FourRows(), DataMode::kSynthetic);
  DataNet gpu(FourRows(), DataMode::kSynthetic, TRAIN, DType::kFloat32, TestGpu());
  DataNet open(FourRows(), DataMode::kOpen, TRAIN, DType::kFloat32, TestGpu());
  EXPECT_EQ(gpu->plan().kernel_types[0]->engine, "cuda");
  EXPECT_EQ(open->plan().kernel_types[0]->engine, "host");
  cpu->Forward();
  gpu->Forward();
  EXPECT_EQ(gpu.Values("d"), cpu.Values("d"));
  EXPECT_EQ(gpu.Values("l"), cpu.Values("l"));
}

}  // namespace
}  // namespace doppio
