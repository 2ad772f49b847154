// The form of BatchReindex: what its kernels need from the bottoms' shapes.
#ifndef DOPPIO_LAYERS_SHAPE_BATCH_REINDEX_FORM_H_
#define DOPPIO_LAYERS_SHAPE_BATCH_REINDEX_FORM_H_

#include <cstdint>

#include "layers/common/row_index.h"

namespace doppio {

struct BatchReindexForm {
  IndexReader indices;  // checks the indices against the rows of bottom 0
  int64_t count = 0;    // rows of the top
  int64_t width = 0;    // values per row
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_BATCH_REINDEX_FORM_H_
