// Linked into the programs that test the double. Before each case, the settings are those that the
// program has started with, and the machine is new, whatever the case before has done.
#include <gtest/gtest.h>

#include "tests/double/machine/settings.h"
#include "tests/double/machine/streams.h"

namespace doppio::gpu_double {
namespace {

class FreshMachine : public testing::EmptyTestEventListener {
  void OnTestProgramStart(const testing::UnitTest&) override { settings_ = TheSettings(); }
  void OnTestEnd(const testing::TestInfo&) override {
    Use(settings_);
    ResetMachine();
  }

  Settings settings_;
};

const bool g_listens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new FreshMachine);  // takes ownership
  return true;
}();

}  // namespace
}  // namespace doppio::gpu_double
