// Tests what `train --trace` says about its timeline.
#include <gtest/gtest.h>

#include "tools/timing/trace.h"

namespace doppio {
namespace {

TraceSummary Traced() {
  TraceSummary summary;
  summary.file = "t.json";
  summary.first = 10;
  summary.iterations = 11;
  return summary;
}

TEST(TraceSummary, SaysThatNothingWasTraced) {
  EXPECT_EQ(TraceSummary().Text(),
            "timeline: nothing was traced, because none of the iterations to trace was run");
  EXPECT_EQ(TraceSummary().Json(), nlohmann::json({{"file", ""}, {"iterations", 0}}));
}

TEST(TraceSummary, OfOneRankHasNoExchanges) {
  EXPECT_EQ(Traced().Text(), "timeline: t.json (11 iterations)");
  EXPECT_EQ(Traced().Json(),
            nlohmann::json(
                {{"file", "t.json"}, {"iterations", 11}, {"first", 10}, {"spans_left_out", 0}}));
}

TEST(TraceSummary, ShowsTheHiddenShareOfTheExchanges) {
  TraceSummary summary = Traced();
  summary.exchanges = true;
  summary.exchange_ms = 12.5;
  summary.exposed_ms = 1.25;
  summary.clock_error_ns = 2500;
  summary.dropped = 2;
  EXPECT_EQ(summary.Text(),
            "timeline: t.json (11 iterations; exchange 12.50 ms per iteration, exposed 1.25 ms, "
            "hidden 90 %; 2 spans did not fit; trace fewer iterations)");
  EXPECT_EQ(summary.Json()["hidden_ms"], 11.25);
  EXPECT_EQ(summary.Json()["clock_error_us"], 2.5);
}

TEST(TraceSummary, OfAFailedWriteIsTheFailure) {
  TraceSummary summary = Traced();
  summary.failure = "no space";
  EXPECT_EQ(summary.Text(), "timeline: no space");
  EXPECT_EQ(summary.Json(),
            nlohmann::json({{"file", "t.json"}, {"iterations", 0}, {"failure", "no space"}}));
}

}  // namespace
}  // namespace doppio
