// main() of every test program.
#include <gtest/gtest.h>

#include "tests/testing/count_checks.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  doppio::FailCasesThatCheckNothing();
  return RUN_ALL_TESTS();
}
