#include "tools/nets/preparation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/channel_scale.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/net/spec/preprocessing.h"
#include "core/net/spec/solver_spec.h"
#include "data/augment/preprocessing.h"
#include "proto/data.pb.h"
#include "tools/cli/flags.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/data/image_input.h"

namespace doppio {
namespace {

std::string SizeText(uint32_t height, uint32_t width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

std::string ChannelsText(Preprocessing::Channels channels) {
  switch (channels) {
    case Preprocessing::GRAY:
      return "gray";
    case Preprocessing::AS_IN_DATA:
      return "channels as in the data";
    default:
      return Preprocessing::Channels_Name(channels);
  }
}

std::string MeanText(const Preprocessing& images) {
  if (images.mean_size() == 0) {
    return images.has_mean_file() ? "mean of " + images.mean_file() : "no mean";
  }
  std::vector<std::string> means;
  for (const float mean : images.mean()) means.push_back(Significant(mean, 4));
  const std::string text = Join(means, ",");
  return images.mean_image_size() > 0 ? "mean image (" + text + ")" : "mean " + text;
}

std::string ScaleText(const Preprocessing& images) {
  std::vector<std::string> deviations;
  for (const float deviation : images.std_value()) deviations.push_back(Significant(deviation, 4));
  const std::string scale = "scale " + Significant(images.scale(), 6);
  return deviations.empty() ? scale : "std " + Join(deviations, ",") + ", " + scale;
}

constexpr const char* kPlainDecoding = "decoded as stored";

std::string DecodingText(const Preprocessing& images) {
  std::vector<std::string> parts;
  if (images.exif_rotation()) parts.push_back("turned upright (EXIF)");
  if (images.sixteen_bit_range() != kSixteenBits) {
    parts.push_back("16-bit values scaled by " +
                    Significant(double{kSixteenBits} / images.sixteen_bit_range(), 4));
  }
  return parts.empty() ? kPlainDecoding : Join(parts, ", ");
}

std::string ChangesText(const Preprocessing& images) { return images.changes().ShortDebugString(); }

// Returns the mean of channel `i`; a single value applies to all channels.
float MeanOf(const Preprocessing& images, int i) {
  if (images.mean_size() == 0) return 0;
  return images.mean(images.mean_size() == 1 ? 0 : i);
}

bool MeansDiffer(const Preprocessing& a, const Preprocessing& b) {
  constexpr float kRounded = 0.5f;  // files often round a mean of 104.007 to 104
  const int channels = std::max(a.mean_size(), b.mean_size());
  for (const Preprocessing* images : {&a, &b}) {
    if (images->mean_size() == 0 && images->has_mean_file()) return false;
    if (images->mean_size() > 1 && images->mean_size() != channels) return true;
  }
  for (int i = 0; i < channels; ++i) {
    if (std::abs(MeanOf(a, i) - MeanOf(b, i)) > kRounded) return true;
  }
  return false;
}

bool ScalesDiffer(const Preprocessing& a, const Preprocessing& b) {
  constexpr float kRounded = 1e-3f;
  const ChannelScale of_a(a), of_b(b);
  for (int c = 0; c < std::max({1, a.std_value_size(), b.std_value_size()}); ++c) {
    const float x = of_a.Of(c), y = of_b.Of(c);
    if (std::abs(x - y) > kRounded * std::max(std::abs(x), std::abs(y))) return true;
  }
  return false;
}

bool KnowsColours(const Preprocessing& images) {
  return images.channels() == Preprocessing::BGR || images.channels() == Preprocessing::RGB;
}

// Training folders are moved between machines, so a mean file of the same name next to the net is
// also accepted.
void TakeMeanBeside(const std::string& net, Preprocessing* images) {
  const std::string& mean = images->mean_file();
  const std::string beside = DirName(net) + mean.substr(DirName(mean).size());
  if (FileExists(beside)) SetMeanImage(ReadMeanFile(beside), images);
}

// Decides the values one by one and records which of them are assumed.
class Preparation {
 public:
  Preparation(const KnownPreprocessing& known, const ImageWishes& wishes, const ImageShape& input)
      : known_(known.images),
        from_(known.from),
        wishes_(wishes),
        input_(input),
        used_(FitToInput(known.images, input)) {
    DecideSize();
    DecideChannels();
    DecideMean();
    DecideScale();
    Log();
  }

  const Preprocessing& used() const { return used_; }

 private:
  bool told() const { return !from_.empty(); }

  void DecideSize() {
    if (wishes_.resize.empty()) return;
    int height = 0, width = 0;
    ParseSize("resize", wishes_.resize, &height, &width);
    if (height < input_.height || width < input_.width) {
      throw UsageError("images of " + SizeText(height, width) +
                       " are smaller than the net's input, " +
                       SizeText(input_.height, input_.width));
    }
    ClearSizes(&used_);
    used_.set_resize_height(static_cast<uint32_t>(height));
    used_.set_resize_width(static_cast<uint32_t>(width));
  }

  void DecideChannels() {
    if (input_.channels == 1) {
      used_.set_channels(Preprocessing::GRAY);
    } else if (wishes_.channels) {
      used_.set_channels(*wishes_.channels);
    } else if (!KnowsColours(known_)) {
      used_.set_channels(Preprocessing::BGR);
      assumed_.push_back("BGR");
    }
  }

  void DecideMean() {
    if (wishes_.mean.empty()) {
      if (!told()) assumed_.push_back("no mean");
      return;
    }
    const std::vector<float> means = MeansOf(wishes_.mean, input_.channels);
    if (means.size() > 1 && means.size() != static_cast<size_t>(input_.channels)) {
      throw UsageError(std::to_string(means.size()) + " means for " +
                       std::to_string(input_.channels) + " channels of the net's input");
    }
    used_.clear_mean_file();
    used_.clear_mean_image();
    used_.mutable_mean()->Clear();
    used_.mutable_mean()->Add(means.begin(), means.end());
  }

  void DecideScale() {
    if (wishes_.scale) {
      used_.set_scale(*wishes_.scale);
    } else if (!told()) {
      assumed_.push_back("scale 1");
    }
  }

  void Log() const {
    if (!told() && !assumed_.empty()) {
      LOG(WARNING) << "The weights do not record the preprocessing of the images; assumed: "
                   << Join(assumed_, ", ") << ". Give the net that was trained as "
                   << "--like=TRAIN_VAL.prototxt, or set --rgb, --mean, --scale and --resize.";
    }
    const std::string difference = told() ? DifferenceText(used_, known_) : "";
    LOG(INFO) << "Preprocessing" << (told() ? " from " + from_ : "") << ": " << ToText(used_)
              << (difference.empty() ? "" : " (" + difference + ")");
    if (told() && !assumed_.empty()) {
      LOG(WARNING) << "The channel order of the training images is unknown; assumed: "
                   << Join(assumed_, ", ") << ". Set --rgb for red first.";
    }
  }

  const Preprocessing known_;
  const std::string from_;
  const ImageWishes wishes_;
  const ImageShape input_;
  Preprocessing used_;
  std::vector<std::string> assumed_;
};

}  // namespace

std::string ToText(const Preprocessing& images) {
  std::vector<std::string> parts = {ChannelsText(images.channels())};
  const std::string crop = SizeText(images.height(), images.width());
  const std::string resize = SizeText(images.resize_height(), images.resize_width());
  if (images.short_side() > 0) {
    parts.push_back("short side " + std::to_string(images.short_side()) + ", at most " +
                    std::to_string(images.max_side()));
  } else {
    if (images.keep_size()) parts.push_back("not resized");
    if (images.resize_height() > 0 && resize != crop) parts.push_back("resized to " + resize);
    if (images.has_changes()) parts.push_back(ChangesText(images));
    if (images.height() > 0) parts.push_back((parts.size() > 1 ? "crop " : "") + crop);
  }
  parts.push_back(MeanText(images));
  parts.push_back(ScaleText(images));
  if (DecodingText(images) != kPlainDecoding) parts.push_back(DecodingText(images));
  return Join(parts, ", ");
}

nlohmann::json ToJson(const Preprocessing& images) {
  nlohmann::json out;
  out["channels"] = Preprocessing::Channels_Name(images.channels());
  if (images.resize_height() > 0) {
    out["resize_height"] = images.resize_height();
    out["resize_width"] = images.resize_width();
  }
  if (images.keep_size()) out["keep_size"] = true;
  if (images.scaled_decode()) out["scaled_decode"] = true;
  if (images.exif_rotation()) out["exif_rotation"] = true;
  if (images.sixteen_bit_range() != kSixteenBits) {
    out["sixteen_bit_range"] = images.sixteen_bit_range();
  }
  if (images.has_changes()) out["changes"] = ChangesText(images);
  if (images.height() > 0) {
    out["height"] = images.height();
    out["width"] = images.width();
  }
  if (images.short_side() > 0) {
    out["short_side"] = images.short_side();
    out["max_side"] = images.max_side();
  }
  out["mean"] = std::vector<float>(images.mean().begin(), images.mean().end());
  out["scale"] = images.scale();
  if (images.std_value_size() > 0) {
    out["std"] = std::vector<float>(images.std_value().begin(), images.std_value().end());
  }
  if (images.class_name_size() > 0) {
    out["class_names"] =
        std::vector<std::string>(images.class_name().begin(), images.class_name().end());
  }
  if (images.has_doppio_version()) out["doppio_version"] = images.doppio_version();
  return out;
}

std::string DifferenceText(const Preprocessing& now, const Preprocessing& known) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& is, const std::string& was) {
    parts.push_back(is + " instead of " + was);
  };
  if (KnowsColours(now) && KnowsColours(known) && now.channels() != known.channels()) {
    add(ChannelsText(now.channels()), ChannelsText(known.channels()));
  }
  const std::string now_crop = SizeText(now.height(), now.width());
  const std::string known_crop = SizeText(known.height(), known.width());
  if (now.height() > 0 && known.height() > 0 && now_crop != known_crop) add(now_crop, known_crop);
  const std::string now_size = SizeText(now.resize_height(), now.resize_width());
  const std::string known_size = SizeText(known.resize_height(), known.resize_width());
  if (now.resize_height() > 0 && known.resize_height() > 0 && now_size != known_size &&
      now_crop == known_crop) {
    add("resized to " + now_size, known_size);
  }
  if (now.has_changes() && known.has_changes() && ChangesText(now) != ChangesText(known)) {
    add(ChangesText(now), ChangesText(known));
  }
  if (MeansDiffer(now, known)) add(MeanText(now), MeanText(known));
  if (ScalesDiffer(now, known)) add(ScaleText(now), ScaleText(known));
  const std::string decoding = DecodingText(known);
  if (decoding != kPlainDecoding && DecodingText(now) != decoding) add(DecodingText(now), decoding);
  return Join(parts, ", ");
}

