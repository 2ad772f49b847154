// How images are prepared for a net: as its weights, the net that was trained (--like) or flags
// say, and what is assumed where nothing is known.
#ifndef DOPPIO_TOOLS_TRAIN_PREPARATION_H_
#define DOPPIO_TOOLS_TRAIN_PREPARATION_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "proto/preprocessing.pb.h"
#include "tools/data/image_input.h"

namespace doppio {

// "RGB, 32x32, mean 125.3,123,113.9, scale 1".
std::string ToText(const Preprocessing& preprocessing);

// The fields that are set, by their names: {"channels": "RGB", "mean": [125.3, 123, 113.9], ...}.
nlohmann::json ToJson(const Preprocessing& preprocessing);

// How `now` departs from `known`: "BGR instead of RGB, scale 0.5 instead of 1". "" where it does
// not; what one of them does not tell is no difference.
std::string DifferenceText(const Preprocessing& now, const Preprocessing& known);

// Of the net in `path` for phase TRAIN, with its data layer. A mean file that is missing is
// looked for beside the net; throws FileError where it is not there either, unless `mean_given`.
// Throws UsageError for a net that reads no images.
Preprocessing PreprocessingLike(const std::string& path, bool mean_given);

// What is known of the images of a training.
struct KnownPreprocessing {
  Preprocessing images;
  std::string from;  // "the weights", "train_val.prototxt"; "": nothing is known
};

// What flags ask for; unset: as is known.
struct ImageWishes {
  std::optional<Preprocessing::Channels> channels;
  std::string mean;  // as MeansOf takes it
  std::optional<float> scale;
  std::string resize;  // as ParseSize takes it
};

// --rgb, --channel_swap; unset where neither is given. Throws UsageError.
std::optional<Preprocessing::Channels> ChannelsFromFlags(bool rgb_given, bool rgb,
                                                         const std::string& channel_swap);

// Decides how images become the net's input, with one log line that says so. Wishes go before what
// is known; what neither tells is assumed to be as in Caffe: BGR, no mean, scale 1.
ImageInputOptions PrepareImages(const KnownPreprocessing& known, const ImageWishes& wishes,
                                const ImageShape& input);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_PREPARATION_H_
