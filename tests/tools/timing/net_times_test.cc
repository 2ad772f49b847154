#include "tools/timing/net_times.h"

#include <gtest/gtest.h>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// The layers' backward takes 8 ms when they are timed one by one, and 4 ms in a whole iteration,
// which is 2 ms shorter than the sum of its parts.
nlohmann::json TwoLayers() {
  return nlohmann::json::parse(R"({
    "net": "two", "device": "CPU", "phase": "TRAIN", "batch": 10,
    "forward_ms": 3, "backward_ms": 6, "update_ms": 3, "iteration_ms": 8,
    "layers": [{"name": "data", "backward_ms": 0, "gradients": []},
               {"name": "conv", "backward_ms": 6, "gradients": [500, 20]},
               {"name": "ip", "backward_ms": 2, "gradients": [9000, 10]}]})");
}

std::string TimesMistake(const nlohmann::json& times) {
  return Mistake<FileError>([&] { ToRankTimes(times, "a.json"); });
}

TEST(NetTimes, BecomeOneRanksIterationFromItsLastLayerOn) {
  const RankTimes times = ToRankTimes(TwoLayers(), "a.json");
  EXPECT_EQ(times.batch, 10);
  EXPECT_DOUBLE_EQ(times.forward_ms, 2);
  EXPECT_DOUBLE_EQ(times.update_ms, 2);
  ASSERT_EQ(times.backward.size(), 3U);
  EXPECT_DOUBLE_EQ(times.backward[0].ms, 1);
  EXPECT_EQ(times.backward[0].gradients, (std::vector<int64_t>{9000, 10}));
  EXPECT_DOUBLE_EQ(times.backward[1].ms, 3);
  EXPECT_EQ(times.backward[1].gradients, (std::vector<int64_t>{500, 20}));
  EXPECT_DOUBLE_EQ(times.backward[2].ms, 0);
}

TEST(NetTimes, OfAnotherKindOfFileAreAMistake) {
  EXPECT_EQ(TimesMistake(nlohmann::json::array())
                .find("a.json: this is not what 'doppio time --json' writes"),
            0U);
  for (const char* key :
       {"net", "device", "phase", "batch", "forward_ms", "iteration_ms", "layers"}) {
    nlohmann::json times = TwoLayers();
    times.erase(key);
    EXPECT_NE(TimesMistake(times).find(key), std::string::npos) << key;
  }
}

TEST(NetTimes, ThatCannotBeAreAMistake) {
  nlohmann::json times = TwoLayers();
  times["phase"] = "TEST";
  EXPECT_NE(TimesMistake(times).find("its phase is not TRAIN"), std::string::npos);
  times = TwoLayers();
  times["batch"] = 0;
  EXPECT_NE(TimesMistake(times).find("it has no batch"), std::string::npos);
  times = TwoLayers();
  times["layers"][1]["backward_ms"] = -1;
  EXPECT_NE(TimesMistake(times).find("backward_ms is not a time"), std::string::npos);
  times = TwoLayers();
  times["backward_ms"] = 0;
  EXPECT_NE(TimesMistake(times).find("backward takes no time in it"), std::string::npos);
  times = TwoLayers();
  times["layers"][2]["gradients"] = {-5};
  EXPECT_NE(TimesMistake(times).find("gradients are not numbers of values"), std::string::npos);
}

}  // namespace
}  // namespace doppio
