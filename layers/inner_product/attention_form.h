// The form of Attention, which its kernels on every device read, and what it adds to a score and
// makes of an attention weight.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_FORM_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_FORM_H_

#include <cmath>
#include <cstdint>

#include "core/base/random.h"

namespace doppio {

// Queries are batch x queries x (heads * depth), keys are batch x keys x (heads * depth), values
// and the top have heads * values numbers in each position.
struct AttentionForm {
  int64_t batch = 0, queries = 0, keys = 0, heads = 1;
  int64_t depth = 0, values = 0;  // per head
  double scale = 1;
  float ratio = 0;  // of dropped weights in this phase
  Random random{0, 0};
  enum { kNoMask, kAdd, kKeep } mask = kNoMask;
  // Elements of bottom 3 from one sample, head, query and key to the next; 0: broadcast.
  int64_t by_sample = 0, by_head = 0, by_query = 0, by_key = 0;
  int64_t mask_count = 0;  // elements of bottom 3
  // A learned number for each head and offset of two positions on a grid, in parameter 0.
  bool relative = false;
  int64_t grid_rows = 1, grid_columns = 1;

  // Returns the number of offsets: rows from -(grid_rows - 1) to grid_rows - 1, columns likewise.
  DOPPIO_HD int64_t offsets() const { return (2 * grid_rows - 1) * (2 * grid_columns - 1); }
  // The relative bias of query i and key j of a head is number
  // head * offsets() + Place(i) - Place(j) + Middle().
  DOPPIO_HD int64_t Place(int64_t i) const {
    return i / grid_columns * (2 * grid_columns - 1) + i % grid_columns;
  }
  DOPPIO_HD int64_t Middle() const { return offsets() / 2; }

  DOPPIO_HD int64_t MaskAt(int64_t n, int64_t head, int64_t i, int64_t j) const {
    return n * by_sample + head * by_head + i * by_query + j * by_key;
  }
  // Returns what an element of bottom 3 adds to a score. Minus infinity hides the key.
  template <class T>
  DOPPIO_HD T Added(T element) const {
    return mask == kAdd ? element : element == 0 ? -static_cast<T>(INFINITY) : T(0);
  }

  // Returns the random numbers of four keys from j on, a multiple of 4, for a query of a head.
  // `sample` is the global index.
  DOPPIO_HD Random4 Draw(uint64_t sample, int64_t head, int64_t i, int64_t j) const {
    const int64_t fours = (keys + 3) / 4;
    return random.At(sample, static_cast<uint64_t>((head * queries + i) * fours + j / 4));
  }
  // Returns the factor of a weight that drew `word`.
  DOPPIO_HD float Kept(uint32_t word) const {
    return ToUnit(word) >= ratio ? 1 / (1 - ratio) : 0.0f;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_FORM_H_
