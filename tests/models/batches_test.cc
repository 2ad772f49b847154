// Small nets can be trained beside their test nets whatever the batch and the number of threads.
// batch_grid_test.cc has all nets and more points.
#include <gtest/gtest.h>

#include "tests/models/batch_grid.h"

namespace doppio {
namespace {

TEST(Batches, TrainBesideATestNetWithAnyNumberOfThreads) {
  for (const char* name : {"lenet", "cifar10_quick", "siamese"}) {
    GridNet net("models/" + std::string(name) + "/train_val.prototxt");
    int64_t points = 0;
    for (int threads : {1, 2, 3, 5, 7, 8, 16}) {
      for (int64_t batch : {1, 2, 8, 10, 12, 32, 64, 100}) {
        for (int64_t test_batch : {8, 100}) {
          const GridPoint point{threads, batch, test_batch};
          EXPECT_EQ(net.Refusal(point), "") << name << ", " << ToText(point);
          ++points;
        }
      }
    }
    EXPECT_EQ(net.planned(), points) << name;
  }
}

}  // namespace
}  // namespace doppio
