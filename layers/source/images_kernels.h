// The kernels of Data, ImageData, WindowData, VideoData, AnnotatedData and BoxData.
#ifndef DOPPIO_LAYERS_SOURCE_IMAGES_KERNELS_H_
#define DOPPIO_LAYERS_SOURCE_IMAGES_KERNELS_H_

#include <algorithm>
#include <any>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/threads.h"
#include "core/net/contract/changing_tops.h"
#include "core/net/contract/grouped_source.h"
#include "core/net/contract/kernel.h"
#include "core/net/contract/sample_source.h"
#include "data/pipeline/pipeline.h"
#include "layers/source/batch_upload.h"
#include "layers/source/label_form.h"
#include "layers/source/opened_source.h"
#include "layers/source/source_layer.h"

namespace doppio {

// The form of these layers.
using ImagesForm = SourceForm<Pipeline>;

// Writes the label top of AnnotatedData in SSD's format: the objects of all images, each with the
// index of its image in the batch, then rows of -1. `count` is the number of values in `to`.
inline void WriteObjects(const Batch& batch, int64_t images, int64_t count, float* to) {
  const float* from = batch.labels.data();
  float* const end = to + count;
  const int64_t boxes = count / images / kBoxLabels;
  for (int64_t row = 0; row < images * boxes; ++row, from += kBoxLabels) {
    if (*from < 0) continue;
    std::copy_n(from, kBoxLabels, to);
    const int64_t image = row / boxes;
    *to = static_cast<float>(image);
    to += kBoxLabels;
  }
  std::fill(to, end, -1.0f);
}

// Writes the label top of BoxData in YOLO's format: for each image rows of class (from 0), x, y,
// width and height, where x and y are the center; then rows of 0.
inline void WriteCenteredObjects(const Batch& batch, int64_t images, int64_t count, float* to) {
  const float* from = batch.labels.data();
  const int64_t boxes = count / images / kCenteredBoxLabels;
  std::fill_n(to, count, 0.0f);
  for (int64_t image = 0; image < images; ++image) {
    float* row = to + image * boxes * kCenteredBoxLabels;
    for (int64_t box = 0; box < boxes; ++box, from += kBoxLabels) {
      if (*from < 0) continue;
      const float xmin = from[3], ymin = from[4], xmax = from[5], ymax = from[6];
      for (const float value :
           {from[1] - 1, (xmin + xmax) / 2, (ymin + ymax) / 2, xmax - xmin, ymax - ymin}) {
        *row++ = value;
      }
    }
  }
}

// Writes the `count` values of the label top `top` (at least 1) of a layer with `tops` tops to
// `to`.
inline void WriteLabels(LabelForm form, const Batch& batch, size_t top, size_t tops, int64_t count,
                        float* to) {
  const auto images = static_cast<int64_t>(batch.samples.size());
  if (form == LabelForm::kObjects) return WriteObjects(batch, images, count, to);
  if (form == LabelForm::kCenteredObjects) return WriteCenteredObjects(batch, images, count, to);
  const size_t labels = tops - 1;
  for (int64_t row = 0; row < count; ++row) {
    to[row] = batch.labels[labels == 1 ? static_cast<size_t>(row)
                                       : static_cast<size_t>(row) * labels + top - 1];
  }
}

// The base of kernels that read a pipeline. Form is the layer's form, a SourceForm<Pipeline>.
template <class Form>
class PipelineKernel : public Kernel,
                       public SampleSource,
                       public GroupedSource,
                       public ChangesTops,
                       public SharesForm {
 public:
  explicit PipelineKernel(const KernelArgs& args)
      : form_(args.Form<Form>()), pipeline_(form_.opened->Take()), may_change_(form_.any_size) {}
  int64_t position() const override { return pipeline_->cursor().position(); }
  void Seek(int64_t sample) override { pipeline_->Seek(sample); }
  int64_t source_size() const override { return form_.samples->count; }
  double wait_seconds() const override { return pipeline_->wait_seconds(); }
  int64_t bad_records() const override { return pipeline_->reader().bad_records(); }
  std::string NameOfSample(int64_t sample) const override { return pipeline_->NameOf(sample); }
  void Join(const GroupRule& rule) override { pipeline_->Join(rule); }
  RecordProbe Probe() override { return pipeline_->Probe(); }

  bool may_change() const override { return may_change_; }
  bool changed() const override { return changed_; }
  bool FixShapes() override {
    may_change_ = false;
    return true;
  }
  std::any NextForm(bool) override { return FormAgain(form_, pipeline_); }

 protected:
  // Returns the batch of this pass, or null if its samples do not have the planned size.
  const Batch* BatchOf(const Pass& pass) {
    if (!pass.again) pipeline_->Shard(pass.rank, pass.ranks);
    const Batch& batch = pass.again ? pipeline_->current() : pipeline_->Next();
    const Shape& planned = this->t_.tops[0].shape;
    changed_ = batch.shape.height != planned[2] || batch.shape.width != planned[3];
    if (!changed_) return &batch;
    if (may_change_) return nullptr;
    throw FileError(
        NameOfSample(batch.first_sample), ": it becomes ", batch.shape.ToString(),
        " (channels x height x width), but the first one ", planned.ToString(),
        ": images of several sizes do not work if layers are placed on several devices");
  }

  const Form form_;
  const std::shared_ptr<Pipeline> pipeline_;

 private:
  bool may_change_, changed_ = false;
};

// Reads images into tops in host memory.
template <class T>
class ImagesKernel : public PipelineKernel<ImagesForm> {
 public:
  explicit ImagesKernel(const KernelArgs& args)
      : PipelineKernel(args), label_form_(LabelFormOf(args.type)) {}

