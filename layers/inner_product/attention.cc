// Attention of several heads: softmax(scale * q k^T + bias) v. Vaswani et al., "Attention Is All
// You Need", 2017.
//
// The matrix of queries x keys is never stored. Tiles of it are computed, each query keeps the
// maximum and the sum of its exponentials so far, and backward computes the tiles again from the
// logarithm of the sum. Dao et al., "FlashAttention", 2022.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/room.h"
#include "layers/inner_product/attention_bias_sums.h"
#include "layers/inner_product/attention_tiles.h"

namespace doppio {
namespace {

// Sets the steps of bottom 3, which is broadcast to batch x heads x queries x keys, or throws.
void ReadAttentionMask(const LayerSpec& spec, const Shape& mask, AttentionForm* form) {
  const int64_t wanted[] = {form->keys, form->queries, form->heads, form->batch};
  int64_t* const steps[] = {&form->by_key, &form->by_query, &form->by_head, &form->by_sample};
  bool fits = mask.rank() <= 4;
  int64_t step = 1;
  for (int axis = 0; fits && axis < mask.rank(); ++axis) {
    const int64_t extent = mask[mask.rank() - 1 - axis];
    fits = extent == wanted[axis] || extent == 1;
    *steps[axis] = extent == 1 ? 0 : step;
    step *= extent;
  }
  spec.RefuseIf(!fits, {"bottom", 3}, "bottom 3 is ", mask.ToString(),
                "; it must have the shape batch x heads x queries x keys, ", form->batch, "x",
                form->heads, "x", form->queries, "x", form->keys,
                ", or its last axes, and any extent may be 1");
  form->mask = spec.param.attention_param().mask() == AttentionParameter::KEEP
                   ? AttentionForm::kKeep
                   : AttentionForm::kAdd;
  form->mask_count = mask.count();
}

void ReadRelativeBias(const LayerSpec& spec, AttentionForm* form) {
  const int64_t rows = spec.param.attention_param().grid_rows();
  spec.RefuseIf(form->queries != form->keys, "attention_param.relative_bias",
                "relative_bias needs as many queries as keys; there are ", form->queries, " and ",
                form->keys);
  spec.RefuseIf(rows == 0 || form->queries % rows != 0, "attention_param.grid_rows",
                "grid_rows is ", rows, ", which does not divide the ", form->queries,
                " positions of bottom 0");
  form->relative = true;
  form->grid_rows = rows;
  form->grid_columns = form->queries / rows;
}

AttentionForm ReadAttention(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const AttentionParameter& param = spec.param.attention_param();
  for (int i = 0; i < 3; ++i) {
    spec.RefuseIf(bottoms[i].count() == 0, {"bottom", i}, "bottom ", i,
                  " is empty: ", bottoms[i].ToString());
    spec.RefuseIf(bottoms[i].rank() != 3, {"bottom", i}, "bottom ", i, " has shape ",
                  bottoms[i].ToString(),
                  "; Attention needs 3 axes (batch, positions, values); a Reshape can make them");
  }
  const Shape &q = bottoms[0], &k = bottoms[1], &v = bottoms[2];
  const auto same = [&](int i, int axis, int other) {
    spec.RefuseIf(bottoms[i][axis] != bottoms[other][axis], {"bottom", i}, "bottoms ", other,
                  " and ", i, " are ", bottoms[other].ToString(), " and ", bottoms[i].ToString(),
                  "; axis ", axis, " must have the same extent");
  };
  same(1, 0, 0);
  same(2, 0, 0);
  same(1, 2, 0);
  same(2, 1, 1);
  const int64_t heads = param.heads();
  for (const Shape* one : {&q, &v}) {
    spec.RefuseIf(heads == 0 || (*one)[2] % heads != 0 || (*one)[2] == 0, "attention_param.heads",
                  "heads is ", heads, ", which does not divide the ", (*one)[2],
                  " values of a position in ", one->ToString(), "; set heads to a divisor of ",
                  (*one)[2]);
  }
  spec.RefuseIf(!(param.dropout_ratio() >= 0 && param.dropout_ratio() < 1),
                "attention_param.dropout_ratio", "dropout_ratio ", param.dropout_ratio(),
                " is outside [0, 1)");
  spec.RefuseIf(param.has_mask() && bottoms.size() < 4, "attention_param.mask",
                "mask says what bottom 3 does, but there is none; add the bottom or remove mask");
  AttentionForm form;
  form.batch = q[0];
  form.queries = q[1];
  form.keys = k[1];
  form.heads = heads;
  form.depth = q[2] / heads;
  form.values = v[2] / heads;
  form.scale = param.has_scale() ? param.scale() : 1 / std::sqrt(static_cast<double>(form.depth));
  if (spec.phase() == TRAIN) form.ratio = param.dropout_ratio();
  form.random = Random(spec.options.seed, Stream("attention", spec.name()));
  if (bottoms.size() > 3) ReadAttentionMask(spec, bottoms[3], &form);
  if (param.relative_bias()) ReadRelativeBias(spec, &form);
  return form;
}

LayerShape InferAttention(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const AttentionForm form = ReadAttention(spec, bottoms);
  LayerShape shape;
  shape.form = form;
  shape.tops = {Shape{form.batch, form.queries, form.heads * form.values}};
  if (form.relative) {
    shape.params = {{Shape{form.heads, 2 * form.grid_rows - 1, 2 * form.grid_columns - 1},
                     spec.param.attention_param().relative_bias_filler()}};
  }
  if (form.mask == AttentionForm::kKeep) shape.no_gradient_bottoms = {false, false, false, true};
  shape.macs = Macs({form.batch, form.heads, form.queries, form.keys, form.depth + form.values});
  return shape;
}

template <class T>
class Attention : public FormKernel<AttentionForm> {
 public:
  explicit Attention(const KernelArgs& args)
      : FormKernel(args), backward_(args.backward), tiles_(form_), sums_(args) {
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
    const bool masked = form_.mask != AttentionForm::kNoMask;
    tiles_.Bind(BottomValues<T>(0), BottomValues<T>(1), masked ? BottomValues<T>(3) : nullptr,
                form_.relative ? ParamValues<T>(0) : nullptr);
    if (backward_)
      sums_.SetTargets(masked ? BottomGradient<T>(3) : nullptr,
                       form_.relative ? ParamGradient<T>(0) : nullptr);
  }

