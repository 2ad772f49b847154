// Dropout: in training, zeroes each element with probability dropout_ratio and scales the others so
// that the expectation stays the same; otherwise it passes its bottom through. Backward reads one
// saved bit per element. Fields of Caffe's forks vary this (dropout_form.h).
//
// SpatialDropout zeroes whole channels (Tompson et al., "Efficient Object Localization Using
// Convolutional Networks", CVPR 2015).
//
// With `whole_samples`, Dropout zeroes whole samples: stochastic depth, or drop path, of a branch
// (Huang et al., "Deep Networks with Stochastic Depth", ECCV 2016).
//
// SeLuDropout is the alpha dropout of Klambauer et al., "Self-Normalizing Neural Networks", 2017:
// dropped elements get SELU's value far below 0, and then all are scaled and shifted such that mean
// 0 and variance 1 stay as they are.
#include <algorithm>
#include <cmath>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/activation/dropout_form.h"
#include "layers/common/lanes.h"
#include "layers/common/stored_kernel.h"

namespace doppio {
namespace {

// Sets what SeLuDropout makes of its elements. With q = 1 - ratio and the paper's alpha', its
// equations for a and b are normalizer = (q + alpha'^2 q (1 - q))^(-1/2) and
// offset = -normalizer (1 - q) alpha'.
void Normalize(double alpha, DropoutForm* form) {
  const double ratio = form->ratio, keep = 1 - ratio;
  form->kept = DropoutForm::kNormalize;
  form->normalizer = 1 / std::sqrt(keep + alpha * alpha * keep * ratio);
  form->offset = -form->normalizer * ratio * alpha;
  form->dropped = form->normalizer * alpha + form->offset;
}

// Returns the layer's dropout_ratio. Throws UserError if it is not a probability below 1.
float ReadRatio(const LayerSpec& spec) {
  const bool channels = spec.type() == kSpatialDropout, selu = spec.type() == kSeluDropout;
  const float ratio = channels ? spec.param.spatial_dropout_param().dropout_ratio()
                      : selu   ? spec.param.selu_dropout_param().dropout_ratio()
                               : spec.param.dropout_param().dropout_ratio();
  if (ratio >= 0 && ratio < 1) return ratio;
  const std::string field = channels ? "spatial_dropout_param"
                            : selu   ? "selu_dropout_param"
                                     : "dropout_param";
  throw spec.Mistake(field + ".dropout_ratio",
                     StrCat("dropout_ratio ", ratio, " is outside [0, 1)"));
}

DropoutForm ReadDropout(const LayerSpec& spec, const Shape& bottom) {
  DropoutForm form;
  form.given = ReadRatio(spec);
  const DropoutParameter param =
      spec.type() == "Dropout" ? spec.param.dropout_param() : DropoutParameter();
  const bool drops = spec.phase() == TRAIN || param.sample_weights_test();
  if (drops) form.ratio = form.given;
  if (spec.type() == kSeluDropout) {
    if (drops) Normalize(spec.param.selu_dropout_param().alpha(), &form);
  } else if (drops == param.scale_train()) {
    form.kept = drops ? DropoutForm::kDivide : DropoutForm::kMultiply;
  }
  const int64_t own = param.random_seed();  // an NVCaffe layer may have its own seed
  form.random = Random(own >= 0 ? static_cast<uint64_t>(own) : spec.options.seed,
                       Stream("dropout", spec.name()));
  form.samples = bottom.dim_or_1(0);
  form.channels = bottom.dim_or_1(1);
  form.positions = bottom.rank() > 2 ? bottom.count(2) : 1;
  if (param.whole_samples()) {
    form.positions *= form.channels;
    form.channels = 1;
  }
  form.whole_channels = param.whole_samples() || spec.type() == kSpatialDropout;
  return form;
}

LayerShape InferDropout(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const DropoutForm form = ReadDropout(spec, bottoms[0]);
  LayerShape shape;
  shape.form = form;
  shape.tops = {bottoms[0]};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.in_place_ok = true;
  if (form.is_identity()) shape.view = View::kSame;
  return shape;
}

// Needs the plain layout, because the random numbers are indexed in row-major order.
template <class T>
class Dropout : public FormKernel<DropoutForm> {
  using Wide = ComputeType<T>;

 public:
  explicit Dropout(const KernelArgs& args)
      : FormKernel(args),
        values_(form_.values<Wide>()),
        gradients_(form_.gradients<Wide>()),
        per_sample_(form_.per_sample()) {
    needs_.saved_bytes = form_.samples * BitsPerSample() / 8;
  }

