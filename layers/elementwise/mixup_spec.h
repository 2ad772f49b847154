// What a layer Mixup asks for, on any device.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_MIXUP_SPEC_H_
#define DOPPIO_LAYERS_ELEMENTWISE_MIXUP_SPEC_H_

#include <sstream>

#include "core/net/graph/layer.h"
#include "layers/elementwise/mixup_ops.h"

namespace doppio {

// Samples are mixed in training, unless alpha is 0.
inline bool Mixes(const LayerSpec& spec) {
  return spec.phase() == TRAIN && spec.param.mixup_param().alpha() > 0;
}

inline MixupForm MixupFormOf(const LayerSpec& spec, const Shape& data) {
  const MixupParameter& param = spec.param.mixup_param();
  return {Random(spec.options.seed, Stream("mixup", spec.name())),
          static_cast<double>(param.alpha()),
          Mixes(spec),
          data[0],
          data.count(1),
          static_cast<int64_t>(param.classes())};
}

[[noreturn]] inline void FailAtMixupLabel(const SourceLoc& at, const MixupForm& form, double label,
                                          int64_t row) {
  std::ostringstream text;
  text << "label " << label << " at sample " << row << " is outside 0.." << form.classes - 1
       << "; mixup_param.classes says how many classes there are";
  throw UserError(at, text.str());
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_MIXUP_SPEC_H_
