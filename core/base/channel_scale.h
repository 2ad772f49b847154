// The factor of each channel after the mean is subtracted: scale / std_value.
#ifndef DOPPIO_CORE_BASE_CHANNEL_SCALE_H_
#define DOPPIO_CORE_BASE_CHANNEL_SCALE_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"

namespace doppio {

class ChannelScale {
 public:
  ChannelScale() = default;  // 1
  // Takes the fields of a TransformationParameter or Preprocessing.
  template <class Fields>
  explicit ChannelScale(const Fields& fields) : scale_(fields.scale()) {
    for (const float deviation : fields.std_value()) factors_.push_back(scale_ / deviation);
  }

  // Returns the factor of a channel. Without std_value it is `scale` for all channels.
  float Of(int channel) const {
    if (factors_.empty()) return scale_;
    return factors_[std::min(static_cast<size_t>(channel), factors_.size() - 1)];
  }

  // Throws UserError unless there are no factors of channels, one, or one for each of `channels`.
  void CheckChannels(int channels) const {
    if (factors_.size() <= 1 || factors_.size() == static_cast<size_t>(channels)) return;
    throw UserError({}, "transform_param has ", factors_.size(), " std_value, but the image has ",
                    channels, channels == 1 ? " channel" : " channels",
                    "; give one, or one per channel");
  }

 private:
  float scale_ = 1;
  std::vector<float> factors_;  // empty, one, or one per channel
};

// Throws UserError unless each std_value of `fields` is finite and above 0.
template <class Fields>
void CheckStdValues(const Fields& fields) {
  for (const float deviation : fields.std_value()) {
    if (deviation > 0 && std::isfinite(deviation)) continue;
    throw UserError({}, "transform_param: std_value is ", deviation,
                    "; it must be a finite number above 0");
  }
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_CHANNEL_SCALE_H_
