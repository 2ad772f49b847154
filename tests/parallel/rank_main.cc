// main() of tests whose cases join MPI themselves. Rank 0 reports; a failure on any rank fails.
#include <gtest/gtest.h>

#include "parallel/world/launcher.h"
#include "tests/testing/count_checks.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  doppio::FailCasesThatCheckNothing();
  if (doppio::FindLaunch().rank != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  return RUN_ALL_TESTS();
}
