// The form of Embed: what its kernels need from the net file and the bottom's shape.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_EMBED_FORM_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_EMBED_FORM_H_

#include "layers/common/row_index.h"

namespace doppio {

struct EmbedForm {
  IndexReader indices;
  int64_t count, width;  // rows of the top, values per row
  bool bias;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_EMBED_FORM_H_
