// The matrix of queries x keys of Attention on the CPU, of which only tiles exist.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_TILES_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_TILES_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/math/blas.h"
#include "layers/activation/softmax_math.h"
#include "layers/inner_product/attention_form.h"

namespace doppio {

// Extents of a tile. The number of keys is a multiple of the four that share random numbers.
constexpr int64_t kAttentionRows = 64, kAttentionColumns = 128;

// A tile, or the rows of a tile, of one sample and head.
struct AttentionTile {
  int64_t sample, head;
  int64_t query, rows;   // queries [query, query + rows)
  int64_t key, columns;  // keys [key, key + columns)
};

// The scores of a layer, and where the tiles are in its blobs. Threads may share it.
template <class T>
class AttentionTiles {
 public:
  explicit AttentionTiles(const AttentionForm& form) : form_(form) {
    for (int64_t i = 0; form_.relative && i < form_.queries; ++i) places_.push_back(form_.Place(i));
  }
  // Sets the bottoms, and the relative biases or null.
  void Bind(const T* queries, const T* keys, const T* mask, const T* relative) {
    from_ = {queries, keys, mask, relative};
  }

  // Return the part of a tile's head in queries, keys, values and the top, or in their gradients.
  template <class V>
  GemmRows<V> Queries(V* data, const AttentionTile& t) const {
    return Rows(data, t.sample * form_.queries + t.query, t.head, form_.depth);
  }
  template <class V>
  GemmRows<V> Keys(V* data, const AttentionTile& t) const {
    return Rows(data, t.sample * form_.keys + t.key, t.head, form_.depth);
  }
  template <class V>
  GemmRows<V> Values(V* data, const AttentionTile& t) const {
    return Rows(data, t.sample * form_.keys + t.key, t.head, form_.values);
  }
  template <class V>
  GemmRows<V> Tops(V* data, const AttentionTile& t) const {
    return Rows(data, t.sample * form_.queries + t.query, t.head, form_.values);
  }

  // Calls f(tile) for all keys of the queries of `rows`, in order.
  template <class F>
  void ForEach(AttentionTile rows, const F& f) const {
    for (rows.key = 0; rows.key < form_.keys; rows.key += kAttentionColumns) {
      rows.columns = std::min(kAttentionColumns, form_.keys - rows.key);
      f(rows);
    }
  }

  // Computes the scores of a tile, a row for each query.
  void Scores(const AttentionTile& t, T* scores) const {
    Gemm(false, true, t.rows, t.columns, form_.depth, static_cast<T>(form_.scale),
         Queries(from_.queries, t), Keys(from_.keys, t), T(0), GemmRows<T>{scores, t.columns});
    for (int64_t r = 0; r < t.rows; ++r) {
      T* const row = scores + r * t.columns;
      if (form_.mask != AttentionForm::kNoMask) {
        const T* const mask = from_.mask + form_.MaskAt(t.sample, t.head, t.query + r, t.key);
        for (int64_t c = 0; c < t.columns; ++c) row[c] += form_.Added(mask[c * form_.by_key]);
      }
      if (form_.relative) {
        const T* const bias = from_.relative + RelativeAt(t, r);
        for (int64_t c = 0; c < t.columns; ++c) row[c] += bias[-places_[t.key + c]];
      }
    }
  }

  // Return the index of the relative bias of row r and column c of a tile: RelativeAt(t, r) -
  // PlaceOf(t.key + c).
  int64_t RelativeAt(const AttentionTile& t, int64_t r) const {
    return t.head * form_.offsets() + form_.Middle() + places_[t.query + r];
  }
  int64_t PlaceOf(int64_t key) const { return places_[key]; }

  // Calls f(c, factor) for the keys of row r, where `factor` multiplies the weight: 0 if it is
  // dropped, or 1 / (1 - ratio). `sample` is the global index of the tile's sample.
  template <class F>
  void ForEachKept(const AttentionTile& t, int64_t r, uint64_t sample, const F& f) const {
    for (int64_t c = 0; c < t.columns; c += 4) {
      const Random4 words = form_.Draw(sample, t.head, t.query + r, t.key + c);
      const int64_t count = std::min<int64_t>(4, t.columns - c);
      for (int64_t i = 0; i < count; ++i) f(c + i, static_cast<T>(form_.Kept(words.v[i])));
    }
  }

 private:
  template <class V>
  GemmRows<V> Rows(V* data, int64_t position, int64_t head, int64_t width) const {
    return {data + position * form_.heads * width + head * width, form_.heads * width};
  }

  const AttentionForm form_;
  std::vector<int64_t> places_;  // Place(i) of each position, if there are relative biases
  struct {
    const T *queries, *keys, *mask, *relative;
  } from_ = {};
};

// row[c] = e^(row[c] - base) for n keys. Returns the sum.
template <class T>
T AttentionExponentials(int64_t n, T base, T* row) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < n; ++c) {
    row[c] = softmax_internal::Exp(row[c] - base);
    sum += row[c];
  }
  return sum;
}

// The maximum of the scores of a query, and the sum of e^(score - maximum), over some of its keys.
template <class T>
struct AttentionRow {
  T max = -std::numeric_limits<T>::infinity(), sum = 0;

  // Takes in the n scores in `row`, and makes weights of them, relative to the maximum. Returns the
  // factor for sums that are relative to the maximum so far.
  T Take(int64_t n, T* row) {
    T highest = max;
#pragma omp simd reduction(max : highest)
    for (int64_t c = 0; c < n; ++c) highest = row[c] > highest ? row[c] : highest;
    // If all keys so far are hidden, all weights are 0.
    const T base = highest == -std::numeric_limits<T>::infinity() ? T(0) : highest;
    const T factor = softmax_internal::Exp(max - base);
    sum = sum * factor + AttentionExponentials(n, base, row);
    max = highest;
    return factor;
  }
  // Returns the logarithm of the sum of e^score; infinity, so that all weights are 0, if all keys
  // are hidden.
  T LogSum() const { return sum == 0 ? std::numeric_limits<T>::infinity() : max + std::log(sum); }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_ATTENTION_TILES_H_
