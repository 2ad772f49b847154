// Estimates the duration of a planned training, and makes plans that fit into a given time.
#ifndef DOPPIO_TOOLS_INIT_PLAN_MINUTES_H_
#define DOPPIO_TOOLS_INIT_PLAN_MINUTES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tools/init/init_data.h"
#include "tools/init/init_files.h"
#include "tools/init/init_plan.h"

namespace doppio {

// The time that one image takes, in seconds.
struct ImageSeconds {
  double train = 0;  // forward and backward
  double test = 0;   // forward
  double read = 0;   // decoding, while all threads decode
};
using PlanMeasure = std::function<ImageSeconds(const InitPlan&)>;

// Runs the planned net for a fraction of a second on random images, and decodes some of the images
// for training.
ImageSeconds MeasurePlan(const InitProject& project, const InitData& data, const InitPlan& plan);

struct TimedPlan {
  InitPlan plan;
  double seconds = 0;  // expected duration of the training, with its tests
  // If that is long: flags of `init` and the time with them, "--epochs=9 takes about 8 min".
  std::string faster;
};

// Returns the first of these plans that takes at most `seconds`: that of MakePlan(), the same net
// with half of a large input's side, and resnet20 for inputs of 64, 48 and 32 pixels. To fit, a
// plan may have down to 60 percent of its epochs, the last one down to 30 percent. What `wishes`
// fix remains. If no plan fits, returns the fastest.
TimedPlan PlanWithin(double seconds, const ImageFacts& facts, const InitWishes& wishes,
                     const PlanMeasure& measure);

// Returns a plan within `minutes`, or, if it is 0, within 10 minutes for at most 500 images and
// MakePlan() for more.
TimedPlan ChoosePlan(int64_t minutes, const ImageFacts& facts, const InitWishes& wishes,
                     const PlanMeasure& measure);

// Returns "about 6 min", "about 1 h 10 min" or "about 40 s".
std::string AboutText(double seconds);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_INIT_PLAN_MINUTES_H_
