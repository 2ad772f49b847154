#include <google/protobuf/text_format.h>

#include <cstdio>
#include <map>
#include <sstream>

#include "tools/onnx_import/import_onnx.h"

namespace doppio {
namespace {

// Returns the parts of `text` between separators.
std::vector<std::string> Parts(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

float FloatOf(const std::string& text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  float value = 0;
  in >> value;
  return value;
}

}  // namespace

std::optional<Preprocessing> RecordedImages(const onnx::ModelProto& model,
                                            const std::string& input) {
  std::map<std::string, std::string> notes;
  for (const onnx::StringStringEntryProto& note : model.metadata_props())
    notes[note.key()] = note.value();
  const auto of_input = [&](const char* what) { return notes[input + "." + what]; };
  if (of_input("scale").empty()) return std::nullopt;  // every record has it
  Preprocessing images;
  const std::string channels = of_input("channels");
  if (!channels.empty()) {
    images.set_channels(channels == "gray"   ? Preprocessing::GRAY
                        : channels[0] == 'r' ? Preprocessing::RGB
                                             : Preprocessing::BGR);
  }
  unsigned height = 0, width = 0;
  if (std::sscanf(of_input("resize").c_str(), "%9ux%9u", &height, &width) == 2) {
    images.set_resize_height(height);
    images.set_resize_width(width);
  }
  if (std::sscanf(of_input("crop").c_str(), "%9ux%9u", &height, &width) == 2) {
    images.set_height(height);
    images.set_width(width);
  }
  for (const std::string& mean : Parts(of_input("mean_value"), ',')) images.add_mean(FloatOf(mean));
  images.set_scale(FloatOf(of_input("scale")));
  for (const std::string& deviation : Parts(of_input("std_value"), ','))
    images.add_std_value(FloatOf(deviation));
  const std::string changes = of_input("changes");
  if (!changes.empty() &&
      !google::protobuf::TextFormat::ParseFromString(changes, images.mutable_changes()))
    images.clear_changes();
  for (const std::string& name : Parts(notes["classes"], '\n')) images.add_class_name(name);
  return images;
}

}  // namespace doppio