Preprocessing PreprocessingLike(const NetFileOptions& options, const std::string& path,
                                bool mean_given) {
  std::optional<Preprocessing> images =
      DescribeForUse(LoadNet(path, {}, TRAIN, options.level, SplitList(options.stage)));
  if (!images) {
    throw UsageError("--like needs the net that was trained, with its data layer; no layer of '" +
                     path + "' reads images");
  }
  if (images->has_mean_file() && images->mean_size() == 0) TakeMeanBeside(path, &*images);
  if (images->has_mean_file() && images->mean_size() == 0 && !mean_given) {
    throw FileError("the mean file '" + images->mean_file() + "' of '" + path +
                    "' does not exist; give the file or the values with --mean");
  }
  return *images;
}

std::optional<Preprocessing::Channels> ChannelsFromFlags(bool rgb_given, bool rgb,
                                                         const std::string& channel_swap) {
  std::optional<Preprocessing::Channels> channels;
  if (rgb_given) channels = rgb ? Preprocessing::RGB : Preprocessing::BGR;
  if (channel_swap.empty()) return channels;
  const bool keeps = channel_swap == "0,1,2";
  if (!keeps && channel_swap != "2,1,0") {
    throw UsageError("--channel_swap needs 2,1,0 (blue first) or 0,1,2 (red first); got '" +
                     channel_swap + "'");
  }
  const Preprocessing::Channels swapped = keeps ? Preprocessing::RGB : Preprocessing::BGR;
  if (channels && *channels != swapped) {
    throw UsageError("--rgb and --channel_swap=" + channel_swap + " contradict each other");
  }
  return swapped;
}

ImageWishes WishesFromFlags(const CommandLine& line, const std::string& mean) {
  ImageWishes wishes;
  wishes.channels = ChannelsFromFlags(line.Given("rgb"), line.flags.rgb, line.flags.channel_swap);
  wishes.mean = mean;
  if (line.Given("scale")) wishes.scale = static_cast<float>(line.flags.scale);
  return wishes;
}

KnownPreprocessing KnownFromFlags(const CommandLine& line, bool mean_given,
                                  const std::optional<Preprocessing>& in_weights,
                                  const std::optional<Preprocessing>& in_net,
                                  const std::string& model) {
  const std::string& like = line.flags.like;
  if (!like.empty()) return {PreprocessingLike(line.flags, like, mean_given), like};
  if (in_weights) return {*in_weights, "the weights"};
  if (in_net) return {*in_net, model};
  return {};
}

Preprocessing PrepareImages(const KnownPreprocessing& known, const ImageWishes& wishes,
                            const ImageShape& input) {
  return Preparation(known, wishes, input).used();
}

}  // namespace doppio
