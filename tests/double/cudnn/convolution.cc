#include "tests/double/cudnn/convolution.h"

#include <algorithm>
#include <array>

#include "tests/double/cudnn/tensors_product.h"

namespace doppio::gpu_double {
namespace {

// Extents of the spatial axes, padded with leading axes of extent 1, so that there are always
// three.
using Extents = std::array<int64_t, 3>;

Extents Three(const int64_t* begin, size_t count, int64_t otherwise) {
  Extents e{otherwise, otherwise, otherwise};
  std::copy(begin, begin + count, e.end() - static_cast<int64_t>(count));
  return e;
}

// Output positions o in [0, outs) whose input o * stride + shift is in [0, ins).
struct Range {
  Range(int64_t outs, int64_t ins, int64_t stride, int64_t shift) {
    begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    end = ins - shift <= 0 ? 0 : (ins - shift + stride - 1) / stride;
    end = std::min(end, outs);
    begin = std::min(begin, outs);
    end = std::max(begin, end);
  }
  int64_t begin, end;
};

struct Shape3 {
  Shape3(const std::vector<int64_t>& x, const std::vector<int64_t>& w,
         const std::vector<int64_t>& y, const ConvolutionGeometry& g)
      : batch(x[0]),
        group(g.group),
        ins(x[1] / g.group),
        outs(y[1] / g.group),
        in(Three(&x[2], x.size() - 2, 1)),
        kernel(Three(&w[2], w.size() - 2, 1)),
        out(Three(&y[2], y.size() - 2, 1)),
        pad(Three(g.pads.data(), g.pads.size(), 0)),
        stride(Three(g.strides.data(), g.strides.size(), 1)),
        dilation(Three(g.dilations.data(), g.dilations.size(), 1)),
        flipped(g.flipped) {}

  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t window() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t depth() const { return ins * window(); }
  int64_t columns() const { return depth() * out_pixels(); }
  int64_t weights() const { return outs * depth(); }  // number for one group

  // Returns the position in the input that the first output reads for a kernel position.
  int64_t Shift(int axis, int64_t position) const {
    const int64_t p = flipped ? kernel[axis] - 1 - position : position;
    return p * dilation[axis] - pad[axis];
  }

  // Calls row(column row, image row, range, shift) for each channel, kernel position and run of
  // output pixels along the last axis. `column` and `image` are offsets.
  template <class Row>
  void ForEachRow(const Row& row) const {
    int64_t column = 0;
    for (int64_t c = 0; c < ins; ++c) {
      for (int64_t a = 0; a < kernel[0]; ++a) {
        for (int64_t b = 0; b < kernel[1]; ++b) {
          for (int64_t d = 0; d < kernel[2]; ++d) {
            const int64_t shift = Shift(2, d);
            const Range range(out[2], in[2], stride[2], shift);
            for (int64_t i = 0; i < out[0]; ++i) {
              const int64_t z = i * stride[0] + Shift(0, a);
              for (int64_t j = 0; j < out[1]; ++j, column += out[2]) {
                const int64_t h = j * stride[1] + Shift(1, b);
                if (z < 0 || z >= in[0] || h < 0 || h >= in[1]) continue;
                row(column, ((c * in[0] + z) * in[1] + h) * in[2], range, shift);
              }
            }
          }
        }
      }
    }
  }

  int64_t batch, group, ins, outs;  // channels per group
  Extents in, kernel, out, pad, stride, dilation;
  bool flipped;
};

template <class T>
void Unfold(const Shape3& s, const T* image, T* columns) {
  std::fill(columns, columns + s.columns(), T{0});
  s.ForEachRow([&](int64_t column, int64_t row, const Range& range, int64_t shift) {
    for (int64_t o = range.begin; o < range.end; ++o) {
      columns[column + o] = image[row + o * s.stride[2] + shift];
    }
  });
}

// Adds the columns to the image.
template <class T>
void Fold(const Shape3& s, const T* columns, T* image) {
  s.ForEachRow([&](int64_t column, int64_t row, const Range& range, int64_t shift) {
    for (int64_t o = range.begin; o < range.end; ++o) {
      image[row + o * s.stride[2] + shift] += columns[column + o];
    }
  });
}

template <class T>
void Load(const Strided& tensor, Part part, bool tf32, std::vector<T>* dense) {
  LoadDense(tensor, part, dense->data());
  if (!tf32) return;
  for (T& value : *dense) value = RoundToTf32(static_cast<float>(value));
}

template <class T>
std::vector<T> Room(int64_t count) {
  return std::vector<T>(static_cast<size_t>(count));
}

}  // namespace

std::vector<int64_t> ConvolvedDims(const std::vector<int64_t>& x, const std::vector<int64_t>& w,
                                   const ConvolutionGeometry& g) {
  const size_t axes = g.pads.size();
  if (x.size() != axes + 2 || w.size() != axes + 2 || g.group < 1 || x[1] != w[1] * g.group ||
      w[0] % g.group != 0) {
    return {};
  }
  std::vector<int64_t> y{x[0], w[0]};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t room = x[i + 2] + 2 * g.pads[i] - (w[i + 2] - 1) * g.dilations[i] - 1;
    if (room < 0) return {};
    y.push_back(room / g.strides[i] + 1);
  }
  return y;
}

