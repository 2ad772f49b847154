// Interp (DeepLab, PSPNet) resizes images bilinearly with aligned corners, either to a given size
// or by a factor, or to the size of a second bottom.
#include <algorithm>
#include <vector>

#include "core/base/threads.h"
#include "core/net/contract/kernel.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/shape/interp_kernel.h"

namespace doppio {
namespace {

// Throws UserError unless `use_blob_size` and a second bottom come together, without another size.
void CheckInterpSize(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const InterpParameter& p = spec.param.interp_param();
  spec.RefuseIf(bottoms.size() == 2 && !p.use_blob_size(), {"bottom", 1},
                "Interp reads a second bottom only with interp_param { use_blob_size: true }, "
                "which takes its size");
  if (!p.use_blob_size()) return;
  spec.RefuseIf(bottoms.size() == 1, "interp_param.use_blob_size",
                "use_blob_size takes the size of a second bottom, but there is none");
  spec.RefuseIf(p.has_height() || p.has_width() || p.has_zoom_factor() || p.has_shrink_factor(),
                "interp_param.use_blob_size",
                "use_blob_size takes the size of the second bottom; remove height, width, "
                "zoom_factor and shrink_factor");
  spec.RefuseIf(bottoms[1].rank() != 4, {"bottom", 1},
                "use_blob_size needs a bottom with 4 axes, found ", bottoms[1].ToString());
}

InterpForm ReadInterp(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const InterpParameter& p = spec.param.interp_param();
  const std::string path = "interp_param.";
  CheckImages(spec, bottom);
  CheckInterpSize(spec, bottoms);
  const bool factor = p.has_zoom_factor() || p.has_shrink_factor();
  spec.RefuseIf(p.has_height() != p.has_width(), path + (p.has_height() ? "height" : "width"),
                "height and width are both needed");
  spec.RefuseIf(
      !p.use_blob_size() && factor == p.has_height(), factor ? path + "height" : "interp_param",
      "give height and width, or zoom_factor or shrink_factor", factor ? ", not both" : "");
  auto positive = [&](const char* field, int64_t value) {
    spec.RefuseIf(!(value > 0), path + field, field, " must be positive, found ", value);
  };
  positive("zoom_factor", p.zoom_factor());
  positive("shrink_factor", p.shrink_factor());
  if (p.has_height()) positive("height", p.height());
  if (p.has_width()) positive("width", p.width());
  for (const bool begin : {true, false}) {
    spec.RefuseIf(!((begin ? p.pad_beg() : p.pad_end()) <= 0),
                  path + (begin ? "pad_beg" : "pad_end"),
                  "the pads of Interp remove pixels, so they must be 0 or negative");
  }
  auto axis = [&](int64_t input, int64_t wanted) {
    const int64_t extent = input + p.pad_beg() + p.pad_end();
    spec.RefuseIf(extent <= 0, path + (p.pad_beg() < 0 ? "pad_beg" : "pad_end"),
                  "pad_beg and pad_end remove all pixels of an axis of ", input);
    const int64_t shrunk = (extent - 1) / p.shrink_factor() + 1;
    const int64_t output = factor ? (shrunk - 1) * p.zoom_factor() + 1 : wanted;
    spec.RefuseIf(output > INT32_MAX / extent, "interp_param", "an axis of ", input,
                  " would become ", output, ", which is too large");
    return ResizedAxis(input, -static_cast<int64_t>(p.pad_beg()), extent, output);
  };
  const int64_t height = p.use_blob_size() ? bottoms[1][2] : p.height();
  const int64_t width = p.use_blob_size() ? bottoms[1][3] : p.width();
  return {bottom[0] * bottom[1], axis(bottom[2], height), axis(bottom[3], width)};
}

LayerShape InferInterp(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const InterpForm form = ReadInterp(spec, bottoms);
  LayerShape shape;
  shape.form = form;
  shape.tops = {{bottoms[0][0], bottoms[0][1], form.h.output, form.w.output}};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (bottoms.size() == 2) {
    shape.no_gradient_bottoms = {false, true};
    shape.no_gradient_bottoms_may_learn = true;
  }
  if (bottoms.size() == 1 && shape.tops[0] == bottoms[0] && form.h.extent == form.h.input &&
      form.w.extent == form.w.input) {
    shape.view = View::kSame;
  }
  return shape;
}

// The pixels [first] and [next] that each output of an axis reads, relative to the axis's begin,
// and the share of the second one. Without a share, both are the same pixel.
template <class T>
struct Taps {
  explicit Taps(const ResizedAxis& axis) {
    for (int64_t o = 0; o < axis.output; ++o) {
      const auto source = axis.Of<T>(o);
      first.push_back(source.first);
      next.push_back(source.first + (source.part > 0 ? 1 : 0));
      part.push_back(source.part);
    }
  }
  std::vector<int64_t> first, next;
  std::vector<T> part;
};

// Resizes along one axis after the other: sums of whole rows are vectorised, and only one row per
// result is resized along the columns.
template <class T>
class Interp : public FormKernel<InterpForm> {
 public:
  explicit Interp(const KernelArgs& args) : FormKernel(args), rows_(form_.h), columns_(form_.w) {}

