// What BatchReindex's kernels on every device read from its bottoms' shapes.
#ifndef DOPPIO_LAYERS_SHAPE_BATCH_REINDEX_SPEC_H_
#define DOPPIO_LAYERS_SHAPE_BATCH_REINDEX_SPEC_H_

#include "core/net/graph/layer.h"
#include "layers/common/row_index.h"

namespace doppio {

inline IndexReader ReindexReader(const KernelArgs& args) {
  return IndexReader(args.bottoms[0].shape[0], "bottom 0 has no more rows");
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_BATCH_REINDEX_SPEC_H_