  void Forward(const Pass& pass) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    const uint64_t first_sample = pass.FirstSample(form_.samples);
    ForEachChunk([=](int64_t sample, int64_t element, int64_t begin, int64_t count, Bits* kept) {
      Draw(first_sample + static_cast<uint64_t>(sample), element, kept);
      Apply(values_, kept, count, x + begin, y + begin);
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* dy = TopGradient<T>(0);
    T* dx = BottomGradient<T>(0);
    ForEachChunk([=](int64_t, int64_t, int64_t begin, int64_t count, const Bits* kept) {
      Apply(gradients_, kept, count, dy + begin, dx + begin);
    });
  }

 private:
  // The bits of kLanes neighbouring elements: as many floats as a vector register holds.
  using Bits = uint16_t;
  static constexpr int64_t kLanes = 16;
  static constexpr int64_t kChunk = 256;  // elements; four of them share a Philox call

  int64_t BitsPerSample() const { return (per_sample_ + kChunk - 1) / kChunk * kChunk; }

  // Calls f(sample, element, begin, count, kept) for every chunk, in parallel. The chunk has
  // `count` elements. Its first element has index `element` in the sample and `begin` in the
  // tensor. `kept` points to the chunk's bits.
  template <class F>
  void ForEachChunk(const F& f) const {
    const int64_t chunks = BitsPerSample() / kChunk;
    Bits* const kept = static_cast<Bits*>(t_.saved);
    ParallelForEach(form_.samples * chunks, 16, [&](int64_t i) {
      const int64_t sample = i / chunks, element = i % chunks * kChunk;
      f(sample, element, sample * per_sample_ + element, std::min(kChunk, per_sample_ - element),
        kept + i * (kChunk / kLanes));
    });
  }

  // Fills `kept` with the bits of a chunk that starts at `element`. Writes the whole chunk, even
  // beyond the end of the sample.
  void Draw(uint64_t sample, int64_t element, Bits* kept) const {
    uint32_t words[kChunk];
    const uint64_t first = static_cast<uint64_t>(element) / 4;
    const Random random = form_.random;
#pragma omp simd
    for (int i = 0; i < kChunk / 4; ++i) {
      const Random4 four = random.At(sample, first + static_cast<uint64_t>(i));
      words[4 * i] = four.v[0];
      words[4 * i + 1] = four.v[1];
      words[4 * i + 2] = four.v[2];
      words[4 * i + 3] = four.v[3];
    }
    const float ratio = form_.ratio;
    for (int64_t i = 0; i < kChunk; i += kLanes) {
      uint32_t bits = 0;
#pragma omp simd reduction(| : bits)
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        bits |= (IsKept(words[i + lane], ratio) ? 1u : 0u) << lane;
      }
      kept[i / kLanes] = static_cast<Bits>(bits);
    }
  }

  // Writes `count` elements of a chunk, kept if their bit is set. `to` may be `from`.
  static void Apply(const DropoutMap<Wide>& map, const Bits* kept, int64_t count, const T* from,
                    T* to) {
    const int64_t whole = count / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes) ApplyLanes(map, kept[i / kLanes], from + i, to + i);
    for (int64_t i = whole; i < count; ++i) {
      const bool keep = (kept[i / kLanes] >> (i % kLanes) & 1u) != 0;
      to[i] = static_cast<T>(map(keep, Widen(from[i])));
    }
  }

  // Writes kLanes elements.
  static void ApplyLanes(const DropoutMap<Wide>& map, Bits kept, const T* from, T* to) {
    using Integer = IntegerLike<Wide>;
    static constexpr Lanes<Integer, kLanes> kBits = {
        1 << 0, 1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
        1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
    const auto keep = (kBits & static_cast<Integer>(kept)) != 0;
    const Lanes<Wide, kLanes> mapped = LoadWide<kLanes>(from) * map.scale + map.offset;
    StoreRounded<kLanes>(to, keep ? mapped : Lanes<Wide, kLanes>{} + map.dropped);
  }

  const DropoutMap<Wide> values_, gradients_;
  const int64_t per_sample_;
};

// Draws the same numbers again in backward instead of saving bits: one number per channel is cheap.
template <class T>
class SpatialDropout : public FormKernel<DropoutForm> {
  using Wide = ComputeType<T>;

 public:
  using FormKernel::FormKernel;

  void Forward(const Pass& pass) override { Run(pass, BottomValues<T>(0), TopValues<T>(0)); }
  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    Run(pass, TopGradient<T>(0), BottomGradient<T>(0));
  }

 private:
  void Run(const Pass& pass, const T* from, T* to) const {
    const uint64_t first_sample = pass.FirstSample(form_.samples);
    const int64_t channels = form_.channels, positions = form_.positions;
    const DropoutMap<Wide> map = form_.values<Wide>();  // that of the gradients, too
    ParallelForEach(form_.samples * channels, 1 + 8192 / (positions + 1), [=](int64_t i) {
      const uint64_t sample = first_sample + static_cast<uint64_t>(i / channels);
      const uint64_t channel = static_cast<uint64_t>(i % channels);
      const bool kept = IsKept(form_.random.Bits(sample, channel), form_.ratio);
      for (int64_t at = i * positions; at < (i + 1) * positions; ++at)
        to[at] = static_cast<T>(map(kept, Widen(from[at])));
    });
  }
};

std::unique_ptr<Kernel> MakeDropout(const KernelArgs& args) {
  return args.Form<DropoutForm>().whole_channels ? MakeForStored<SpatialDropout>(args)
                                                 : MakeForStored<Dropout>(args);
}

DOPPIO_REGISTER_LAYER("Dropout",
                      LayerType(&InferDropout).Bottoms(1).Tops(1).KeepsCoordinates().RowByRow());
DOPPIO_REGISTER_KERNEL(KernelType("Dropout", &MakeDropout).Engine("reference").Narrow());
DOPPIO_REGISTER_LAYER(kSpatialDropout,
                      LayerType(&InferDropout).Bottoms(1).Tops(1).KeepsCoordinates().RowByRow());
DOPPIO_REGISTER_KERNEL(StoredKernelType<SpatialDropout>(kSpatialDropout));
DOPPIO_REGISTER_LAYER(kSeluDropout,
                      LayerType(&InferDropout).Bottoms(1).Tops(1).KeepsCoordinates().RowByRow());
DOPPIO_REGISTER_KERNEL(StoredKernelType<Dropout>(kSeluDropout));

}  // namespace
}  // namespace doppio
