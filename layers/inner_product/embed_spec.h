// What embed_param says, for kernels of every device.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_EMBED_SPEC_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_EMBED_SPEC_H_

#include "core/net/graph/layer.h"
#include "layers/common/row_index.h"

namespace doppio {

struct EmbedSpec {
  explicit EmbedSpec(const KernelArgs& args)
      : indices(args.spec->param.embed_param().input_dim(),
                "embed_param.input_dim gives no more rows"),
        count(args.bottoms[0].shape.count()),
        width(args.spec->param.embed_param().num_output()),
        bias(args.spec->param.embed_param().bias_term()) {}

  IndexReader indices;
  int64_t count, width;  // rows of the top, numbers in each
  bool bias;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_EMBED_SPEC_H_