template <class T>
std::vector<T> ConvolveForward(const Strided& x, const Strided& w, const ConvolutionGeometry& g) {
  const std::vector<int64_t> y_dims = ConvolvedDims(x.dims, w.dims, g);
  const Shape3 s(x.dims, w.dims, y_dims, g);
  auto weights = Room<T>(CountOf(w.dims)), y = Room<T>(CountOf(y_dims));
  auto image = Room<T>(s.group * s.ins * s.in_pixels()), columns = Room<T>(s.columns());
  Load(w, {0, w.dims[0]}, g.tf32, &weights);
  T* out = y.data();
  for (int64_t n = 0; n < s.batch; ++n) {
    Load(x, {n, 1}, g.tf32, &image);
    for (int64_t i = 0; i < s.group; ++i, out += s.outs * s.out_pixels()) {
      Unfold(s, &image[i * s.ins * s.in_pixels()], columns.data());
      MultiplyMatrices(false, false, s.outs, s.out_pixels(), s.depth(), &weights[i * s.weights()],
                       columns.data(), false, out);
    }
  }
  return y;
}

template <class T>
std::vector<T> ConvolveBackwardData(const Strided& w, const Strided& dy,
                                    const std::vector<int64_t>& x_dims,
                                    const ConvolutionGeometry& g) {
  const Shape3 s(x_dims, w.dims, dy.dims, g);
  auto weights = Room<T>(CountOf(w.dims)), dx = Room<T>(CountOf(x_dims));
  auto image = Room<T>(s.group * s.outs * s.out_pixels()), columns = Room<T>(s.columns());
  Load(w, {0, w.dims[0]}, g.tf32, &weights);
  T* in = dx.data();
  for (int64_t n = 0; n < s.batch; ++n) {
    Load(dy, {n, 1}, g.tf32, &image);
    for (int64_t i = 0; i < s.group; ++i, in += s.ins * s.in_pixels()) {
      // Computes the sum in two parts unless the order is 0, so that sums over the outputs are
      // rounded at other places.
      const int64_t part = static_cast<int64_t>(g.order % static_cast<uint64_t>(s.outs));
      const T* rows = &weights[i * s.weights()];
      const T* gradient = &image[i * s.outs * s.out_pixels()];
      MultiplyMatrices(true, false, s.depth(), s.out_pixels(), s.outs - part,
                       rows + part * s.depth(), gradient + part * s.out_pixels(), false,
                       columns.data());
      if (part > 0) {
        MultiplyMatrices(true, false, s.depth(), s.out_pixels(), part, rows, gradient, true,
                         columns.data());
      }
      Fold(s, columns.data(), in);
    }
  }
  return dx;
}

template <class T>
std::vector<T> ConvolveBackwardFilter(const Strided& x, const Strided& dy,
                                      const std::vector<int64_t>& w_dims,
                                      const ConvolutionGeometry& g) {
  const Shape3 s(x.dims, w_dims, dy.dims, g);
  auto dw = Room<T>(CountOf(w_dims)), columns = Room<T>(s.columns());
  auto image = Room<T>(s.group * s.ins * s.in_pixels());
  auto gradient = Room<T>(s.group * s.outs * s.out_pixels());
  for (int64_t step = 0; step < s.batch; ++step) {
    const int64_t n =
        (step + static_cast<int64_t>(g.order % static_cast<uint64_t>(s.batch))) % s.batch;
    Load(x, {n, 1}, g.tf32, &image);
    Load(dy, {n, 1}, g.tf32, &gradient);
    for (int64_t i = 0; i < s.group; ++i) {
      Unfold(s, &image[i * s.ins * s.in_pixels()], columns.data());
      MultiplyMatrices(false, true, s.outs, s.depth(), s.out_pixels(),
                       &gradient[i * s.outs * s.out_pixels()], columns.data(), true,
                       &dw[i * s.weights()]);
    }
  }
  return dw;
}

#define DOPPIO_INSTANTIATE(T)                                                                   \
  template std::vector<T> ConvolveForward<T>(const Strided&, const Strided&,                    \
                                             const ConvolutionGeometry&);                       \
  template std::vector<T> ConvolveBackwardData<T>(                                              \
      const Strided&, const Strided&, const std::vector<int64_t>&, const ConvolutionGeometry&); \
  template std::vector<T> ConvolveBackwardFilter<T>(                                            \
      const Strided&, const Strided&, const std::vector<int64_t>&, const ConvolutionGeometry&);
DOPPIO_INSTANTIATE(float)
DOPPIO_INSTANTIATE(double)
#undef DOPPIO_INSTANTIATE

}  // namespace doppio::gpu_double
