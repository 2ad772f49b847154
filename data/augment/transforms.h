// The table of the changes that transform_param can ask for, beyond crop, mirror, mean and scale.
// A row holds all that the program knows of a transform. To add one, add its field to
// proto/data.proto, its row to transforms.cc, and its test.
#ifndef DOPPIO_DATA_AUGMENT_TRANSFORMS_H_
#define DOPPIO_DATA_AUGMENT_TRANSFORMS_H_

#include <string>
#include <utility>
#include <vector>

#include "data/augment/boxes.h"
#include "data/augment/draws.h"
#include "data/decode/decode.h"

namespace doppio {

class TransformationParameter;

// An image on its way through the transforms.
struct TransformArgs {
  const TransformationParameter& parameter;
  bool training;
  Draws* draws;
  Image* image;
  // The objects in the image; null if the layer has no boxes.
  std::vector<ObjectBox>* objects = nullptr;
};

// A row of the table.
struct Transform {
  // When layer AnnotatedData, whose images have boxes, applies a transform: before or after it cuts
  // a window (batch_sampler).
  enum class Boxes { kNever, kBeforeWindow, kAfterWindow };
  // Throws UserError if the transform's fields are invalid.
  using Check = void (*)(const TransformationParameter& parameter);
  // Throws FileError if the image cannot be changed.
  using Apply = void (*)(const TransformArgs& args);
  // Sets the height and width that images get, or 0 if they depend on the image or are random.
  using Declare = void (*)(const TransformationParameter& parameter, ImageShape* image);

  // `asking` are the fields of transform_param that ask for the transform. `stream` numbers its
  // random numbers, below kStreams: each transform has its own, so that a new one does not change
  // the numbers of the others.
  Transform(std::vector<std::string> asking, uint64_t stream, Check check, Apply apply)
      : fields(std::move(asking)), stream(stream), check(check), apply(apply) {}
  // Layers Data and ImageData apply the transform in phase TEST as well as in TRAIN. AnnotatedData
  // ignores the phase.
  Transform InTest() && { return in_test = true, std::move(*this); }
  Transform WithBoxes(Boxes when) && { return boxes = when, std::move(*this); }
  Transform Resizes(Declare size) && { return declare = size, std::move(*this); }
  // Other fields that only this transform reads.
  Transform Options(std::vector<std::string> names) && {
    return options = std::move(names), std::move(*this);
  }

  // Returns the first field that `parameter` sets, not to 0 pixels, of those that ask for the
  // transform; "" if none.
  std::string RequestedBy(const TransformationParameter& parameter) const;
  // Removes the fields that ask for the transform.
  void Clear(TransformationParameter* parameter) const;

  static constexpr uint64_t kStreams = 16;
  std::vector<std::string> fields, options;
  uint64_t stream;
  bool in_test = false;
  Boxes boxes = Boxes::kNever;
  Check check;
  Apply apply;
  Declare declare = nullptr;  // null if images keep their sizes
};

// Returns all transforms in the order in which they are applied.
const std::vector<Transform>& Transforms();
// Returns the transforms that `parameter` asks for, in this order.
std::vector<const Transform*> RequestedTransforms(const TransformationParameter& parameter);

// Returns true if a transform or the pipeline uses this field of transform_param, or refuses it.
// The other fields of forks have no effect.
bool HasTransformField(const std::string& name);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_TRANSFORMS_H_
