// The axis that Concat and Slice work along: `axis`, or its old name `concat_dim` / `slice_dim`.
#ifndef DOPPIO_LAYERS_SHAPE_JOINED_AXIS_H_
#define DOPPIO_LAYERS_SHAPE_JOINED_AXIS_H_

#include <string>

#include "core/net/spec/spec.h"
#include "core/tensor/shape.h"

namespace doppio {

inline int JoinedAxis(const LayerSpec& spec, const std::string& message,
                      const std::string& old_name, bool has_axis, int axis, bool has_old,
                      uint32_t old_axis, const Shape& bottom) {
  const std::string field = message + "." + (has_old ? old_name : "axis");
  if (has_axis && has_old) {
    throw spec.Mistake(field, "axis and " + old_name + " are two names of one thing; keep axis");
  }
  // The old name knows no negative axes; as int they would be out of range.
  const int64_t given = has_old ? static_cast<int64_t>(old_axis) : axis;
  if (given >= bottom.rank() || given < -bottom.rank()) {
    throw spec.Mistake(field, (has_old ? old_name : "axis") + " " + std::to_string(given) +
                                  " does not exist in bottom '" + spec.param.bottom(0) +
                                  "', whose shape is " + bottom.ToString());
  }
  return bottom.canonical_axis(static_cast<int>(given));
}

inline int ConcatAxis(const LayerSpec& spec, const Shape& bottom) {
  const ConcatParameter& p = spec.param.concat_param();
  return JoinedAxis(spec, "concat_param", "concat_dim", p.has_axis(), p.axis(), p.has_concat_dim(),
                    p.concat_dim(), bottom);
}

inline int SliceAxis(const LayerSpec& spec, const Shape& bottom) {
  const SliceParameter& p = spec.param.slice_param();
  return JoinedAxis(spec, "slice_param", "slice_dim", p.has_axis(), p.axis(), p.has_slice_dim(),
                    p.slice_dim(), bottom);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_JOINED_AXIS_H_
