#include "data/pipeline/order.h"

#include <cmath>

namespace doppio {

Permutation::Permutation(const Random& random, uint64_t key, int64_t n)
    : random_(random), key_(key), n_(n) {
  columns_ = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(n))));
  rows_ = (n + columns_ - 1) / columns_;
}

// A Feistel network on a grid that is barely larger than n. Each round shifts one coordinate by a
// random amount that depends on the other coordinate. A round can be undone, so the mapping is
// one-to-one. A cell beyond n passes through the network again until the result is below n; the
// mapping stays one-to-one, and a second pass is rare.
int64_t Permutation::At(int64_t position) const {
  constexpr uint64_t kRounds = 8;
  int64_t row = position / columns_, column = position % columns_;
  do {
    for (uint64_t round = 0; round < kRounds; round += 2) {
      auto draw = [this](uint64_t r, int64_t other, int64_t n) {
        const uint64_t element = ((r << 40) | static_cast<uint64_t>(other)) << 2;
        return static_cast<int64_t>(random_.Below(static_cast<uint32_t>(n), key_, element));
      };
      row = (row + draw(round, column, rows_)) % rows_;
      column = (column + draw(round + 1, row, columns_)) % columns_;
    }
  } while (row * columns_ + column >= n_);
  return row * columns_ + column;
}

}  // namespace doppio
