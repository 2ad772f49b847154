// The random numbers of a transform are a function of the sample's number in the run.
#include "data/augment/augmented_source.h"

#include <algorithm>
#include <opencv2/core.hpp>
#include <utility>

#include "core/base/error.h"
#include "data/augment/box_sampler.h"
#include "data/augment/transforms.h"
#include "data/decode/mat_image.h"
#include "data/decode/source_facts.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

using Boxes = Transform::Boxes;

constexpr uint64_t kWindowStream = Transform::kStreams - 1;

class TransformedSource : public Source {
 public:
  TransformedSource(std::unique_ptr<Source> records, const TransformationParameter& transform,
                    const Random& random)
      : records_(std::move(records)),
        parameter_(transform),
        transforms_(RequestedTransforms(transform)),
        random_(random) {}

  int64_t size() const override { return records_->size(); }
  bool decodes() const override { return true; }
  std::string Name(int64_t index) const override { return records_->Name(index); }
  SourceFacts facts() const override { return FactsOf(*records_); }
  std::vector<float> LabelsOf(int64_t index) const override { return records_->LabelsOf(index); }
  void Read(int64_t index, Record* record) const override { ReadSample(index, 0, record); }
  void Join(const Random& moves) override {
    records_->Join(moves);
    random_.moves = moves;
    joined_ = true;
  }

 protected:
  const std::unique_ptr<Source> records_;
  const TransformationParameter parameter_;
  const std::vector<const Transform*> transforms_;
  TransformRandom random_;
  bool joined_ = false;
};

// For layers Data and ImageData.
class AugmentedSource : public TransformedSource {
 public:
  AugmentedSource(std::unique_ptr<Source> records, const TransformationParameter& transform,
                  Phase phase, const Random& random)
      : TransformedSource(std::move(records), transform, random), training_(phase == TRAIN) {}

  void ReadSample(int64_t index, uint64_t sample, Record* record) const override {
    records_->ReadSample(index, sample, record);
    Image image = ImageOfRecord(record, parameter_);
    ApplyTransforms(transforms_, parameter_, training_, random_, sample, &image);
    SetImage(image, record);
  }

 private:
  const bool training_;
};

// For SSD's images with boxes (layer AnnotatedData): cuts a random window as well.
class AnnotatedSource : public TransformedSource {
 public:
  AnnotatedSource(std::unique_ptr<Source> records, const AnnotatedDataParameter& parameter,
                  const TransformationParameter& transform, const Random& random)
      : TransformedSource(std::move(records), transform, random),
        samplers_(parameter.batch_sampler()) {}

  void ReadSample(int64_t index, uint64_t sample, Record* record) const override {
    records_->Read(index, record);
    if (!record->annotated) {
      throw FileError("it is a Datum without boxes; layer Data reads such records");
    }
    // A source alone takes all numbers from one sequence. In a group, each transform has its own,
    // so that sources with other transforms draw the same numbers.
    Draws alone(random_.others, sample);
    Image image = ImageOfRecord(record, parameter_);
    const auto apply = [&](Boxes when) {
      for (const Transform* transform : transforms_) {
        if (transform->boxes != when) continue;
        Draws own = random_.Of(*transform, sample);
        transform->apply({parameter_, true, joined_ ? &own : &alone, &image, &record->objects});
      }
    };
    apply(Boxes::kBeforeWindow);
    Draws window(random_.moves, sample * Transform::kStreams + kWindowStream);
    CutWindow(joined_ ? &window : &alone, &image, &record->objects);
    apply(Boxes::kAfterWindow);
    SetImage(image, record);
  }

 private:
  void CutWindow(Draws* draws, Image* image, std::vector<ObjectBox>* objects) const {
    const std::vector<Box> windows = SampleWindows(samplers_, *objects, draws);
    if (windows.empty()) return;
    const Box window = Clipped(windows[draws->Below(static_cast<int>(windows.size()))]);
    const auto height = static_cast<float>(image->shape.height);
    const auto width = static_cast<float>(image->shape.width);
    const cv::Rect part(
        static_cast<int>(window.xmin * width), static_cast<int>(window.ymin * height),
        static_cast<int>(window.width() * width), static_cast<int>(window.height() * height));
    if (part.width < 1 || part.height < 1) return;  // the image has only a few pixels
    *image = ImageOf(MatOf(image)(part));
    const bool constrained = parameter_.has_emit_constraint();
    *objects = ObjectsIn(window, *objects, constrained ? &parameter_.emit_constraint() : nullptr);
  }

  const BatchSamplers samplers_;
};

}  // namespace

std::unique_ptr<Source> OpenAugmented(std::unique_ptr<Source> records,
                                      const TransformationParameter& transform, Phase phase,
                                      const Random& random) {
  CheckAugmented(transform);
  const std::vector<const Transform*> asked = RequestedTransforms(transform);
  const bool changes = std::any_of(asked.begin(), asked.end(), [phase](const Transform* t) {
    return phase == TRAIN || t->in_test;
  });
  if (!changes) return records;
  return std::make_unique<AugmentedSource>(std::move(records), transform, phase, random);
}

void CheckAugmented(const TransformationParameter& transform) {
  for (const Transform* asked : RequestedTransforms(transform)) asked->check(transform);
}

TransformationParameter WithoutAugmentedTransforms(TransformationParameter transform) {
  for (const Transform& applied : Transforms()) applied.Clear(&transform);
  return transform;
}

std::unique_ptr<Source> OpenAnnotated(std::unique_ptr<Source> records,
                                      const AnnotatedDataParameter& parameter,
                                      const TransformationParameter& transform,
                                      const Random& random) {
  CheckAnnotated(parameter, transform);
  return std::make_unique<AnnotatedSource>(std::move(records), parameter, transform, random);
}

void CheckAnnotated(const AnnotatedDataParameter& parameter,
                    const TransformationParameter& transform) {
  CheckSamplers(parameter.batch_sampler());
  for (const Transform* asked : RequestedTransforms(transform)) {
    if (asked->boxes != Boxes::kNever) asked->check(transform);
  }
}

TransformationParameter WithoutAnnotatedTransforms(TransformationParameter transform) {
  for (const Transform& applied : Transforms()) {
    if (applied.boxes != Boxes::kNever) applied.Clear(&transform);
  }
  return transform;
}

}  // namespace doppio
