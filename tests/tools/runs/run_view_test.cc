// Tests the view of a run that the page receives.
#include "tools/runs/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tools/pages/web_page.h"

namespace doppio {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

RunRecord TwoPoints() {
  RunRecord run;
  run.started = 1000;
  run.heartbeat = 1060;
  run.status = "running";
  run.iter = 11;
  run.images_per_s = 50;
  run.max_iter = 100;
  for (int i = 0; i < 2; ++i) {
    TrainPoint point;
    point.t = 1010 + i;
    point.iter = 10 * i;
    point.epoch = 0.5 * i;
    point.loss = i == 0 ? 2.5 : kNan;
    point.lr = 0.01;
    point.images_per_s = kNan;
    point.outputs = {{"loss", 2.5}};
    run.train.push_back(point);
  }
  run.tests.push_back({1020, 10, 1, {{"accuracy", 0.75}}});
  run.events.push_back({1005, "resume", 10, "", 0, "", ""});
  return run;
}

TEST(ViewRun, HoldsCurvesByKindNameAndNet) {
  const json view = ViewRun(TwoPoints(), "a", 100);
  std::vector<std::string> curves;
  for (const json& curve : view["curves"]) {
    curves.push_back(curve["kind"].get<std::string>() + ' ' + curve["name"].get<std::string>() +
                     ' ' + curve["net"].dump() + ' ' + curve["x"].dump() + ' ' + curve["y"].dump());
  }
  // Images/s were not measured. A NaN loss becomes null.
  EXPECT_THAT(curves, testing::ElementsAre(
                          "train loss 0 [0.0,10.0] [2.5,null]", "train lr 0 [0.0,10.0] [0.01,0.01]",
                          "train data_wait 0 [0.0,10.0] [0.0,0.0]",
                          "output loss 0 [0.0,10.0] [2.5,2.5]", "test accuracy 1 [10.0] [0.75]"));
  EXPECT_EQ("[10]", view["nonfinite"].dump());
  EXPECT_EQ("[10]", view["resumed"].dump());
  EXPECT_EQ(60, view["seconds"]);
  EXPECT_EQ(11, view["iter"]);
  EXPECT_EQ(50, view["images_per_s"]);
  EXPECT_DOUBLE_EQ(0.05, view["epochs_per_iter"]);
  EXPECT_EQ(R"({"x":[0.0,10.0,10.0],"y":[10.0,11.0,20.0]})", view["clock"].dump());
}

TEST(ViewRun, FindsACurveAmongMany) {  // takes 10 s if it compares all names
  RunRecord run = TwoPoints();
  for (TrainPoint& point : run.train) {
    for (int i = 0; i < 30000; ++i) point.outputs.emplace_back("out" + std::to_string(i), 1);
  }
  EXPECT_EQ(30005u, ViewRun(run, "a", 100)["curves"].size());
}

TEST(SettingsOf, PutsTheCommandLineOverTheFiles) {
  RunRecord run;
  run.argv = {"doppio",
              "train",
              "--solver=s.prototxt",
              "-gpu",
              "0",
              "--set",
              "base_lr=0.05",
              "--set=net.layer[a].x=1=2",
              "--batch-mode",
              "total",
              "--deterministic",
              "--run_dir=runs/x",
              "--monitor=max:accuracy",
              "--keep_best",
              "--keep_last=2",
              "--json"};
  const auto settings = SettingsOf(run, {{"base_lr", "0.01"},
                                         {"lr_policy", "\"inv\""},
                                         {"momentum", "0.9"},
                                         {"net.layer[a].y", "3"}});
  const std::map<std::string, std::string> expected = {
      {"solver", "s.prototxt"}, {"gpu", "0"},
      {"base_lr", "0.05"},      {"net.layer[a].x", "1=2"},
      {"batch_mode", "total"},  {"deterministic", "true"},
      {"momentum", "0.9"},      {"lr_policy", "inv"}};
  EXPECT_EQ(expected, settings);
}

TEST(PointsFor, AreFewerForEachOfMany) {
  EXPECT_EQ(2000u, PointsFor(1));
  EXPECT_EQ(1000u, PointsFor(20));
  EXPECT_EQ(200u, PointsFor(5000));
}

TEST(MakePage, LetsNoDataEndItsScript) {
  const std::string page =
      MakePage("a < b & {{data}}", ReportScripts(),
               {{"title", "</script><script>alert(1)</script><!--"}, {"bytes", "\xff"}});
  EXPECT_THAT(page, HasSubstr("<title>a &lt; b &amp; {{data}}</title>"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--"));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, HasSubstr("class LineChart"));
}

}  // namespace
}  // namespace doppio
