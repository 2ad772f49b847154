// Permute, Crop, Reorg and ShuffleChannel on a GPU, for elements of 2 or 4 bytes.
#include "core/device/launch.cuh"
#include "core/net/contract/kernel.h"
#include "layers/common/divider.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/shape/strided_box.h"

namespace doppio {
namespace {

constexpr int kMostBoxAxes = 8;

// Finds the indices in the bottom and in the top of element i of a box, in row-major order. Int is
// wide enough for the number of elements.
template <class Int>
struct BoxPlaces {
  int axes = 0;
  Divider<Int> by_extent[kMostBoxAxes];
  int64_t extent[kMostBoxAxes], bottom[kMostBoxAxes], top[kMostBoxAxes];
  int64_t bottom_offset;

  explicit BoxPlaces(const StridedBox& box) : bottom_offset(box.bottom_offset) {
    for (const StridedBox::Axis& axis : box.axes) {
      by_extent[axes] = Divider<Int>(axis.extent);
      extent[axes] = axis.extent;
      bottom[axes] = axis.bottom;
      top[axes] = axis.top;
      ++axes;
    }
  }

  // Calls f(index in the bottom, index in the top).
  template <class F>
  DOPPIO_HD void At(int64_t i, const F& f) const {
    int64_t in_bottom = bottom_offset, in_top = 0;
    for (int a = axes - 1; a >= 0; --a) {
      const int64_t rest = by_extent[a](static_cast<Int>(i));
      in_bottom += (i - rest * extent[a]) * bottom[a];
      in_top += (i - rest * extent[a]) * top[a];
      i = rest;
    }
    f(in_bottom, in_top);
  }
};

template <class Int, class T>
static void Copy(const Gpu& gpu, const StridedBox& box, const T* from, T* to, bool to_top) {
  const BoxPlaces<Int> places(box);
  ForEachIndex(
      gpu, box.count(), "a rearrangement", DOPPIO_BODY(int64_t i) {
        places.At(i, [=](int64_t bottom, int64_t top) {
          if (to_top) {
            to[top] = from[bottom];
          } else {
            to[bottom] = from[top];
          }
        });
      });
}

template <class T>
static void CopyElements(const Gpu& gpu, const StridedBox& box, const void* from, void* to,
                         bool to_top) {
  WithIndexFor(box.count(), [&](auto zero) {
    Copy<decltype(zero)>(gpu, box, static_cast<const T*>(from), static_cast<T*>(to), to_top);
  });
}

// Copies the box from a bottom to a top with `to_top`, else from a top to a bottom.
static void CopyBox(const Gpu& gpu, const StridedBox& box, int64_t element_bytes, const void* from,
                    void* to, bool to_top) {
  if (element_bytes == 2) {
    CopyElements<uint16_t>(gpu, box, from, to, to_top);
  } else {
    CopyElements<uint32_t>(gpu, box, from, to, to_top);
  }
}

class CudaRearrangement : public FormKernel<StridedBox> {
 public:
  explicit CudaRearrangement(const KernelArgs& args)
      : FormKernel(args), element_bytes_(ElementBytes(args.tops[0])) {
    needs_.types.push_back(args.tops[0]);
    needs_.bottoms.push_back(Layout());
    // The kernel reads only the shapes of the other bottoms, so their types and layouts do not
    // matter.
    for (size_t i = 1; i < args.bottoms.size(); ++i) {
      needs_.types.push_back(args.bottoms[i].dtype);
      needs_.bottoms.push_back(args.bottoms[i].layout);
    }
  }

  void Forward(const Pass&) override {
    CopyBox(GpuOf(device_), form_, element_bytes_, t_.bottoms[0].raw, t_.tops[0].raw, true);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    if (form_.count() != dx.count()) device_->Zero(dx.raw, dx.bytes());
    CopyBox(GpuOf(device_), form_, element_bytes_, t_.top_grads[0].raw, dx.raw, false);
  }

  bool same_every_pass() const override { return true; }

 private:
  const int64_t element_bytes_;
};

std::string RearrangementCudaDeclines(const KernelArgs& args) {
  const bool fits = args.Form<StridedBox>().axes.size() <= kMostBoxAxes;
  return fits ? DeclinesDouble(args) : "it takes at most " + std::to_string(kMostBoxAxes) + " axes";
}

[[maybe_unused]] const bool rearrangement_cuda_registered = [] {
  for (const char* type : {"Permute", "Crop", "Reorg", "ShuffleChannel"}) {
    KernelTypes::Get().Add(
        CudaKernel<CudaRearrangement>(type).Declines(&RearrangementCudaDeclines).Narrow());
  }
  return true;
}();

}  // namespace
}  // namespace doppio
