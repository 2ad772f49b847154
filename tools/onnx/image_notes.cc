#include "tools/onnx/image_notes.h"

#include <array>
#include <cstdio>
#include <optional>
#include <vector>

#include "data/augment/preprocessing.h"
#include "proto/data.pb.h"
#include "tools/cli/word_list.h"
#include "tools/pages/html_text.h"

namespace doppio {
namespace {

using Notes = std::map<std::string, std::string>;

// Formats a float with enough digits to restore it exactly.
std::string Exact(float value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
  return text;
}

std::string BytesOf(const google::protobuf::RepeatedField<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), sizeof(float) * values.size()};
}

std::string SizeText(uint32_t height, uint32_t width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

// The shapes of images are known only where the net has them as its input.
Preprocessing FitToBlob(const Preprocessing& images, const Shape& shape) {
  if (shape.rank() != 4 || images.short_side() > 0) return images;
  return FitToInput(
      images, {static_cast<int>(shape[1]), static_cast<int>(shape[2]), static_cast<int>(shape[3])});
}

bool ChangesColours(const Preprocessing& images) {
  const NoiseParameter& noise = images.changes().noise_param();
  return noise.convert_to_hsv() || noise.convert_to_lab();
}

void AddSizes(const std::string& blob, const Preprocessing& images, Notes* notes) {
  if (images.resize_height() > 0) {
    (*notes)[blob + ".resize"] = SizeText(images.resize_height(), images.resize_width());
  }
  if (images.scaled_decode()) (*notes)[blob + ".scaled_decode"] = "true";
  if (images.exif_rotation()) (*notes)[blob + ".exif_rotation"] = "true";
  if (images.sixteen_bit_range() != kSixteenBits) {
    (*notes)[blob + ".sixteen_bit_range"] = std::to_string(images.sixteen_bit_range());
  }
  if (images.has_changes()) (*notes)[blob + ".changes"] = images.changes().ShortDebugString();
  if (images.height() > 0) (*notes)[blob + ".crop"] = SizeText(images.height(), images.width());
}

void AddValues(const std::string& blob, const Preprocessing& images, Notes* notes) {
  std::vector<std::string> means;
  for (const float mean : images.mean()) means.push_back(Exact(mean));
  if (!means.empty()) (*notes)[blob + ".mean_value"] = Join(means, ",");
  if (images.has_mean_file()) (*notes)[blob + ".mean_file"] = images.mean_file();
  if (images.mean_image_size() > 0) {
    (*notes)[blob + ".mean_image"] = Base64(BytesOf(images.mean_image()));
  }
  (*notes)[blob + ".scale"] = Exact(images.scale());
  std::vector<std::string> deviations;
  for (const float deviation : images.std_value()) deviations.push_back(Exact(deviation));
  if (!deviations.empty()) (*notes)[blob + ".std_value"] = Join(deviations, ",");
  (*notes)[blob + ".pixels"] = std::string("from 0 to 255, less the mean, times ") +
                               (deviations.empty() ? "the scale" : "(the scale over the std)");
}

void AddNotes(const std::string& blob, const Preprocessing& images, Notes* notes) {
  const std::map<Preprocessing::Channels, std::array<const char*, 2>> orders = {
      {Preprocessing::BGR, {"blue, green, red", "Bgr8"}},
      {Preprocessing::RGB, {"red, green, blue", "Rgb8"}},
      {Preprocessing::GRAY, {"gray", "Gray8"}}};
  const auto order = orders.find(images.channels());
  if (order != orders.end()) {
    (*notes)[blob + ".channels"] = order->second[0];
    if (!ChangesColours(images)) (*notes)["Image.BitmapPixelFormat"] = order->second[1];
  }
  AddSizes(blob, images, notes);
  AddValues(blob, images, notes);
  const std::string classes = Join(images.class_name(), "\n");
  if (!classes.empty()) (*notes)["classes"] = classes;
}

}  // namespace

std::map<std::string, Preprocessing> ImageInputs(const Graph& graph) {
  std::map<std::string, Preprocessing> inputs;
  std::optional<Preprocessing> known = graph.preprocessing;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const LayerSpec& layer = graph.layer(static_cast<int>(i));
    const bool reads_images = node.type->describe_images != nullptr;
    if (node.tops.empty() || (!reads_images && layer.type() != "Input")) continue;
    const Edge& edge = graph.edges[node.tops[0]];
    if (known) {
      inputs[edge.name] = FitToBlob(*known, edge.shape);
      known.reset();
    } else if (reads_images) {
      inputs[edge.name] = FitToBlob(node.type->describe_images(layer), edge.shape);
    }
  }
  return inputs;
}

Notes ImageNotes(const Graph& graph) {
  Notes notes;
  for (const auto& [blob, images] : ImageInputs(graph)) AddNotes(blob, images, &notes);
  return notes;
}

}  // namespace doppio
