#include "solvers/scores/outputs.h"

#include <gtest/gtest.h>

#include "tests/testing/log_lines.h"

namespace doppio {
namespace {

std::vector<OutputValue> Values(const std::string& blob, int count, bool score) {
  std::vector<OutputValue> values;
  for (int i = 0; i < count; ++i) {
    values.push_back({blob, 0, static_cast<double>(i)});
    values.back().score = score;
  }
  return values;
}

TEST(LogOutputs, ShowsTenValuesOfABlobThatIsNoScore) {
  std::vector<OutputValue> outputs = Values("classes", 21, true);
  for (const OutputValue& value : Values("priors", 500, false)) outputs.push_back(value);
  outputs.push_back({"loss", 1, 0.5});
  LogLines log;
  LogOutputs("Train", outputs);
  EXPECT_EQ(log.Count("classes = "), 21);
  EXPECT_EQ(log.Count("priors = "), 10);
  EXPECT_EQ(log.Count("(490 more values, not shown; a Silence layer on 'priors' removes them from "
                      "the log)"),
            1);
  EXPECT_EQ(log.Count("    Train net output #521: loss = 0.5 (* 1 = 0.5 loss)"), 1);
}

TEST(LogOutputs, ShowsAThousandValuesAtMost) {
  LogLines log;
  LogOutputs("Test", Values("classes", 1500, true));
  EXPECT_EQ(log.Count("classes = "), 1000);
  EXPECT_EQ(log.Count("(500 more values, not shown; "), 1);
}

}  // namespace
}  // namespace doppio
