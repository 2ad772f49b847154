#include "tests/testing/count_checks.h"

namespace doppio {
namespace {

class ChecksSomething : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { begin_ = g_checks; }
  void OnTestEnd(const testing::TestInfo& info) override {
    if (info.result()->Passed() && g_checks == begin_) {
      ADD_FAILURE() << "this case checks nothing: use EXPECT_..., or GTEST_SKIP() with a reason";
    }
  }

  int64_t begin_ = 0;
};

}  // namespace

void FailCasesThatCheckNothing() {
  testing::UnitTest::GetInstance()->listeners().Append(new ChecksSomething);  // takes ownership
}

}  // namespace doppio
