#include "tools/init/plan_minutes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include "core/base/clock.h"
#include "core/base/threads.h"
#include "core/net/run/net.h"
#include "data/decode/decode.h"
#include "tools/nets/devices.h"

namespace doppio {
namespace {

constexpr double kMeasureSeconds = 0.3, kReadSeconds = 0.5;
constexpr double kMinute = 60;
constexpr int64_t kUsualMinutes = 10, kSmallSet = 500;

// Returns the time of the fastest of some calls, which other programs disturb least. The first call
// prepares the kernels.
template <class F>
double SecondsOfCall(const F& call) {
  constexpr int kLeastCalls = 4;
  const double begin = MonotonicSeconds();
  double fastest = 0, end = begin;
  for (int calls = 0; calls < kLeastCalls || end - begin < kMeasureSeconds; ++calls) {
    const double before = end;
    call();
    end = MonotonicSeconds();
    if (calls == 1 || (calls > 1 && end - before < fastest)) fastest = end - before;
  }
  return fastest;
}

// Returns the time in which one thread decodes an image, from up to 16 of the images.
double SecondsToDecode(const FoundPart& part, const InitPlan& plan) {
  constexpr int64_t kImages = 16;
  const int64_t step = std::max<int64_t>(1, part.source->size() / kImages);
  const double begin = MonotonicSeconds();
  int64_t decoded = 0;
  Record record;
  Image image;
  for (int64_t i = 0; i < part.source->size(); i += step) {
    try {
      part.source->Read(i, &record);
      if (record.encoded == nullptr) return 0;
      DecodeOptions options = record.decode;
      options.height = plan.resize_height;
      options.width = plan.resize_width;
      options.scaled = plan.scaled_decode;
      Decode(record.encoded, record.encoded_bytes, options, &image);
      ++decoded;
    } catch (const FileError&) {
      continue;  // a damaged image, which is left out of the list
    }
    if (MonotonicSeconds() - begin > kReadSeconds) break;
  }
  return decoded > 0 ? (MonotonicSeconds() - begin) / static_cast<double>(decoded) : 0;
}

double TrainingSeconds(const InitPlan& plan, const ImageFacts& facts, const ImageSeconds& each) {
  const int tests = (plan.epochs + plan.test_epochs - 1) / plan.test_epochs;
  return static_cast<double>(facts.train) * plan.epochs * (each.train + each.read) +
         static_cast<double>(facts.test) * tests * (each.test + each.read);
}

// Returns `wishes` and lighter ones, from the best to the fastest.
std::vector<InitWishes> Rungs(const ImageFacts& facts, const InitWishes& wishes) {
  std::vector<InitWishes> rungs = {wishes};
  const InitPlan usual = MakePlan(facts, wishes);
  const bool fixed = !wishes.net.empty() || wishes.size > 0 || wishes.start != nullptr;
  if (fixed || usual.net.name == "lenet") return rungs;
  const auto add = [&](const std::string& net, int size) {
    if (size >= usual.input.height) return;
    rungs.push_back(wishes);
    rungs.back().net = net;
    rungs.back().size = size;
  };
  constexpr int kLargeInput = 192;
  if (usual.input.height >= kLargeInput) add(usual.net.name, usual.input.height / 2);
  for (const int side : {64, 48, 32}) add("resnet20", side);
  return rungs;
}

// Returns the flags of `init` that lead to the plan.
std::string FlagsOf(const InitPlan& plan) {
  const bool sized = plan.crop || plan.resize_height > 0;
  return StrCat("--net=", plan.net.name, sized ? StrCat(" --size=", plan.input.height) : "",
                " --epochs=", plan.epochs);
}

}  // namespace

ImageSeconds MeasurePlan(const InitProject& project, const InitData& data, const InitPlan& plan) {
  // As many pixels as 8 photos have: a second or less even for large nets.
  constexpr int64_t kPixels = int64_t{8} * 224 * 224;
  const int64_t pixels = int64_t{plan.input.height} * plan.input.width;
  const int64_t batch =
      std::max<int64_t>(1, std::min<int64_t>(plan.batch, kPixels / std::max<int64_t>(1, pixels)));
  InitPlan plain = plan;
  plain.balance = Balance::kNone;  // it would read all labels of a database
  // Weights of 0 take the same time, and filling large nets takes seconds.
  const std::string text =
      std::regex_replace(MakeInitTexts(project, data.facts, {}, plain).train_val,
                         std::regex("weight_filler \\{[^}]*\\}"), "");
  const std::unique_ptr<Device> device = OpenDevice(DeviceOptions());
  ParamStore params(device.get(), DType::kFloat32, project.seed);
  PlanOptions options;
  options.device = device.get();
  options.backward = true;
  options.accumulate = false;
  Net net(GraphOf(project.folder + "/train_val.prototxt", text, TRAIN, DataMode::kSynthetic, batch),
          options, &params);
  const auto images = static_cast<double>(batch);
  ImageSeconds each;
  each.train = SecondsOfCall([&] {
                 net.Forward();
                 net.Backward(false);
               }) /
               images;
  each.test = SecondsOfCall([&] { net.Forward(); }) / images;
  each.read = SecondsToDecode(data.train, plan) / std::max(1, NumThreads());
  return each;
}

TimedPlan PlanWithin(double seconds, const ImageFacts& facts, const InitWishes& wishes,
                     const PlanMeasure& measure) {
  constexpr double kLeastShare = 0.6, kLeastShareOfLast = 0.3;
  const std::vector<InitWishes> rungs = Rungs(facts, wishes);
  TimedPlan fastest;
  std::string usual;  // what the first plan would take
  for (size_t i = 0; i < rungs.size(); ++i) {
    TimedPlan timed;
    timed.plan = MakePlan(facts, rungs[i]);
    const ImageSeconds each = measure(timed.plan);
    timed.seconds = TrainingSeconds(timed.plan, facts, each);
    if (i == 0) {
      usual = StrCat("; ", timed.plan.net.name, " for ", timed.plan.input.ToString(),
                     " would take ", AboutText(timed.seconds));
    }
    const double share = i + 1 == rungs.size() ? kLeastShareOfLast : kLeastShare;
    if (timed.seconds > seconds && wishes.epochs == 0) {
      InitWishes shorter = rungs[i];
      shorter.epochs =
          std::max({1, static_cast<int>(std::ceil(share * timed.plan.epochs)),
                    static_cast<int>(std::floor(timed.plan.epochs * seconds / timed.seconds))});
      timed.plan = MakePlan(facts, shorter);
      timed.seconds = TrainingSeconds(timed.plan, facts, each);
    }
    if (i > 0) timed.plan.why = WhyNet(facts) + usual;
    if (fastest.seconds == 0 || timed.seconds < fastest.seconds) fastest = timed;
    // Rounding and the tests may exceed the time a little.
    constexpr double kTolerance = 1.05;
    if (fastest.seconds <= kTolerance * seconds) break;
  }
  return fastest;
}

TimedPlan ChoosePlan(int64_t minutes, const ImageFacts& facts, const InitWishes& wishes,
                     const PlanMeasure& measure) {
  std::map<std::string, ImageSeconds> known;
  const PlanMeasure once = [&](const InitPlan& plan) {
    const std::string key = plan.net.name + " " + plan.input.ToString();
    if (known.count(key) == 0) known[key] = measure(plan);
    return known[key];
  };
  constexpr double kNoLimit = 1e18;
  const bool limited = minutes > 0 || facts.train + facts.test <= kSmallSet;
  const double usual = kMinute * static_cast<double>(minutes > 0 ? minutes : kUsualMinutes);
  TimedPlan chosen = PlanWithin(limited ? usual : kNoLimit, facts, wishes, once);
  constexpr double kSooner = 0.9;
  if (chosen.seconds * kSooner < usual) return chosen;
  InitWishes open = wishes;
  open.net.clear();
  open.size = open.epochs = 0;
  const TimedPlan faster = PlanWithin(usual, facts, open, once);
  if (faster.seconds < kSooner * chosen.seconds)
    chosen.faster = FlagsOf(faster.plan) + " takes " + AboutText(faster.seconds);
  return chosen;
}

std::string AboutText(double seconds) {
  constexpr double kHour = 60 * kMinute;
  if (seconds < 1.5 * kMinute)
    return StrCat("about ", std::max<int64_t>(1, std::llround(seconds)), " s");
  const int64_t minutes = std::llround(seconds / kMinute);
  if (seconds < kHour) return StrCat("about ", minutes, " min");
  return StrCat("about ", minutes / 60, " h ", minutes % 60, " min");
}

}  // namespace doppio
