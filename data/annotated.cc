// SSD's images with boxes (layer AnnotatedData) on their way from a database to the pipeline:
// changed in light and colour, put on a larger canvas, cut to a random window, resized. What is
// drawn is a formula of the sample's number in the run. Crop, mirror, mean and scale are left to
// the pipeline.
#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "core/base/error.h"
#include "data/box_sampler.h"
#include "data/boxes.h"
#include "data/distort.h"
#include "data/mat_image.h"
#include "data/source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

void CheckTransform(const TransformationParameter& transform) {
  if (transform.has_resize_param()) {
    const ResizeParameter& resize = transform.resize_param();
    if (resize.resize_mode() == ResizeParameter::FIT_SMALL_SIZE) {
      throw UserError({},
                      "resize_param: FIT_SMALL_SIZE leaves images of several sizes; use WARP or "
                      "FIT_LARGE_SIZE_AND_PAD");
    }
    if (resize.height() == 0 || resize.width() == 0) {
      throw UserError({}, "resize_param needs height and width");
    }
    if (resize.pad_value_size() > 1 && resize.pad_value_size() != 3) {
      throw UserError({}, "resize_param: give one pad_value, or one for each of 3 channels");
    }
  }
  if (transform.has_distort_param()) CheckDistortion(transform.distort_param());
  if (!transform.has_expand_param()) return;
  if (transform.expand_param().max_expand_ratio() < 1) {
    throw UserError({}, "expand_param: max_expand_ratio must be at least 1");
  }
  if (transform.has_mean_file()) {
    throw UserError({}, "expand_param fills with the mean: give mean_value instead of mean_file");
  }
}

class AnnotatedSource : public Source {
 public:
  AnnotatedSource(std::unique_ptr<Source> records, const AnnotatedDataParameter& parameter,
                  const TransformationParameter& transform, const Random& random)
      : records_(std::move(records)),
        samplers_(parameter.batch_sampler()),
        transform_(transform),
        random_(random) {
    CheckSamplers(samplers_);
    CheckTransform(transform);
  }

  int64_t size() const override { return records_->size(); }
  bool decodes() const override { return true; }
  std::string Name(int64_t index) const override { return records_->Name(index); }
  void Read(int64_t index, Record* record) const override { ReadSample(index, 0, record); }

  void ReadSample(int64_t index, uint64_t sample, Record* record) const override {
    records_->Read(index, record);
    if (!record->annotated) {
      throw FileError("it is a Datum without boxes; layer Data reads such ones");
    }
    Draws draws(random_, sample);
    Image image = ImageOfRecord(*record, transform_);
    if (transform_.has_distort_param()) {
      if (image.shape.channels != 3) {
        throw FileError("distort_param is for images of 3 channels, it has " +
                        std::to_string(image.shape.channels) + "; set force_color: true");
      }
      Distort(transform_.distort_param(), &draws, &image);
    }
    if (transform_.has_expand_param()) Expand(&draws, &image, &record->objects);
    CutWindow(&draws, &image, &record->objects);
    if (transform_.has_resize_param()) ResizeAll(&draws, &image, &record->objects);
    GiveImage(image, record);
  }

 private:
  const EmitConstraint* emit() const {
    return transform_.has_emit_constraint() ? &transform_.emit_constraint() : nullptr;
  }

  void Expand(Draws* draws, Image* image, std::vector<ObjectBox>* objects) const {
    const ExpansionParameter& expand = transform_.expand_param();
    if (!draws->Happens(expand.prob())) return;
    const float ratio = draws->Uniform(1, expand.max_expand_ratio());
    const ImageShape old = image->shape;
    const int height = static_cast<int>(static_cast<float>(old.height) * ratio);
    const int width = static_cast<int>(static_cast<float>(old.width) * ratio);
    const int top = draws->Below(height - old.height + 1),
              left = draws->Below(width - old.width + 1);
    cv::Mat canvas(height, width, CV_8UC(old.channels), MeanFill(transform_, old.channels));
    MatOf(image).copyTo(canvas(cv::Rect(left, top, old.width, old.height)));
    *image = ImageOf(canvas);
    const auto part = [](int pixels, int of) {
      return static_cast<float>(pixels) / static_cast<float>(of);
    };
    const Box frame = {part(-left, old.width), part(-top, old.height),
                       part(width - left, old.width), part(height - top, old.height)};
    *objects = ObjectsIn(frame, *objects, emit());
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
    if (part.width < 1 || part.height < 1) return;  // of an image of a few pixels
    *image = ImageOf(MatOf(image)(part));
    *objects = ObjectsIn(window, *objects, emit());
  }

  // With WARP boxes keep their fractions; padding makes the image a part of a larger one.
  void ResizeAll(Draws* draws, Image* image, std::vector<ObjectBox>* objects) const {
    const ResizeParameter& resize = transform_.resize_param();
    const int height = static_cast<int>(resize.height()), width = static_cast<int>(resize.width());
    const int interpolation = InterpolationOf(resize, draws);
    cv::Mat resized;
    if (resize.resize_mode() == ResizeParameter::WARP) {
      cv::resize(MatOf(image), resized, cv::Size(width, height), 0, 0, interpolation);
      *image = ImageOf(resized);
      return;
    }
    const float aspect =
        static_cast<float>(image->shape.width) / static_cast<float>(image->shape.height);
    const bool wide = aspect > static_cast<float>(width) / static_cast<float>(height);
    const float fit_height = wide ? static_cast<float>(width) / aspect : static_cast<float>(height);
    const float fit_width = wide ? static_cast<float>(width) : static_cast<float>(height) * aspect;
    const cv::Size size(std::max(1, static_cast<int>(fit_width)),
                        std::max(1, static_cast<int>(fit_height)));
    cv::resize(MatOf(image), resized, size, 0, 0, interpolation);
    cv::Scalar value(0, 0, 0);
    for (int c = 0; resize.pad_value_size() > 0 && c < 3; ++c) {
      value[c] = resize.pad_value(std::min(c, resize.pad_value_size() - 1));
    }
    const int top = (height - size.height) / 2, left = (width - size.width) / 2;
    cv::Mat padded;
    cv::copyMakeBorder(resized, padded, top, height - size.height - top, left,
                       width - size.width - left, BorderOf(resize.pad_mode()), value);
    *image = ImageOf(padded);
    // The frame is the padded image, in fractions of the one inside.
    const float beside = (static_cast<float>(width) / fit_width - 1) / 2;
    const float above = (static_cast<float>(height) / fit_height - 1) / 2;
    *objects = ObjectsIn({-beside, -above, 1 + beside, 1 + above}, *objects, nullptr);
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
