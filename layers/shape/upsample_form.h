// What Upsample's kernels need of the file and of the bottoms' shapes.
#ifndef DOPPIO_LAYERS_SHAPE_UPSAMPLE_FORM_H_
#define DOPPIO_LAYERS_SHAPE_UPSAMPLE_FORM_H_

#include <string>

#include "core/base/error.h"
#include "layers/shape/upsample_ops.h"

namespace doppio {

struct UpsampleForm {
  UpsampleGrid grid;
  bool masked = false;  // bottom 1 is a mask
  SourceLoc mask_at;    // where the file names the mask

  // The error for an index in the mask of `layer` that lies outside of the top.
  UserError BadMask(const std::string& layer) const {
    return UserError(mask_at,
                     "layer '" + layer + "': the mask holds an index outside of the top's " +
                         std::to_string(grid.top_height) + "x" + std::to_string(grid.top_width) +
                         "; it is to come from a MAX Pooling whose bottom has that size");
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_UPSAMPLE_FORM_H_
