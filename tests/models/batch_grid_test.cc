// All nets of models/ and of the corpus in $DOPPIO_SHARED can be trained beside their test nets
// whatever the batch and the number of threads: small nets of models/ at all points of a full grid,
// the other nets at random points of a coarser one. $DOPPIO_TEST_GRID is the seed of the points.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <vector>

#include "tests/models/batch_grid.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kTime{40};  // for the random points, including the full grid
constexpr int kSmall = 12;                 // layers

// The nets in `folder` that learn and that can be planned.
std::vector<GridNet> NetsIn(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".prototxt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<GridNet> nets;
  for (const fs::path& path : paths) {
    try {
      GridNet net(path);
      net.Refusal({1, 2, 2});
      if (net.learns() && net.planned() > 0) nets.push_back(std::move(net));
    } catch (const Error&) {
      // A solver, a net without data, or a net of another Caffe.
    }
  }
  return nets;
}

class BatchGrid : public testing::Test {
 protected:
  void Check(GridNet* net, const GridPoint& point) {
    const std::string refusal = net->Refusal(point);
    EXPECT_EQ(refusal, "") << net->path() << ", " << ToText(point);
    refused_ += !refusal.empty();
    ++points_;
  }

  void Print(const std::string& grid, const std::vector<GridNet>& nets) {
    int64_t planned = 0;
    for (const GridNet& net : nets) planned += net.planned();
    std::cout << grid << ": " << nets.size() << " nets, " << points_ << " points, " << planned
              << " planned, " << refused_ << " refused, " << Seconds() << " s\n";
    points_ = refused_ = 0;
  }

  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int64_t points_ = 0, refused_ = 0;
};

TEST_F(BatchGrid, RefusesNoNet) {
  std::vector<GridNet> nets = NetsIn("models"), small;
  for (size_t i = nets.size(); i-- > 0;) {
    if (nets[i].layers() >= kSmall) continue;
    small.push_back(std::move(nets[i]));
    nets.erase(nets.begin() + static_cast<int64_t>(i));
  }
  EXPECT_GE(small.size(), 6u);
  EXPECT_GE(nets.size(), 20u);
  for (GridNet& net : small) {
    for (int threads = 1; threads <= 16; ++threads) {
      for (int64_t batch = 1; batch <= 128; ++batch) {
        for (int64_t test_batch : {0, 100}) Check(&net, {threads, batch, test_batch});
      }
    }
  }
  Print("all points", small);

  if (const char* shared = std::getenv("DOPPIO_SHARED")) {
    const std::string folder = testing::TempDir() + "corpus";
    fs::create_directories(folder);
    ASSERT_EQ(std::system(("tar -xzf '" + std::string(shared) + "/corpus/prototxt.tar.gz' -C '" +
                           folder + "'")
                              .c_str()),
              0);
    for (GridNet& net : NetsIn(folder)) nets.push_back(std::move(net));
  }
  const char* given = std::getenv("DOPPIO_TEST_GRID");
  const uint64_t seed = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  std::mt19937_64 random(seed);
  const auto any = [&](const auto& of) { return of[random() % of.size()]; };
  const std::vector<int> threads = {1, 2, 3, 5, 6, 7, 8, 16};
  const std::vector<int64_t> batches = {1, 2, 7, 8, 10, 12, 32, 64, 100, 128}, tests = {0, 100};
  while (Seconds() < std::chrono::duration<double>(kTime).count())
    Check(&nets[random() % nets.size()], {any(threads), any(batches), any(tests)});
  Print("random points of seed " + std::to_string(seed), nets);
}

}  // namespace
}  // namespace doppio
