// The form of Upsample: what its kernels need from the net file and the bottoms' shapes.
#ifndef DOPPIO_LAYERS_SHAPE_UPSAMPLE_FORM_H_
#define DOPPIO_LAYERS_SHAPE_UPSAMPLE_FORM_H_

#include <string>

#include "core/base/error.h"
#include "layers/shape/upsample_ops.h"

namespace doppio {

struct UpsampleForm {
  UpsampleGrid grid;
  bool masked = false;  // true: bottom 1 is a mask
  SourceLoc mask_at;    // the location of the mask in the net file

  // Returns the error for a mask of `layer` that holds an index outside of the top.
  UserError BadMask(const std::string& layer) const {
    return UserError(mask_at,
                     "layer '" + layer + "': the mask holds an index outside of the top's " +
                         std::to_string(grid.top_height) + "x" + std::to_string(grid.top_width) +
                         "; it must come from a MAX Pooling whose bottom has that size");
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_UPSAMPLE_FORM_H_
