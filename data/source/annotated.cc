// The path of SSD's images with boxes (layer AnnotatedData) from a database to the pipeline. Images
// are changed in brightness and colour, placed on a larger canvas, cut to a random window, resized,
// and degraded. The random numbers are a function of the sample's number in the run. Crop, mirror,
// mean and scale are left to the pipeline.
#include <opencv2/core.hpp>

#include "core/base/error.h"
#include "data/augment/box_sampler.h"
#include "data/augment/boxes.h"
#include "data/augment/distort.h"
#include "data/decode/mat_image.h"
#include "data/augment/noise.h"
#include "data/augment/random_changes.h"
#include "data/augment/resize_image.h"
#include "data/source/source.h"
#include "proto/data.pb.h"

namespace doppio {

void CheckAnnotated(const AnnotatedDataParameter& parameter,
                    const TransformationParameter& transform) {
  CheckSamplers(parameter.batch_sampler());
  if (transform.has_distort_param()) CheckDistortion(transform.distort_param());
  if (transform.has_expand_param()) CheckExpansion(transform);
  if (transform.has_resize_param()) CheckResize(transform.resize_param());
  if (transform.has_noise_param()) CheckNoise(transform.noise_param());
}

TransformationParameter BehindAnnotated(TransformationParameter transform) {
  transform.clear_distort_param();
  transform.clear_expand_param();
  transform.clear_resize_param();
  transform.clear_noise_param();
  return transform;
}

namespace {

class AnnotatedSource : public Source {
 public:
  AnnotatedSource(std::unique_ptr<Source> records, const AnnotatedDataParameter& parameter,
                  const TransformationParameter& transform, const Random& random)
      : records_(std::move(records)),
        samplers_(parameter.batch_sampler()),
        transform_(transform),
        random_(random) {
    CheckAnnotated(parameter, transform);
  }

  int64_t size() const override { return records_->size(); }
  bool decodes() const override { return true; }
  std::string Name(int64_t index) const override { return records_->Name(index); }
  SourceFacts facts() const override { return FactsOf(*records_); }
  void Read(int64_t index, Record* record) const override { ReadSample(index, 0, record); }

  void ReadSample(int64_t index, uint64_t sample, Record* record) const override {
    records_->Read(index, record);
    if (!record->annotated) {
      throw FileError("it is a Datum without boxes; layer Data reads such ones");
    }
    Draws draws(random_, sample);
    Image image = ImageOfRecord(*record, transform_);
    if (transform_.has_distort_param()) Distort(transform_.distort_param(), &draws, &image);
    if (transform_.has_expand_param()) {
      const Box canvas = Expand(transform_.expand_param(),
                                MeanFill(transform_, image.shape.channels), &draws, &image);
      record->objects = ObjectsIn(canvas, record->objects, emit());
    }
    CutWindow(&draws, &image, &record->objects);
    if (transform_.has_resize_param()) {
      const Box frame = ResizeAs(transform_.resize_param(), &draws, &image);
      record->objects = ObjectsIn(frame, record->objects, nullptr);
    }
    if (transform_.has_noise_param()) AddNoise(transform_.noise_param(), &draws, &image);
    GiveImage(image, record);
  }

 private:
  const EmitConstraint* emit() const {
    return transform_.has_emit_constraint() ? &transform_.emit_constraint() : nullptr;
  }

  void CutWindow(Draws* draws, Image* image, std::vector<ObjectBox>* objects) const {
    const std::vector<Box> windows = SampleWindows(samplers_, *objects, draws);
    if (windows.empty()) return;
    const Box window =
        Clipped(windows[static_cast<size_t>(draws->Below(static_cast<int>(windows.size())))]);
    const auto height = static_cast<float>(image->shape.height);
    const auto width = static_cast<float>(image->shape.width);
    const cv::Rect part(
        static_cast<int>(window.xmin * width), static_cast<int>(window.ymin * height),
        static_cast<int>(window.width() * width), static_cast<int>(window.height() * height));
    if (part.width < 1 || part.height < 1) return;  // the image has only a few pixels
    *image = ImageOf(MatOf(image)(part));
    *objects = ObjectsIn(window, *objects, emit());
  }

  const std::unique_ptr<Source> records_;
  const BatchSamplers samplers_;
  const TransformationParameter transform_;
  const Random random_;
};

}  // namespace

std::unique_ptr<Source> OpenAnnotated(std::unique_ptr<Source> records,
                                      const AnnotatedDataParameter& parameter,
                                      const TransformationParameter& transform,
                                      const Random& random) {
  return std::make_unique<AnnotatedSource>(std::move(records), parameter, transform, random);
}

}  // namespace doppio
