// Decides how images are preprocessed for a net. The sources are, in this order: flags, the weights
// or the net that was trained (--like), and Caffe's defaults.
#ifndef DOPPIO_TOOLS_NETS_PREPARATION_H_
#define DOPPIO_TOOLS_NETS_PREPARATION_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "data/record/record.h"
#include "proto/preprocessing.pb.h"
#include "tools/cli/command_line.h"

namespace doppio {

// Returns a text such as "RGB, 32x32, mean 125.3,123,113.9, scale 1".
std::string ToText(const Preprocessing& preprocessing);

// Returns the fields that are set, keyed by name: {"channels": "RGB", "mean": [125.3, 123, 113.9],
// ...}.
nlohmann::json ToJson(const Preprocessing& preprocessing);

// Returns the differences between `now` and `known`: "BGR instead of RGB, scale 0.5 instead of 1".
// Returns "" if there is none. A value that one of them lacks is not a difference.
std::string DifferenceText(const Preprocessing& now, const Preprocessing& known);

// Returns the preprocessing of the data layer of the net in `path` for phase TEST, or else for
// phase TRAIN (DescribeForUse in core/net/spec/preprocessing.h). If the mean file does not exist, a
// file of the same name next to the net is used. If that does not exist either, throws FileError
// unless `mean_given`. Throws UsageError if the net reads no images.
Preprocessing PreprocessingLike(const NetFileOptions& options, const std::string& path,
                                bool mean_given);

// The known preprocessing of the training images.
struct KnownPreprocessing {
  Preprocessing images;
  std::string from;  // the source: "the weights", "train_val.prototxt"; "" if nothing is known
};

// The preprocessing that flags ask for. Unset fields keep the known value.
struct ImageWishes {
  std::optional<Preprocessing::Channels> channels;
  std::string mean;  // a mean as MeansOf accepts it; "" if not given
  std::optional<float> scale;
  std::string resize;  // a size as ParseSize accepts it; "" if not given
};

// Returns the channel order of --rgb and --channel_swap, or nothing if neither is given. Throws
// UsageError if a value is wrong or the flags contradict each other.
std::optional<Preprocessing::Channels> ChannelsFromFlags(bool rgb_given, bool rgb,
                                                         const std::string& channel_swap);

// Returns the preprocessing that --rgb, --channel_swap, --mean and --scale ask for. `mean` replaces
// --mean. Throws UsageError.
ImageWishes WishesFromFlags(const CommandLine& line, const std::string& mean);

// Returns the known preprocessing of the images of a net whose file is `model`. --like takes
// precedence over the weights, and the weights over the net's file. Throws UsageError or FileError.
KnownPreprocessing KnownFromFlags(const CommandLine& line, bool mean_given,
                                  const std::optional<Preprocessing>& in_weights,
                                  const std::optional<Preprocessing>& in_net,
                                  const std::string& model);

// Decides how images become the net's input, for NetInput, and logs the decision. Values in
// `wishes` take precedence over `known`. Values that are in neither have Caffe's defaults: BGR, no
// mean, scale 1. Throws UsageError for wishes that contradict the input.
Preprocessing PrepareImages(const KnownPreprocessing& known, const ImageWishes& wishes,
                            const ImageShape& input);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_PREPARATION_H_
