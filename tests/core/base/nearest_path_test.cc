#include "core/base/text/nearest_path.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/file.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

class NearestPathTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "examples/mnist");
    for (const char* name : {"lenet_solver.prototxt", "lenet_test.prototxt",
                             "lenet_iter_5000.caffemodel.h5", "examples/mnist/net.prototxt"}) {
      WriteFileAtomically(folder_ + name, "");
    }
  }
  std::string Nearest(const std::string& name) {
    const std::string found = NearestPath(folder_ + name);
    return found.empty() ? "" : found.substr(folder_.size());
  }

  const std::string folder_ =
      std::filesystem::path(testing::TempDir() + "/nearest_path_test/").lexically_normal().string();
};

TEST_F(NearestPathTest, FindsAMisspelledName) {
  EXPECT_EQ(Nearest("lenet_slover.prototxt"), "lenet_solver.prototxt");
}

TEST_F(NearestPathTest, FindsAMissingOrAdditionalEnding) {
  EXPECT_EQ(Nearest("lenet_solver"), "lenet_solver.prototxt");
  EXPECT_EQ(Nearest("lenet_iter_5000.caffemodel"), "lenet_iter_5000.caffemodel.h5");
  EXPECT_EQ(Nearest("lenet_test.prototxt.txt"), "lenet_test.prototxt");
}

TEST_F(NearestPathTest, FindsAMisspelledEnding) {
  EXPECT_EQ(Nearest("lenet_solver.protoxt"), "lenet_solver.prototxt");
  EXPECT_EQ(Nearest("lenet_slover.protoxt"), "");
}

TEST_F(NearestPathTest, FindsAMisspelledFolder) {
  EXPECT_EQ(Nearest("examples/minst/net.prototxt"), "examples/mnist/net.prototxt");
  EXPECT_EQ(Nearest("examples/minst/solver.prototxt"), "");
}

TEST_F(NearestPathTest, CountsNoEditsInTheCommonEnding) {
  EXPECT_EQ(Nearest("train.prototxt"), "");
  EXPECT_EQ(Nearest("lenet_solver.caffemodel"), "");
  EXPECT_EQ(NearestPath(""), "");
}

TEST_F(NearestPathTest, IsInTheMessageOfCheckExists) {
  CheckExists(folder_ + "lenet_solver.prototxt");
  const std::string path = folder_ + "lenet_slover.prototxt";
  EXPECT_EQ(Mistake<FileError>([&] { CheckExists(path); }),
            "cannot read '" + path + "': No such file or directory; did you mean '" + folder_ +
                "lenet_solver.prototxt'?");
}

}  // namespace
}  // namespace doppio
