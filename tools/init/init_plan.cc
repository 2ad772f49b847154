#include "tools/init/init_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "tools/cli/flags.h"
#include "tools/init/pretrained.h"

namespace doppio {
namespace {

// The largest median short sides for which the nets for digits and for small images are chosen.
constexpr int kDigitSide = 40, kSmallSide = 64;
// Sides that nets without a fixed input size take unchanged; other images are resized.
constexpr int kLeastSide = 28, kMostSide = 96;
// From this short side on, photos get the full input size of a net for ImageNet; smaller ones get
// half of it.
constexpr int kPhotoSide = 160;
constexpr int kPhotoBatch = 32, kSmallBatch = 64;

int64_t Clamp(int64_t value, int64_t least, int64_t most) {
  return std::max(least, std::min(value, most));
}

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

std::string NetFor(const ImageFacts& facts) {
  if (facts.channels == 1 && facts.short_side <= kDigitSide) return "lenet";
  return facts.short_side <= kSmallSide ? "resnet20" : "resnet18";
}

void ResizeTo(int height, int width, InitPlan* plan) {
  plan->resize_height = height;
  plan->resize_width = width;
}

// Plans a crop of `side` from images that are 8/7 as large, like 224 from 256.
void PlanCut(const ImageFacts& facts, int side, InitPlan* plan) {
  const int whole = (side * 8 + 3) / 7;
  plan->input = {facts.channels, side, side};
  if (plan->augmentation == Augmentation::kNone) return ResizeTo(side, side, plan);
  plan->crop = true;
  const int shorter = std::min(facts.height, facts.width);
  const int longer = std::max(facts.height, facts.width);
  const bool fit = shorter >= side && longer <= whole + whole / 4;
  if (!fit) ResizeTo(whole, whole, plan);
}

void PlanWhole(const ImageFacts& facts, int size, InitPlan* plan) {
  const bool fit = std::min(facts.height, facts.width) >= kLeastSide &&
                   std::max(facts.height, facts.width) <= kMostSide;
  if (size == 0 && fit) {
    plan->input = {facts.channels, facts.height, facts.width};
    return;
  }
  const int side =
      size > 0 ? size : static_cast<int>(Clamp(facts.short_side, kLeastSide, kSmallSide));
  plan->input = {facts.channels, side, side};
  ResizeTo(side, side, plan);
}

void PlanInput(const ImageFacts& facts, const InitWishes& wishes, InitPlan* plan) {
  const int crop = static_cast<int>(plan->net.train.crop_size());
  // With a pad, the cut only moves the whole image.
  if (crop == 0 || plan->net.train.has_pad()) return PlanWhole(facts, wishes.size, plan);
  const bool half = wishes.net.empty() && facts.short_side < kPhotoSide;
  PlanCut(facts, wishes.size > 0 ? wishes.size : half ? crop / 2 : crop, plan);
}

// Halves the usual batch size until an epoch has 8 iterations, but not below 8: BatchNorm's
// statistics of fewer images are poor.
int BatchFor(int64_t images, int usual) {
  constexpr int kLeastBatch = 8, kLeastIterations = 8;
  int batch = usual;
  while (batch > kLeastBatch && batch * kLeastIterations > images) batch /= 2;
  return static_cast<int>(std::min<int64_t>(batch, images));
}

void PlanTraining(const ImageFacts& facts, const InitWishes& wishes, InitPlan* plan) {
  plan->batch = wishes.batch > 0 ? wishes.batch
                                 : BatchFor(facts.train, plan->crop ? kPhotoBatch : kSmallBatch);
  plan->test_batch = static_cast<int>(Clamp(facts.test, 1, plan->batch));
  // Scales the published rate by the square root of the batch size (Krizhevsky, arXiv:1404.5997),
  // and never above the published rate. Linear scaling would make the rate too small for small data
  // sets.
  plan->base_lr = plan->net.solver.base_lr() *
                  std::sqrt(std::min(1.0, static_cast<double>(plan->batch) / plan->net.batch));
  // Trained layers are near their values: they need fewer epochs and a lower rate.
  const bool trained = !plan->weights.empty();
  const int64_t images_seen = trained ? 100'000 : 1'000'000;
  const int64_t least_epochs = trained ? 5 : 20, most_epochs = trained ? 30 : 100;
  if (trained) plan->base_lr /= kNewLayerFactor;
  plan->epochs =
      wishes.epochs > 0
          ? wishes.epochs
          : static_cast<int>(Clamp(DivideUp(images_seen, facts.train), least_epochs, most_epochs));
  plan->iterations = DivideUp(plan->epochs * facts.train, plan->batch);
  constexpr int64_t kWarmupShare = 20, kMostWarmup = 1000;
  plan->warmup = Clamp(plan->iterations / kWarmupShare, 0, kMostWarmup);
  constexpr int64_t kIterationsBetweenTests = 50;
  plan->test_epochs = static_cast<int>(
      Clamp(DivideUp(kIterationsBetweenTests * plan->batch, facts.train), 1, plan->epochs));
  constexpr int kSnapshots = 5;
  plan->snapshot_epochs = static_cast<int>(DivideUp(plan->epochs, kSnapshots));
}

// Returns the sums over all images. A gray image counts in each of three channels.
std::vector<ChannelSums> SumsOf(const ImageStats& stats, size_t channels) {
  std::vector<ChannelSums> sums(channels);
  for (const auto& [count, of] : stats.sums) {
    for (size_t c = 0; c < channels; ++c) sums[c].Add(of.size() == 1 ? of[0] : of[c]);
  }
  return sums;
}

bool AllAlike(const std::vector<ChannelSums>& sums) {
  return std::all_of(sums.begin(), sums.end(), [&](const ChannelSums& one) {
    return one.sum == sums[0].sum && one.squares == sums[0].squares;
  });
}

int MedianShortSide(const ImageStats& stats) {
  std::map<int, int64_t> images;
  for (const auto& [text, size] : stats.sizes) {
    images[std::min(size.shape.height, size.shape.width)] += size.images;
  }
  int64_t seen = 0;
  for (const auto& [side, count] : images) {
    seen += count;
    if (2 * seen >= stats.records) return side;
  }
  return 0;
}

}  // namespace

void SetAugmentation(const std::string& words, InitWishes* wishes) {
  static const std::map<std::string, Augmentation> known = {{"none", Augmentation::kNone},
                                                            {"light", Augmentation::kLight},
                                                            {"strong", Augmentation::kStrong}};
  for (const std::string& word : SplitList(words)) {
    const auto found = known.find(word);
    if (word == "turns") {
      wishes->any_way_up = true;
    } else if (found != known.end() && wishes->augmentation == Augmentation::kUsual) {
      wishes->augmentation = found->second;
    } else {
      throw UsageError(
          "--augment needs none, light or strong, and may add turns, as in "
          "light,turns; got '",
          words, "'");
    }
  }
  if (!wishes->any_way_up) return;
  if (wishes->augmentation == Augmentation::kNone) {
    throw UsageError("--augment: turns needs light or strong; got '", words, "'");
  }
  if (wishes->augmentation == Augmentation::kUsual) wishes->augmentation = Augmentation::kLight;
}

void SetBalance(const std::string& word, InitWishes* wishes) {
  if (word.empty()) return;
  CheckValue("balance", word, {"sampling", "weights"});
  wishes->balance = word == "sampling" ? Balance::kSampling : Balance::kWeights;
}

ImageFacts FactsOfImages(const ImageStats& stats, bool can_be_gray) {
  ImageFacts facts;
  const bool colour = stats.sums.count(3) > 0;
  for (const auto& [channels, sums] : stats.sums) {
    if (channels == 1 || channels == 3) continue;
    throw FileError("there are images of ", channels,
                    " channels; a net for them must be written by hand");
  }
  std::vector<ChannelSums> sums = SumsOf(stats, colour ? 3 : 1);
  if (can_be_gray && AllAlike(sums)) sums.resize(1);
  facts.channels = static_cast<int>(sums.size());
  facts.mixed_channels = stats.sums.size() > 1;
  for (const ChannelSums& channel : sums) facts.means.push_back(channel.mean());
  const ImageShape& first = stats.sizes.begin()->second.shape;
  const bool one_size = std::all_of(stats.sizes.begin(), stats.sizes.end(), [&](const auto& size) {
    return size.second.shape.height == first.height && size.second.shape.width == first.width;
  });
  if (one_size) {
    facts.height = first.height;
    facts.width = first.width;
  }
  facts.short_side = MedianShortSide(stats);
  return facts;
}

std::string WhyNet(const ImageFacts& facts) {
  const std::string size = facts.height > 0
                               ? std::to_string(facts.height) + "x" + std::to_string(facts.width)
                               : "about " + std::to_string(facts.short_side) + " pixels";
  return std::string(facts.short_side <= kSmallSide ? "small " : "") +
         (facts.channels == 1 ? "gray" : "colour") + " images, " + size;
}

InitPlan MakePlan(const ImageFacts& facts, const InitWishes& wishes) {
  InitPlan plan;
  plan.augmentation = wishes.augmentation;
  plan.any_way_up = wishes.any_way_up;
  plan.balance = wishes.balance;
  if (wishes.start == nullptr) {
    plan.net = ReadZooNet(wishes.net.empty() ? NetFor(facts) : wishes.net);
    plan.why = wishes.net.empty() ? WhyNet(facts) : "--net";
    plan.origin = "models/" + plan.net.name;
    PlanInput(facts, wishes, &plan);
  } else {
    PlanInput(facts, UsePretrained(*wishes.start, wishes, &plan), &plan);
    const auto resize = static_cast<int>(wishes.start->images.resize_height());
    if (wishes.size == 0 && plan.crop && resize > plan.input.height)
      ResizeTo(resize, resize, &plan);
  }
  // Decoding is then much faster, and bilinear resizing does not skip pixels.
  plan.scaled_decode = plan.resize_height > 0 && facts.short_side >= 2 * plan.resize_height;
  PlanTraining(facts, wishes, &plan);
  return plan;
}

}  // namespace doppio
