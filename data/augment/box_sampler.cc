#include "data/augment/box_sampler.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"

namespace doppio {
namespace {

Box DrawWindow(const Sampler& sampler, Draws* draws) {
  const float scale = draws->Uniform(sampler.min_scale(), sampler.max_scale());
  const float drawn = draws->Uniform(sampler.min_aspect_ratio(), sampler.max_aspect_ratio());
  // Limits the ratio so that no side is longer than the image's.
  const float ratio = std::clamp(drawn, scale * scale, 1 / (scale * scale));
  const float width = scale * std::sqrt(ratio), height = scale / std::sqrt(ratio);
  const float left = draws->Uniform(0, 1 - width), top = draws->Uniform(0, 1 - height);
  return {left, top, left + width, top + height};
}

}  // namespace

void CheckSamplers(const BatchSamplers& samplers) {
  for (const BatchSampler& batch : samplers) {
    const Sampler& s = batch.sampler();
    RefuseIf(!(s.min_scale() > 0 && s.min_scale() <= s.max_scale() && s.max_scale() <= 1),
             "sampler: min_scale ", s.min_scale(), ", max_scale ", s.max_scale(),
             "; they must be more than 0, at most 1, and in this order");
    RefuseIf(!(s.min_aspect_ratio() > 0 && s.min_aspect_ratio() <= s.max_aspect_ratio()),
             "sampler: min_aspect_ratio ", s.min_aspect_ratio(), ", max_aspect_ratio ",
             s.max_aspect_ratio(), "; they must be more than 0 and in this order");
  }
}

bool Satisfies(const Box& window, const std::vector<ObjectBox>& objects,
               const SampleConstraint& constraint) {
  const SampleConstraint& c = constraint;
  const bool overlap = c.has_min_jaccard_overlap() || c.has_max_jaccard_overlap();
  const bool sample = c.has_min_sample_coverage() || c.has_max_sample_coverage();
  const bool object = c.has_min_object_coverage() || c.has_max_object_coverage();
  if (!overlap && !sample && !object) return true;
  const auto within = [](float value, bool has_min, float min, bool has_max, float max) {
    return !(has_min && value < min) && !(has_max && value > max);
  };
  // If there are several kinds of constraint, SSD's code uses only the first.
  return std::any_of(objects.begin(), objects.end(), [&](const ObjectBox& o) {
    if (overlap) {
      return within(OverlapOf(window, o.box), c.has_min_jaccard_overlap(), c.min_jaccard_overlap(),
                    c.has_max_jaccard_overlap(), c.max_jaccard_overlap());
    }
    if (sample) {
      return within(CoverageOf(window, o.box), c.has_min_sample_coverage(), c.min_sample_coverage(),
                    c.has_max_sample_coverage(), c.max_sample_coverage());
    }
    return within(CoverageOf(o.box, window), c.has_min_object_coverage(), c.min_object_coverage(),
                  c.has_max_object_coverage(), c.max_object_coverage());
  });
}

std::vector<Box> SampleWindows(const BatchSamplers& samplers, const std::vector<ObjectBox>& objects,
                               Draws* draws) {
  std::vector<Box> windows;
  for (const BatchSampler& batch : samplers) {
    if (!batch.use_original_image()) continue;
    uint32_t found = 0;
    for (uint32_t trial = 0; trial < batch.max_trials(); ++trial) {
      if (batch.has_max_sample() && found >= batch.max_sample()) break;
      const Box window = DrawWindow(batch.sampler(), draws);
      if (!Satisfies(window, objects, batch.sample_constraint())) continue;
      windows.push_back(window);
      ++found;
    }
  }
  return windows;
}

}  // namespace doppio
