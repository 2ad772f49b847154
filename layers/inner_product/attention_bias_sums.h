// The sums of the gradients of what Attention adds to its scores: of bottom 3 and of the relative
// biases. Many queries, keys, heads and samples may share an element.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_BIAS_SUMS_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_BIAS_SUMS_H_

#include <algorithm>

#include "core/base/threads.h"
#include "core/net/contract/kernel.h"
#include "layers/common/room.h"
#include "layers/inner_product/attention_tiles.h"

namespace doppio {

// The batch is divided into parts, each of which has sums of its own. The number of parts is
// constant, so the results do not depend on the number of threads.
template <class T>
class AttentionBiasSums {
 public:
  explicit AttentionBiasSums(const KernelArgs& args) : form_(args.Form<AttentionForm>()) {
    mask_ = args.backward && form_.mask == AttentionForm::kAdd &&
            (args.bottom_gradient.empty() || args.bottom_gradient[3]);
    bias_ =
        args.backward && form_.relative && (args.param_gradient.empty() || args.param_gradient[0]);
    const bool own_samples = !mask_ || form_.by_sample != 0;
    parts_ = own_samples && (mask_ || !bias_) ? form_.batch : std::min(form_.batch, kParts);
  }

  // Assigns the memory of the sums.
  void Place(Room* room) {
    if (mask_ && form_.by_sample == 0) masks_ = room->Take<T>(parts_ * form_.mask_count);
    if (bias_) biases_ = room->Take<T>(parts_ * relative_count());
  }
  // Sets where the gradients belong; null: nowhere.
  void SetTargets(T* mask, T* bias) {
    to_mask_ = mask_ ? mask : nullptr;
    to_bias_ = bias_ ? bias : nullptr;
    if (mask_ && form_.by_sample != 0) masks_ = mask;
  }

  // Samples [First(part), First(part + 1)) belong to a part.
  int64_t parts() const { return parts_; }
  int64_t First(int64_t part) const { return form_.batch * part / parts_; }
  // Returns true if no two heads share a sum.
  bool heads_apart() const { return !mask_ || form_.by_head != 0; }

  // Sets the sums of a part and of heads [first, last) to 0.
  void Clear(int64_t part, int64_t first, int64_t last) const {
    const int64_t heads = last - first;
    if (to_mask_ != nullptr && form_.by_head == 0)
      std::fill_n(MaskOf(part), form_.by_sample != 0 ? form_.by_sample : form_.mask_count, T(0));
    if (to_mask_ != nullptr && form_.by_head != 0)
      std::fill_n(MaskOf(part) + first * form_.by_head, heads * form_.by_head, T(0));
    if (to_bias_ != nullptr)
      std::fill_n(BiasOf(part) + first * form_.offsets(), heads * form_.offsets(), T(0));
  }

  // Adds the gradients of the scores of a tile.
  void Add(const AttentionTiles<T>& tiles, const AttentionTile& t, int64_t part,
           const T* gradient) const {
    for (int64_t r = 0; r < t.rows; ++r) {
      const T* const row = gradient + r * t.columns;
      if (to_mask_ != nullptr) {
        T* const to = MaskOf(part) + form_.MaskAt(0, t.head, t.query + r, t.key);
        for (int64_t c = 0; c < t.columns; ++c) to[c * form_.by_key] += row[c];
      }
      if (to_bias_ != nullptr) {
        T* const to = BiasOf(part) + tiles.RelativeAt(t, r);
        for (int64_t c = 0; c < t.columns; ++c) to[-tiles.PlaceOf(t.key + c)] += row[c];
      }
    }
  }

  // Writes the gradients, or adds that of the relative biases.
  void Finish(bool add_bias) const {
    if (to_mask_ != nullptr && form_.by_sample == 0)
      SumParts(masks_, form_.mask_count, false, to_mask_);
    if (to_bias_ != nullptr) SumParts(biases_, relative_count(), add_bias, to_bias_);
  }

 private:
  static constexpr int64_t kParts = 8;

  int64_t relative_count() const { return form_.heads * form_.offsets(); }
  T* MaskOf(int64_t part) const {
    return masks_ + part * (form_.by_sample != 0 ? form_.by_sample : form_.mask_count);
  }
  T* BiasOf(int64_t part) const { return biases_ + part * relative_count(); }

  // to[i] = the sum over the parts, or adds it.
  void SumParts(const T* parts, int64_t count, bool add, T* to) const {
    const int64_t number = parts_;
    ParallelForEach(count, 1024, [=](int64_t i) {
      double sum = add ? static_cast<double>(to[i]) : 0;
      for (int64_t part = 0; part < number; ++part)
        sum += static_cast<double>(parts[part * count + i]);
      to[i] = static_cast<T>(sum);
    });
  }

  const AttentionForm form_;
  bool mask_ = false, bias_ = false;  // has a gradient
  int64_t parts_ = 1;
  T *masks_ = nullptr, *biases_ = nullptr;
  T *to_mask_ = nullptr, *to_bias_ = nullptr;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_BIAS_SUMS_H_
