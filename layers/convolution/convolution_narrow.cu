#include "core/device/elementwise.cuh"
#include "layers/convolution/convolution_cuda.h"

namespace doppio {
namespace {

// Where the channels of a pixel go: a thread for each pack of neighbours, which are of one group.
struct Place {
  Divider<int32_t> by_packs, by_group;
  int32_t packs, channels, group_channels, cells;
  int32_t width;

  Place(const LastUnfolding& u, int32_t cells, int32_t width)
      : by_packs(u.channels / width),
        by_group(u.channels / u.group),
        packs(static_cast<int32_t>(u.channels / width)),
        channels(static_cast<int32_t>(u.channels)),
        group_channels(static_cast<int32_t>(u.channels / u.group)),
        cells(cells),
        width(width) {}

  // Of thread i.
  __host__ __device__ int32_t Row(int64_t i) const { return by_packs(static_cast<int32_t>(i)); }
  __host__ __device__ int32_t Channel(int64_t i) const {
    return (static_cast<int32_t>(i) - Row(i) * packs) * width;
  }
  // In a row of the matrix, in the first cell; the next one follows after group_channels.
  __host__ __device__ int32_t InRow(int32_t channel) const {
    const int32_t group = by_group(channel);
    return group * (cells - 1) * group_channels + channel;
  }
};

// Nothing is computed, so the type does not matter.
template <int kWidth, int kAxes>
static void Unfold(const Gpu& gpu, const LastUnfolding& u, const Windows<kAxes>& w, int64_t images,
                   const uint16_t* x, uint16_t* matrix) {
  const Place place(u, w.cells, kWidth);
  const Divider<int32_t> by_columns(w.columns);
  ForEachIndex(
      gpu, images * w.columns * place.packs, "unfolding windows", DOPPIO_BODY(int64_t i) {
        const int32_t row = place.Row(i), channel = place.Channel(i), image = by_columns(row);
        const uint16_t* from =
            x + static_cast<int64_t>(image) * w.pixels * place.channels + channel;
        uint16_t* to =
            matrix + static_cast<int64_t>(row) * place.channels * w.cells + place.InRow(channel);
        w.ForEachCell(row - image * w.columns, [=](int32_t cell, bool inside, uint32_t pixel) {
          Pack<uint16_t, kWidth> pack{};
          if (inside) pack = LoadPack<kWidth>(from + static_cast<int64_t>(pixel) * place.channels);
          StorePack(pack, to + static_cast<int64_t>(cell) * place.group_channels);
        });
      });
}

// A thread gathers for its pixel: no atomics, always the same order.
template <int kWidth, int kAxes, class T>
static void Fold(const Gpu& gpu, const LastUnfolding& u, const Windows<kAxes>& w, int64_t images,
                 const float* matrix, T* x) {
  const Place place(u, w.cells, kWidth);
  const Divider<int32_t> by_pixels(w.pixels);
  ForEachIndex(
      gpu, images * w.pixels * place.packs, "folding windows", DOPPIO_BODY(int64_t i) {
        const int32_t row = place.Row(i), channel = place.Channel(i), image = by_pixels(row);
        const int64_t columns = static_cast<int64_t>(place.channels) * w.cells;
        const float* from = matrix + image * w.columns * columns + place.InRow(channel);
        float sums[kWidth] = {};
        w.ForEachWindow(row - image * w.pixels, [&](int32_t cell, int32_t window) {
          const Pack<float, kWidth> pack = LoadPack<kWidth>(
              from + window * columns + static_cast<int64_t>(cell) * place.group_channels);
          for (int lane = 0; lane < kWidth; ++lane) sums[lane] += pack.v[lane];
        });
        Pack<T, kWidth> pack;
        for (int lane = 0; lane < kWidth; ++lane) pack.v[lane] = static_cast<T>(sums[lane]);
        StorePack(pack, x + static_cast<int64_t>(row) * place.channels + channel);
      });
}

template <class T>
static void AddFilter(const Gpu& gpu, const FilterShape& f, const T* from, bool add, float* dw) {
  const Divider<int32_t> by_cells(f.cells), by_inputs(f.inputs);
  const int64_t inputs = f.inputs, cells = f.cells;
  ForEachIndex(
      gpu, f.count(), "the gradient of a filter", DOPPIO_BODY(int64_t i) {
        const int64_t plane = by_cells(static_cast<int32_t>(i));
        const int64_t output = by_inputs(static_cast<int32_t>(plane));
        const int64_t cell = i - plane * cells, input = plane - output * inputs;
        const float value = static_cast<float>(from[(output * cells + cell) * inputs + input]);
        dw[i] = add ? dw[i] + value : value;
      });
}

constexpr int kWide = kPackWidth<uint16_t>;

// Whether packs of channels may be moved.
bool Packed(const LastUnfolding& u, const void* image, const void* matrix) {
  return u.channels / u.group % kWide == 0 &&
         PacksFit(static_cast<const char*>(image), static_cast<const char*>(matrix));
}

}  // namespace

void LaunchUnfoldLast(const Gpu& gpu, const LastUnfolding& u, int64_t images, const void* x,
                      void* matrix) {
  const auto* from = static_cast<const uint16_t*>(x);
  auto* to = static_cast<uint16_t*>(matrix);
  std::visit(
      [&](const auto& w) {
        if (Packed(u, x, matrix)) {
          Unfold<kWide>(gpu, u, w, images, from, to);
        } else {
          Unfold<1>(gpu, u, w, images, from, to);
        }
      },
      u.windows);
}

void LaunchFoldLast(const Gpu& gpu, const LastUnfolding& u, int64_t images, const float* matrix,
                    DType type, void* x) {
  const auto fold = [&](auto* to) {
    std::visit(
        [&](const auto& w) {
          if (Packed(u, x, matrix)) {
            Fold<kWide>(gpu, u, w, images, matrix, to);
          } else {
            Fold<1>(gpu, u, w, images, matrix, to);
          }
        },
        u.windows);
  };
  if (type == DType::kFloat16) {
    fold(static_cast<Half*>(x));
  } else {
    fold(static_cast<BFloat16*>(x));
  }
}

void LaunchFilterGradient(const Gpu& gpu, const FilterShape& filter, DType type, const void* from,
                          bool add, float* dw) {
  DispatchStored(type, [&](auto zero) {
    AddFilter(gpu, filter, static_cast<const decltype(zero)*>(from), add, dw);
  });
}

}  // namespace doppio
