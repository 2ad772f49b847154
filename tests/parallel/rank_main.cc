// main() of tests whose cases join MPI themselves: rank 0 reports, all ranks may fail.
#include <gtest/gtest.h>

#include "parallel/world/launcher.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (doppio::FindLaunch().rank != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  return RUN_ALL_TESTS();
}