  void Forward(const Pass& pass) override {
    const uint64_t first_sample = pass.FirstSample(form_.batch);
    const int64_t tiles = (form_.queries + kAttentionRows - 1) / kAttentionRows;
    ParallelForEach(form_.batch * form_.heads * tiles, 1, [&](int64_t unit) {
      const int64_t pair = unit / tiles;
      ComputeRows(RowsFrom(pair / form_.heads, pair % form_.heads, unit % tiles * kAttentionRows),
                  first_sample);
    });
  }

  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    const uint64_t first_sample = pass.FirstSample(form_.batch);
    const int64_t parts = sums_.parts(), units = sums_.heads_apart() ? form_.heads : 1;
    ParallelForEach(parts * units, 1, [&](int64_t unit) {
      const int64_t part = unit / units, first = unit % units;
      const int64_t last = units == 1 ? form_.heads : first + 1;
      sums_.Clear(part, first, last);
      for (int64_t n = sums_.First(part); n < sums_.First(part + 1); ++n) {
        for (int64_t head = first; head < last; ++head) BackwardHead(n, head, part, first_sample);
      }
    });
    sums_.Finish(form_.relative && add[0]);
  }

 private:
  // Memory of a thread: two tiles, and what it knows of the rows of a tile.
  struct ThreadRoom {
    T *weights, *gradient;
    AttentionRow<T>* rows;
    T* dots;
  };

  // Assigns the memory, or only counts its bytes if both arguments are null.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    if (backward_) log_sums_ = kept.Take<T>(form_.batch * form_.heads * form_.queries);
    threads_.clear();
    constexpr int64_t kTile = kAttentionRows * kAttentionColumns;
    for (int i = 0; i < NumThreads(); ++i) {
      threads_.push_back({passing.Take<T>(kTile), passing.Take<T>(backward_ ? kTile : 0),
                          passing.Take<AttentionRow<T>>(kAttentionRows),
                          passing.Take<T>(kAttentionRows)});
    }
    sums_.Place(&passing);
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  const ThreadRoom& Own() const { return threads_[static_cast<size_t>(omp_get_thread_num())]; }
  AttentionTile RowsFrom(int64_t sample, int64_t head, int64_t query) const {
    return {sample, head, query, std::min(kAttentionRows, form_.queries - query), 0, 0};
  }
  T* LogSums(const AttentionTile& t) const {
    return log_sums_ + (t.sample * form_.heads + t.head) * form_.queries + t.query;
  }

  // Computes the top of the queries of `rows`. A query whose keys are all hidden gets zeros.
  void ComputeRows(const AttentionTile& rows, uint64_t first_sample) const {
    const ThreadRoom& own = Own();
    const GemmRows<T> top = tiles_.Tops(TopValues<T>(0), rows);
    const auto scale_row = [&](int64_t r, T factor) {
      T* const row = top.data + r * top.row;
#pragma omp simd
      for (int64_t i = 0; i < form_.values; ++i) row[i] *= factor;
    };
    std::fill_n(own.rows, rows.rows, AttentionRow<T>());
    tiles_.ForEach(rows, [&](const AttentionTile& t) {
      tiles_.Scores(t, own.weights);
      for (int64_t r = 0; r < t.rows; ++r) {
        T* const row = own.weights + r * t.columns;
        const T factor = own.rows[r].Take(t.columns, row);
        if (t.key > 0 && factor != 1) scale_row(r, factor);
        if (form_.ratio > 0) {
          tiles_.ForEachKept(t, r, first_sample + static_cast<uint64_t>(t.sample),
                             [row](int64_t c, T kept) { row[c] *= kept; });
        }
      }
      Gemm(false, false, t.rows, form_.values, t.columns, T(1),
           GemmRows<const T>{own.weights, t.columns}, tiles_.Values(In(2), t), T(t.key > 0 ? 1 : 0),
           top);
    });
    for (int64_t r = 0; r < rows.rows; ++r) {
      scale_row(r, own.rows[r].sum == 0 ? T(0) : 1 / own.rows[r].sum);
      if (backward_) LogSums(rows)[r] = own.rows[r].LogSum();
    }
  }