  void Forward(const Pass&) override {
    const T* const x = BottomValues<T>(0);
    T* const y = TopValues<T>(0);
    const ResizedAxis &h = form_.h, &w = form_.w;
    ParallelFor(form_.planes * h.output, RowsPerTask(), [&, x, y](int64_t begin, int64_t end) {
      std::vector<T> blended(w.extent);
      for (int64_t row = begin; row < end; ++row) {
        const int64_t plane = row / h.output, i = row % h.output;
        const T* const corner = x + (plane * h.input + h.begin) * w.input + w.begin;
        Blend(corner + rows_.first[i] * w.input, corner + rows_.next[i] * w.input, rows_.part[i],
              &blended);
        T* const out = y + row * w.output;
        for (int64_t o = 0; o < w.output; ++o) {
          const T part = columns_.part[o];
          out[o] = (1 - part) * blended[columns_.first[o]] + part * blended[columns_.next[o]];
        }
      }
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* const dy = TopGradient<T>(0);
    T* const dx = BottomGradient<T>(0);
    const ResizedAxis &h = form_.h, &w = form_.w;
    ParallelFor(form_.planes * h.input, RowsPerTask(), [&, dy, dx](int64_t begin, int64_t end) {
      std::vector<T> sum(w.output);
      for (int64_t row = begin; row < end; ++row) {
        T* const out = dx + row * w.input;
        std::fill(out, out + w.input, T(0));
        const int64_t plane = row / h.input, i = row % h.input - h.begin;
        if (!AddOutputs(dy + plane * h.output * w.output, i, &sum)) continue;
        T* const pixels = out + w.begin;
        for (int64_t o = 0; o < w.output; ++o) {
          pixels[columns_.first[o]] += (1 - columns_.part[o]) * sum[o];
          pixels[columns_.next[o]] += columns_.part[o] * sum[o];
        }
      }
    });
  }

  bool same_every_pass() const override { return true; }

 private:
  int64_t RowsPerTask() const { return 1 + 8192 / (form_.w.input + form_.w.output); }

  static void Blend(const T* upper, const T* lower, T part, std::vector<T>* blended) {
    T* const to = blended->data();
    const auto count = static_cast<int64_t>(blended->size());
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) to[j] = (1 - part) * upper[j] + part * lower[j];
  }

  // Sums the rows of the top's gradient that read row `i`, which is relative to the axis's begin,
  // each with its share. Returns false if there is none.
  bool AddOutputs(const T* dy, int64_t i, std::vector<T>* sum) const {
    const ResizedAxis& h = form_.h;
    if (i < 0 || i >= h.extent) return false;
    T* const to = sum->data();
    const auto count = static_cast<int64_t>(sum->size());
    bool any = false;
    for (int64_t a = h.Low(i); a <= h.High(i); ++a) {
      const T share = h.Share<T>(i, a);
      if (share == 0) continue;
      const T* const from = dy + a * count;
      if (!any) std::fill(to, to + count, T(0));
      any = true;
#pragma omp simd
      for (int64_t o = 0; o < count; ++o) to[o] += share * from[o];
    }
    return any;
  }

  const Taps<T> rows_, columns_;
};

DOPPIO_REGISTER_LAYER("Interp", LayerType(&InferInterp).Bottoms(1, 2).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Interp>("Interp"));

}  // namespace
}  // namespace doppio
