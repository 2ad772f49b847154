// Checks of a bottom's shape that many layer types share.
#ifndef DOPPIO_LAYERS_COMMON_BOTTOM_CHECKS_H_
#define DOPPIO_LAYERS_COMMON_BOTTOM_CHECKS_H_

#include <string>

#include "core/net/contract/layer.h"

namespace doppio {

// Returns the axis `given`, counted from the front. Throws UserError if the bottom has no such
// axis. `field` is the path of the field that gives the axis, such as "tile_param.axis".
inline int AxisOf(const LayerSpec& spec, const std::string& field, int given, const Shape& bottom) {
  if (bottom.has_axis(given)) return bottom.canonical_axis(given);
  throw spec.Mistake(field,
                     StrCat(field.substr(field.rfind('.') + 1), " ", given,
                            " does not exist in the bottom, whose shape is ", bottom.ToString()));
}

// Throws UserError unless bottom 0, which has the shape `bottom`, consists of images.
inline void CheckImages(const LayerSpec& spec, const Shape& bottom) {
  spec.RefuseIf(bottom.rank() != 4, "bottom", spec.type(),
                " needs a bottom of 4 axes (batch, channels, height, width), found ",
                bottom.ToString());
}

// Throws UserError unless bottom 0, which has the shape `bottom`, has channels on axis 1.
inline void CheckChannels(const LayerSpec& spec, const Shape& bottom) {
  spec.RefuseIf(bottom.rank() < 2, "bottom", "bottom 0 has shape ", bottom.ToString(), "; ",
                spec.type(), " needs at least 2 axes, the second of which is the channels");
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_BOTTOM_CHECKS_H_
