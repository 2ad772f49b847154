// What stands in for a source: values in [-1, 1) and, for tops of one number a sample, the labels 0
// and 1, which are in range wherever there is something to tell apart. Written once, into tops that
// persist, on whatever device they are: what is timed on such data is the net alone.
#ifndef DOPPIO_LAYERS_SYNTHETIC_H_
#define DOPPIO_LAYERS_SYNTHETIC_H_

#include <memory>

#include "core/base/random.h"
#include "core/net/layer.h"
#include "layers/batch_upload.h"

namespace doppio {

// The values of top `top` in row-major order: this rank's rows of one big batch.
template <class T>
void FillSynthetic(const Random& random, size_t top, const Shape& shape, int rank, T* to) {
  const bool labels = shape.count() == shape.dim_or_1(0);
  const int64_t first = rank * shape.count();
  for (int64_t i = 0; i < shape.count(); ++i) {
    to[i] = labels ? static_cast<T>((first + i) % 2)
                   : static_cast<T>(2 * random.Uniform(top, static_cast<uint64_t>(first + i)) - 1);
  }
}

template <class T>
class SyntheticKernel : public Kernel {
 public:
  explicit SyntheticKernel(const KernelArgs& args)
      : random_(args.spec->options.seed, Stream("synthetic")) {}

  void Forward(const Pass& pass) override {
    for (; written_ < t_.tops.size(); ++written_) {
      const Tensor& top = t_.tops[written_];
      FillSynthetic(random_, written_, top.shape, pass.rank, top.data<T>());
    }
  }

 private:
  const Random random_;
  size_t written_ = 0;  // tops
};

// On an accelerator, in any type and layout.
class UploadedSyntheticKernel : public Kernel {
 public:
  UploadedSyntheticKernel(const KernelArgs& args, std::vector<Layout> tops)
      : device_(args.device), random_(args.spec->options.seed, Stream("synthetic")) {
    needs_.tops = std::move(tops);
  }

  void Forward(const Pass& pass) override {
    if (written_) return;
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      const auto upload =
          (*BatchUploads::Get().Find(Name(device_->kind())))(device_, t_.tops[i].count());
      FillSynthetic(random_, i, t_.tops[i].shape, pass.rank, static_cast<float*>(upload->Fill()));
      upload->SendFloats(t_.tops[i]);
      device_->Synchronize();  // it has read what ends here
    }
    written_ = true;
  }

 private:
  Device* device_;
  const Random random_;
  bool written_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SYNTHETIC_H_
