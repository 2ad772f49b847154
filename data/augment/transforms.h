// The table of the changes that transform_param can ask for, beyond crop, mirror, mean and scale.
// A row holds all that the program knows of a transform. To add one, add its field to
// proto/data.proto, its row to transforms.cc, and its test.
#ifndef DOPPIO_DATA_AUGMENT_TRANSFORMS_H_
#define DOPPIO_DATA_AUGMENT_TRANSFORMS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/sample_set.h"
#include "data/decode/decode.h"
#include "data/record/boxes.h"
#include "data/record/draws.h"

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
  using Settle = void (*)(TransformationParameter* parameter);
  // Returns the range of the random numbers; nullopt if there is nothing random.
  using Move = std::optional<RandomMove> (*)(const TransformationParameter& parameter);

  // `asking` are the fields of transform_param that ask for the transform. `stream` numbers its
  // random numbers, below kStreams: each transform has its own, so that a new one does not change
  // the numbers of the others.
  Transform(std::vector<std::string> asking, uint64_t stream, Check check, Apply apply)
      : fields(std::move(asking)), stream(stream), check(check), apply(apply) {}
  // Layers Data and ImageData apply the transform in phase TEST as well as in TRAIN. AnnotatedData
  // ignores the phase. `settle` changes the fields of the transform to what they do in phase TEST,
  // without anything random.
  Transform InTest(Settle settle = nullptr) && {
    return in_test = true, this->settle = settle, std::move(*this);
  }
  Transform WithBoxes(Boxes when) && { return boxes = when, std::move(*this); }
  Transform Resizes(Declare size) && { return declare = size, std::move(*this); }
  // The transform moves pixels at random, in training or, `always`, in both phases. The sources of
  // a group draw such transforms together.
  Transform Moves(Move move, bool always = false) && {
    return this->move = move, moves_always = always, std::move(*this);
  }
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
  Settle settle = nullptr;    // null if nothing is to change
  Move move = nullptr;        // null if pixels keep their places, or move without random numbers
  bool moves_always = false;
};

// Returns all transforms in the order in which they are applied.
const std::vector<Transform>& Transforms();
// Returns the transforms that `parameter` asks for, in this order.
std::vector<const Transform*> RequestedTransforms(const TransformationParameter& parameter);

// The random numbers of transforms: those that move pixels, and all others.
struct TransformRandom {
  TransformRandom(const Random& random) : moves(random), others(random) {}  // NOLINT: converts
  // Returns the numbers of a transform for a sample.
  Draws Of(const Transform& transform, uint64_t sample) const {
    return Draws(transform.move != nullptr ? moves : others,
                 sample * Transform::kStreams + transform.stream);
  }
  Random moves, others;
};

// Applies those of `transforms` that act in this phase. The random numbers are those of `sample`.
void ApplyTransforms(const std::vector<const Transform*>& transforms,
                     const TransformationParameter& parameter, bool training,
                     const TransformRandom& random, uint64_t sample, Image* image);

// Returns the fields of all transforms that act in phase TEST, settled (see InTest).
TransformationParameter ChangesInTest(const TransformationParameter& parameter);

// Returns true if a transform or the pipeline uses this field of transform_param, or refuses it.
// The other fields of forks have no effect.
bool HasTransformField(const std::string& name);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_TRANSFORMS_H_
