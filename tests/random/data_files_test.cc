// Tests the data files of random cases. source_rows_test.cc reads each kind of file with the layers
// of the product.
#include "tests/random/data_files.h"

#include <filesystem>
#include <map>
#include <thread>

#include "core/base/file.h"
#include "tests/data/data_net.h"
#include "tests/random/data_kind.h"

namespace doppio {
namespace {

// Returns the contents of all files below `folder`, by their paths in it.
std::map<std::string, std::string> FilesIn(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().string();
    std::string content = ReadFile(path);
    // Lists of HDF5 files name their folder.
    for (size_t at = content.find(folder); at != std::string::npos; at = content.find(folder))
      content.erase(at, folder.size());
    files[path.substr(folder.size())] = content;
  }
  return files;
}

// Returns a net that names a file of each kind in `folder`, and a file of an unknown kind.
NetParameter AllKinds(const std::string& folder) {
  NetParameter net;
  const auto add = [&](const std::string& name) {
    net.add_layer()->mutable_data_param()->set_source(folder + "/" + name);
  };
  for (const std::string& name : DataKinds::Get().Names()) {
    const bool cifar = name.compare(0, 5, "cifar") == 0;
    const ImageShape shape = cifar ? ImageShape{3, 32, 32} : ImageShape{3, 5, 4};
    if (name == "numbers") {
      add("numbers_3+2_7_a:uniform:-1:1:2x3;b:whole:0:4:;c:marks:0:1:2;d:boxes:0:1:2x4;"
          "e:regions2:0:9:5.txt");
      continue;
    }
    for (const std::string& ending : DataKinds::Get().Find(name)->endings)
      add(DataNameText(name, 5, shape, 4, 1, 3) + ending);
  }
  add("unknown_5x3x5x4_4_3");
  add("lmdb");
  return net;
}

TEST(DataFiles, HaveTheSameBytesIfTheyHaveTheSameName) {
  const std::string a = ScratchPath("a"), b = ScratchPath("b");
  MakeDataFiles(AllKinds(a), a);
  MakeDataFiles(AllKinds(b), b);
  const std::map<std::string, std::string> files = FilesIn(a);
  EXPECT_GT(files.size(), DataKinds::Get().Names().size());
  EXPECT_EQ(files, FilesIn(b));
}

TEST(DataFiles, DependOnTheSeed) {
  std::map<std::string, std::string> files[2];
  for (int seed = 0; seed < 2; ++seed) {
    const std::string folder = ScratchPath(std::to_string(seed));
    NetParameter net;
    net.add_layer()->mutable_data_param()->set_source(folder + "/cifar_2x3x32x32_4_" +
                                                      std::to_string(seed) + ".bin");
    MakeDataFiles(net, folder);
    files[seed] = FilesIn(folder);
    ASSERT_EQ(files[seed].size(), 1u);
  }
  EXPECT_NE(files[0].begin()->second, files[1].begin()->second);
}

TEST(DataFiles, CanBeWrittenBySeveralThreadsAtOnce) {
  const std::string folder = ScratchPath("data"), alone = ScratchPath("alone");
  MakeDataFiles(AllKinds(alone), alone);
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&folder] { MakeDataFiles(AllKinds(folder), folder); });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(FilesIn(folder), FilesIn(alone));
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
}

TEST(DataFiles, ExplainAKindOfNumbersThatIsUnknown) {
  const std::string folder = ScratchPath("data");
  NetParameter net;
  net.add_layer()->mutable_hdf5_data_param()->set_source(folder + "/numbers_3_1_a:odd:0:1:.txt");
  EXPECT_EQ(MessageOf([&] { MakeDataFiles(net, folder); }),
            "4: no kind of numbers is called 'odd'");
}

TEST(DataFiles, HaveNumbersOfEachKind) {
  constexpr size_t kRows = 9;
  const std::string folder = ScratchPath("data");
  const std::string layer =
      "type: 'HDF5Data' top: 'a' top: 'c' top: 'd' top: 'e' hdf5_data_param { batch_size: 9 "
      "source: '" +
      folder + "/numbers_9_7_a:uniform:2:3:2;c:marks:0:1:;d:boxes:0:1:4;e:regions2:0:9:5.txt' }";
  MakeDataFiles(Parse<NetParameter>("layer { " + layer + " }"), folder);
  DataNet net(layer);
  net->Forward();
  EXPECT_EQ(net.ShapeOf("a"), (Shape{kRows, 2}));
  EXPECT_EQ(net.ShapeOf("c"), Shape{kRows});
  for (const double value : net.Values("a")) EXPECT_TRUE(value >= 2 && value < 3) << value;
  EXPECT_EQ(net.Values("c")[0], 0);
  const std::vector<double> boxes = net.Values("d"), regions = net.Values("e");
  for (size_t i = 0; i < kRows; ++i) {
    EXPECT_TRUE(boxes[4 * i] < boxes[4 * i + 2] && boxes[4 * i + 1] < boxes[4 * i + 3]);
    EXPECT_TRUE(regions[5 * i] == 0 || regions[5 * i] == 1);
    EXPECT_LE(regions[5 * i + 1], regions[5 * i + 3]);
    EXPECT_LE(regions[5 * i + 2], regions[5 * i + 4]);
  }
}

}  // namespace
}  // namespace doppio