  void Forward(const Pass& pass) override {
    const Batch* const batch = BatchOf(pass);
    if (batch == nullptr) return;
    const Tensor& data = t_.tops[0];
    const int64_t count = std::max<int64_t>(1, batch->shape.count());
    ParallelFor(data.shape.dim_or_1(0), (1 << 16) / count + 1, [&](int64_t begin, int64_t end) {
      pipeline_->Write(*batch, begin, end, data.data<T>());
    });
    for (size_t i = 1; i < t_.tops.size(); ++i) {
      labels_.resize(static_cast<size_t>(t_.tops[i].count()));
      WriteLabels(label_form_, *batch, i, t_.tops.size(), t_.tops[i].count(), labels_.data());
      CopyTo<T>(t_.tops[i], labels_.data());
    }
  }

 private:
  const LabelForm label_form_;
  std::vector<float> labels_;  // the values of one label top; all label tops have the same size
};

// Copies batches to an accelerator, which normalizes them (BatchUpload). All images have one size.
class UploadedImagesKernel : public PipelineKernel<ImagesForm> {
 public:
  explicit UploadedImagesKernel(const KernelArgs& args)
      : PipelineKernel(args),
        label_form_(LabelFormOf(args.type)),
        upload_((*BatchUploads::Get().Find(args.device->kind()))(args.device, args.top_shapes)) {
    const Augment& augment = pipeline_->reader().augment();
    const int channels = pipeline_->reader().data_shape().channels;
    normalization_ = {augment.ChannelMeans(channels), augment.ChannelScales(channels)};
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
    staged_at_ = PipelineKernel::position();
    try {
      SendNext(pass);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  int64_t position() const override { return staged_at_.value_or(PipelineKernel::position()); }
  void Seek(int64_t sample) override {
    upload_->Drop();
    staged_at_.reset();
    failure_ = nullptr;
    pipeline_->Seek(sample);
  }

 private:
  // Reads the next batch and starts its upload.
  void SendNext(const Pass& pass) {
    pipeline_->Shard(pass.rank, pass.ranks);
    const Batch& batch = pipeline_->Next();
    FillImages(batch);
    for (size_t i = 1; i < t_.tops.size(); ++i) {
      WriteLabels(label_form_, batch, i, t_.tops.size(), t_.tops[i].count(),
                  static_cast<float*>(upload_->At(i)));
    }
    upload_->Send();
  }

  // Begins the upload of a batch and writes its images, as bytes unless the pipeline has already
  // normalized one of them.
  void FillImages(const Batch& batch) {
    const int64_t rows = static_cast<int64_t>(batch.samples.size()), count = batch.shape.count();
    const bool bytes = std::none_of(batch.samples.begin(), batch.samples.end(),
                                    [](const CutPixels& sample) { return sample.finished; });
    upload_->Begin(bytes);
    void* const to = upload_->At(0);
    ParallelFor(rows, (1 << 16) / (count + 1) + 1, [&](int64_t begin, int64_t end) {
      if (!bytes) return pipeline_->Write(batch, begin, end, static_cast<float*>(to));
      for (int64_t i = begin; i < end; ++i) {
        const CutPixels& sample = batch.samples[i];
        std::copy_n(sample.bytes.data(), count, static_cast<uint8_t*>(to) + i * count);
        static_cast<uint8_t*>(to)[rows * count + i] = sample.mirrored;
      }
    });
  }

  const LabelForm label_form_;
  const std::unique_ptr<BatchUpload> upload_;
  Normalization normalization_;
  // The position before Stage, until Forward uses the staged batch.
  std::optional<int64_t> staged_at_;
  std::exception_ptr failure_;  // thrown by Stage; the next Forward rethrows it
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_IMAGES_KERNELS_H_