  const T* In(size_t bottom) const { return BottomValues<T>(bottom); }

  void BackwardHead(int64_t sample, int64_t head, int64_t part, uint64_t first_sample) const {
    const ThreadRoom& own = Own();
    for (int64_t query = 0; query < form_.queries; query += kAttentionRows) {
      const AttentionTile rows = RowsFrom(sample, head, query);
      const GemmRows<const T> top = tiles_.template Tops<const T>(TopValues<T>(0), rows);
      const GemmRows<const T> dy = tiles_.template Tops<const T>(TopGradient<T>(0), rows);
      // The sum over the keys of weight * its gradient is the product of the top and its gradient.
      for (int64_t r = 0; r < rows.rows; ++r) {
        const T *const y = top.data + r * top.row, *const d = dy.data + r * dy.row;
        T dot = 0;
#pragma omp simd reduction(+ : dot)
        for (int64_t i = 0; i < form_.values; ++i) dot += y[i] * d[i];
        own.dots[r] = dot;
      }
      tiles_.ForEach(rows, [&](const AttentionTile& t) {
        ComputeGradients(t, dy, first_sample + static_cast<uint64_t>(sample), own);
        AddGradients(t, dy, own);
        sums_.Add(tiles_, t, part, own.gradient);
      });
    }
  }

  // Computes the weights of a tile, which dropout has multiplied, and the gradients of the scores.
  void ComputeGradients(const AttentionTile& t, const GemmRows<const T>& dy, uint64_t sample,
                        const ThreadRoom& own) const {
    tiles_.Scores(t, own.weights);
    Gemm(false, true, t.rows, t.columns, form_.values, T(1), dy, tiles_.Values(In(2), t), T(0),
         GemmRows<T>{own.gradient, t.columns});
    for (int64_t r = 0; r < t.rows; ++r) {
      T *const weight = own.weights + r * t.columns, *const gradient = own.gradient + r * t.columns;
      AttentionExponentials(t.columns, LogSums(t)[r], weight);
      const T dot = own.dots[r];
      if (form_.ratio > 0) {
        tiles_.ForEachKept(t, r, sample, [=](int64_t c, T kept) {
          gradient[c] = weight[c] * (gradient[c] * kept - dot);
          weight[c] *= kept;
        });
      } else {
#pragma omp simd
        for (int64_t c = 0; c < t.columns; ++c) gradient[c] = weight[c] * (gradient[c] - dot);
      }
    }
  }

  // Adds the products of a tile to the gradients of queries, keys and values. The first tile of a
  // query or a key writes.
  void AddGradients(const AttentionTile& t, const GemmRows<const T>& dy,
                    const ThreadRoom& own) const {
    const GemmRows<const T> weights{own.weights, t.columns}, gradient{own.gradient, t.columns};
    const T scale = static_cast<T>(form_.scale);
    const T query_beta = T(t.key > 0 ? 1 : 0), key_beta = T(t.query > 0 ? 1 : 0);
    if (t_.bottom_grads[0]) {
      Gemm(false, false, t.rows, form_.depth, t.columns, scale, gradient, tiles_.Keys(In(1), t),
           query_beta, tiles_.Queries(BottomGradient<T>(0), t));
    }
    if (t_.bottom_grads[1]) {
      Gemm(true, false, t.columns, form_.depth, t.rows, scale, gradient, tiles_.Queries(In(0), t),
           key_beta, tiles_.Keys(BottomGradient<T>(1), t));
    }
    if (t_.bottom_grads[2]) {
      Gemm(true, false, t.columns, form_.values, t.rows, T(1), weights, dy, key_beta,
           tiles_.Values(BottomGradient<T>(2), t));
    }
  }

  const bool backward_;
  AttentionTiles<T> tiles_;
  AttentionBiasSums<T> sums_;
  std::vector<ThreadRoom> threads_;
  T* log_sums_ = nullptr;  // of each sample, head and query
};

DOPPIO_REGISTER_LAYER("Attention",
                      LayerType(&InferAttention).Bottoms(3, 4).Tops(1).Params({"relative_bias"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Attention>("Attention"));

}  // namespace
}  // namespace doppio
