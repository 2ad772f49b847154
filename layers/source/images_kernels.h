// The kernels of Data, ImageData, WindowData and AnnotatedData.
#ifndef DOPPIO_LAYERS_SOURCE_IMAGES_KERNELS_H_
#define DOPPIO_LAYERS_SOURCE_IMAGES_KERNELS_H_

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/threads.h"
#include "core/net/plan/kernel.h"
#include "data/pipeline/pipeline.h"
#include "layers/source/batch_upload.h"
#include "layers/source/opened_source.h"
#include "layers/source/source_layer.h"

namespace doppio {

constexpr char kAnnotatedData[] = "AnnotatedData";

using ImagesForm = SourceForm<Pipeline>;

// Writes the label top of AnnotatedData, in SSD's format: the objects of all images, each with its
// image's place in the batch, then rows of -1 for no object.
inline void WriteObjects(const Batch& batch, int64_t images, int64_t count, float* to) {
  const float* from = batch.labels.data();
  float* const end = to + count;
  const int64_t boxes = count / images / kBoxLabels;
  for (int64_t row = 0; row < images * boxes; ++row, from += kBoxLabels) {
    if (*from < 0) continue;
    std::copy_n(from, kBoxLabels, to);
    *to = static_cast<float>(row / boxes);
    to += kBoxLabels;
  }
  std::fill(to, end, -1.0f);
}

// Writes one number for each of `count` elements of the label top `top` (from 1 on) of `tops`.
inline void WriteLabels(bool annotated, const Batch& batch, size_t top, size_t tops, int64_t count,
                        float* to) {
  if (annotated) {
    return WriteObjects(batch, static_cast<int64_t>(batch.samples.size()), count, to);
  }
  const size_t labels = tops - 1;
  for (int64_t row = 0; row < count; ++row) {
    to[row] = batch.labels[labels == 1 ? static_cast<size_t>(row)
                                       : static_cast<size_t>(row) * labels + top - 1];
  }
}

// Reads images on the host.
template <class T>
class ImagesKernel : public Kernel {
 public:
  explicit ImagesKernel(const KernelArgs& args)
      : annotated_(args.type == kAnnotatedData), pipeline_(TakeSource<Pipeline>(args)) {
    const std::vector<Shape>& tops = args.top_shapes;
    if (tops.size() > 1) labels_.resize(static_cast<size_t>(tops[1].count()));
  }

  void Forward(const Pass& pass) override {
    pipeline_->Shard(pass.rank, pass.ranks);
    const Batch& batch = pipeline_->Next();
    const Tensor& data = t_.tops[0];
    const int64_t count = std::max<int64_t>(1, pipeline_->data_shape().count());
    ParallelFor(data.shape.dim_or_1(0), (1 << 16) / count + 1, [&](int64_t begin, int64_t end) {
      pipeline_->Write(batch, begin, end, data.data<T>());
    });
    for (size_t i = 1; i < t_.tops.size(); ++i) {
      WriteLabels(annotated_, batch, i, t_.tops.size(), t_.tops[i].count(), labels_.data());
      CopyTo<T>(t_.tops[i], labels_.data());
    }
  }
  int64_t position() const override { return pipeline_->position(); }
  void Seek(int64_t sample) override { pipeline_->Seek(sample); }
  int64_t source_size() const override { return pipeline_->size(); }
  double wait_seconds() const override { return pipeline_->wait_seconds(); }
  int64_t bad_records() const override { return pipeline_->bad_records(); }

 private:
  const bool annotated_;
  const std::unique_ptr<Pipeline> pipeline_;
  std::vector<float> labels_;  // of one top; all are of one size
};

// Copies batches of bytes to an accelerator, which normalizes them (BatchUpload).
class UploadedImagesKernel : public Kernel {
 public:
  explicit UploadedImagesKernel(const KernelArgs& args)
      : annotated_(args.type == kAnnotatedData),
        pipeline_(TakeSource<Pipeline>(args)),
        upload_(
            (*BatchUploads::Get().Find(Name(args.device->kind())))(args.device, args.top_shapes)) {
    normalization_.means = pipeline_->augment().ChannelMeans(pipeline_->data_shape().channels);
    normalization_.scale = pipeline_->augment().scale();
    needs_.tops = LayoutsThere(args);
  }

  void Forward(const Pass& pass) override {
    const bool staged = staged_at_.has_value();
    staged_at_.reset();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (!staged) SendNext(pass);
    upload_->Receive(t_.tops, normalization_);
  }

  void Stage(const Pass& pass) override {
    if (staged_at_) return;
    staged_at_ = pipeline_->position();
    try {
      SendNext(pass);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  int64_t position() const override { return staged_at_ ? *staged_at_ : pipeline_->position(); }
  void Seek(int64_t sample) override {
    upload_->Drop();
    staged_at_.reset();
    failure_ = nullptr;
    pipeline_->Seek(sample);
  }
  int64_t source_size() const override { return pipeline_->size(); }
  double wait_seconds() const override { return pipeline_->wait_seconds(); }
  int64_t bad_records() const override { return pipeline_->bad_records(); }

 private:
  void SendNext(const Pass& pass) {
    pipeline_->Shard(pass.rank, pass.ranks);
    const Batch& batch = pipeline_->Next();
    FillImages(batch);
    for (size_t i = 1; i < t_.tops.size(); ++i) {
      WriteLabels(annotated_, batch, i, t_.tops.size(), t_.tops[i].count(),
                  static_cast<float*>(upload_->At(i)));
    }
    upload_->Send();
  }

  void FillImages(const Batch& batch) {
    const int64_t rows = static_cast<int64_t>(batch.samples.size());
    const int64_t count = pipeline_->data_shape().count(), grain = (1 << 16) / (count + 1) + 1;
    const bool bytes = std::none_of(batch.samples.begin(), batch.samples.end(),
                                    [](const CutPixels& sample) { return sample.finished; });
    upload_->Begin(bytes);
    void* const to = upload_->At(0);
    ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      if (!bytes) return pipeline_->Write(batch, begin, end, static_cast<float*>(to));
      for (int64_t i = begin; i < end; ++i) {
        const CutPixels& sample = batch.samples[static_cast<size_t>(i)];
        std::copy_n(sample.bytes.data(), count, static_cast<uint8_t*>(to) + i * count);
        static_cast<uint8_t*>(to)[rows * count + i] = sample.mirrored;
      }
    });
  }

  const bool annotated_;
  const std::unique_ptr<Pipeline> pipeline_;
  const std::unique_ptr<BatchUpload> upload_;
  Normalization normalization_;
  std::optional<int64_t> staged_at_;  // the position before Stage, until its batch is used
  std::exception_ptr failure_;        // of Stage, for the next Forward
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_IMAGES_KERNELS_H_
