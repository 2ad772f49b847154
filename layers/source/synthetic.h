// Synthetic data that replaces a source: values in (-1, 1], the labels 0 and 1 for tops with one
// value per sample, and two objects per image for the labels of AnnotatedData and BoxData. A loss
// that reads the values as labels of pixels truncates them to 0 or 1, so they exclude -1. Kernels
// write the values once, to tops that persist on their device, so that timings on synthetic data
// exclude the source.
#ifndef DOPPIO_LAYERS_SOURCE_SYNTHETIC_H_
#define DOPPIO_LAYERS_SOURCE_SYNTHETIC_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "core/net/contract/kernel.h"
#include "layers/source/batch_upload.h"
#include "layers/source/label_form.h"

namespace doppio {

// The synthetic values of a layer's tops.
class SyntheticTops {
 public:
  explicit SyntheticTops(const KernelArgs& args)
      : label_form_(LabelFormOf(args.type)), random_(args.seed, Stream("synthetic")) {}

  // Writes the values of top `top`, which has the shape `shape`, to `to` in row-major order.
  // `images` is the number of samples. The ranks write different parts of one big batch.
  template <class T>
  void Fill(size_t top, int64_t images, const Shape& shape, int rank, T* to) const {
    if (label_form_ != LabelForm::kNumbers && top == 1) {
      return label_form_ == LabelForm::kObjects ? FillObjects(images, shape, rank, to)
                                                : FillCenteredObjects(images, shape, rank, to);
    }
    const bool labels = shape.count() == shape.dim_or_1(0);
    const int64_t first = rank * shape.count();
    for (int64_t i = 0; i < shape.count(); ++i) {
      to[i] = labels
                  ? static_cast<T>((first + i) % 2)
                  : static_cast<T>(1 - 2 * random_.Uniform(top, static_cast<uint64_t>(first + i)));
    }
  }

 private:
  struct Corners {
    float left, upper, right, lower;
  };
  // Returns the box of object `object` (0 or 1) of a sample.
  Corners BoxOf(uint64_t sample, int64_t object) const {
    const auto at = [&](uint64_t i) {
      return random_.Uniform(sample, 4 * static_cast<uint64_t>(object) + i) / 2;
    };
    const float left = at(0), upper = at(1);
    return {left, upper, left + 0.25f + at(2) / 2, upper + 0.25f + at(3) / 2};
  }

  // Calls write(image, object, box) for up to two objects per image of the `rows` that it has.
  template <class Write>
  void ForEachObject(int64_t images, int64_t rows, int rank, const Write& write) const {
    for (int64_t image = 0; image < images; ++image) {
      for (int64_t object = 0; object < std::min<int64_t>(2, rows); ++object) {
        write(image, object, BoxOf(static_cast<uint64_t>(rank * images + image), object));
      }
    }
  }

  // Writes rows of SSD's eight values, then empty rows. The class is always 1, because 0 is usually
  // the background.
  template <class T>
  void FillObjects(int64_t images, const Shape& shape, int rank, T* to) const {
    constexpr int64_t kColumns = 8;
    T* const end = to + shape.count();
    ForEachObject(
        images, shape.count() / kColumns / images, rank,
        [&](int64_t image, int64_t object, const Corners& box) {
          for (const float value : {static_cast<float>(image), 1.0f, static_cast<float>(object),
                                    box.left, box.upper, box.right, box.lower, 0.0f}) {
            *to++ = static_cast<T>(value);
          }
        });
    std::fill(to, end, T(-1));
  }

  // Writes rows of YOLO's five values for each image, of class 0, then rows of 0.
  template <class T>
  void FillCenteredObjects(int64_t images, const Shape& shape, int rank, T* to) const {
    const int64_t rows = shape.count() / kCenteredBoxLabels / images;
    std::fill_n(to, shape.count(), T(0));
    ForEachObject(images, rows, rank, [&](int64_t image, int64_t object, const Corners& box) {
      T* const row = to + (image * rows + object) * kCenteredBoxLabels;
      row[1] = static_cast<T>((box.left + box.right) / 2);
      row[2] = static_cast<T>((box.upper + box.lower) / 2);
      row[3] = static_cast<T>(box.right - box.left);
      row[4] = static_cast<T>(box.lower - box.upper);
    });
  }

  const LabelForm label_form_;
  const Random random_;
};

// Writes synthetic data to tops in host memory.
template <class T>
class SyntheticKernel : public Kernel {
 public:
  explicit SyntheticKernel(const KernelArgs& args) : source_(args) {}

  void Forward(const Pass& pass) override {
    for (; written_ < t_.tops.size(); ++written_) {
      const Tensor& top = t_.tops[written_];
      source_.Fill(written_, t_.tops[0].shape.dim_or_1(0), top.shape, pass.part(), top.data<T>());
    }
  }

 private:
  const SyntheticTops source_;
  size_t written_ = 0;  // number of tops that are written
};

// Writes synthetic data to tops of any type and layout on an accelerator.
class UploadedSyntheticKernel : public Kernel {
 public:
  UploadedSyntheticKernel(const KernelArgs& args, std::vector<Layout> tops)
      : device_(args.device), source_(args) {
    needs_.tops = std::move(tops);
  }

  void Forward(const Pass& pass) override {
    if (written_) return;
    std::vector<Shape> shapes;
    for (const Tensor& top : t_.tops) shapes.push_back(top.shape);
    const auto upload = (*BatchUploads::Get().Find(device_->kind()))(device_, shapes);
    upload->Begin(false);
    for (size_t i = 0; i < t_.tops.size(); ++i) {
      source_.Fill(i, t_.tops[0].shape.dim_or_1(0), t_.tops[i].shape, pass.part(),
                   static_cast<float*>(upload->At(i)));
    }
    upload->Send();
    upload->Receive(t_.tops, Normalization());
    device_->Synchronize();  // before `upload` is destroyed
    written_ = true;
  }

 private:
  Device* device_;
  const SyntheticTops source_;
  bool written_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_SYNTHETIC_H_
