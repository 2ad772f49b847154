// Concat and Slice on a GPU, for elements of any type. They copy the runs of one part after another
// (join.h).
#include "core/device/elementwise.cuh"
#include "core/math/tensor_ops.h"
#include "layers/common/divider.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/shape/join.h"

namespace doppio {
namespace {

// Copies `rows` runs of `bytes` bytes. The pitches are the distances in bytes between the starts of
// consecutive runs.
struct RunCopy {
  int64_t rows, bytes;
  void* to;
  int64_t to_pitch;
  const void* from;
  int64_t from_pitch;
};

// Copies the runs; each thread copies kBytes bytes. kBytes must divide all addresses and pitches
// and `bytes`.
template <int kBytes>
static void CopyUnits(const Gpu& gpu, const RunCopy& copy) {
  const int64_t units = copy.bytes / kBytes, count = copy.rows * units;
  const int64_t to_pitch = copy.to_pitch, from_pitch = copy.from_pitch;
  const IndexDivider by_units(units, count);
  const auto* source = static_cast<const unsigned char*>(copy.from);
  auto* target = static_cast<unsigned char*>(copy.to);
  ForEachIndex(
      gpu, count, "a copy of rows", DOPPIO_BODY(int64_t i) {
        const int64_t row = by_units(i), at = (i - row * units) * kBytes;
        StorePack(LoadPack<kBytes>(source + row * from_pitch + at), target + row * to_pitch + at);
      });
}

// Copies the runs with the widest accesses that the alignment allows. CUDA's own 2D copy is made
// for long rows, but with channels last a run is only the channels of one pixel.
static void CopyRuns(const Gpu& gpu, const RunCopy& copy) {
  // With one run, the pitches are not used and need no alignment.
  const int64_t pitches = copy.rows == 1 ? 0 : copy.to_pitch | copy.from_pitch;
  const int64_t all = static_cast<int64_t>(reinterpret_cast<uintptr_t>(copy.to) |
                                           reinterpret_cast<uintptr_t>(copy.from)) |
                      copy.bytes | pitches;
  if (all % 16 == 0) {
    CopyUnits<16>(gpu, copy);
  } else if (all % 4 == 0) {
    CopyUnits<4>(gpu, copy);
  } else if (all % 2 == 0) {
    CopyUnits<2>(gpu, copy);
  } else {
    CopyUnits<1>(gpu, copy);
  }
}

// Returns the join in the type of top 0. All layouts are channels last if a bottom's layout is,
// else plain.
JoinRuns MakeCudaJoin(const KernelArgs& args) {
  const JoinForm& form = args.Form<JoinForm>();
  const Layout layout = CommonLayout(args.bottoms);
  std::vector<int> order = {0};
  const int rest = layout.channels_last() ? 2 : 1;
  for (int a = rest; a < form.whole.rank(); ++a) order.push_back(a);
  if (rest == 2) order.push_back(1);
  JoinRuns join = MakeJoin(form, args.tops[0], order);
  join.whole = layout;
  join.parts.assign(form.parts.size(), layout);
  return join;
}

class CudaJoin : public JoinKernelBase {
 public:
  explicit CudaJoin(const KernelArgs& args)
      : JoinKernelBase(args, MakeCudaJoin(args)), device_(args.device) {
    AskForOneForm(args, &needs_);
  }
  bool same_every_pass() const override { return true; }

 private:
  void Gather(const std::vector<Tensor>& parts, const Tensor& whole) const override {
    const bool complete =
        std::all_of(parts.begin(), parts.end(), [](const Tensor& part) { return bool(part); });
    if (!complete) OpsOf(device_).Fill(0, whole);
    ForEachPart(parts, [&](const Tensor& part, int64_t run, int64_t offset) {
      CopyRuns(GpuOf(device_),
               {join_.rows, run, whole.data<char>() + offset, join_.row_bytes, part.raw, run});
    });
  }

  void Scatter(const Tensor& whole, const std::vector<Tensor>& parts) const override {
    ForEachPart(parts, [&](const Tensor& part, int64_t run, int64_t offset) {
      CopyRuns(GpuOf(device_),
               {join_.rows, run, part.raw, run, whole.data<char>() + offset, join_.row_bytes});
    });
  }

  // Calls f(part, bytes of a run, byte offset of its run in a row of the whole) for each part that
  // is present.
  template <class F>
  void ForEachPart(const std::vector<Tensor>& parts, const F& f) const {
    int64_t offset = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p] && join_.run_bytes[p] > 0) f(parts[p], join_.run_bytes[p], offset);
      offset += join_.run_bytes[p];
    }
  }

  Device* const device_;
};

std::string DeclinesMixture(const KernelArgs& args) {
  const bool one = std::all_of(args.tops.begin(), args.tops.end(),
                               [&](DType type) { return type == args.tops[0]; });
  return one ? "" : "its tops are stored in different types";
}

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaJoin>("Concat").Declines(nullptr).Narrow());
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaJoin>("Slice").Declines(&DeclinesMixture).Narrow());
// For tops of different types: this kernel computes in single precision.
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaJoin>("Slice").Rank(9).Declines(nullptr));

}  // namespace
}  // namespace doppio
