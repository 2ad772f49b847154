#include "tools/detect/class_labels.h"

#include <algorithm>

#include "core/base/content/text_file.h"
#include "core/base/error.h"
#include "core/net/spec/prototxt.h"
#include "data/source/class_names.h"
#include "proto/detection.pb.h"
#include "tools/cli/file_kind.h"

namespace doppio {
namespace {

ClassLabels LabelsOfMap(const std::string& text, const std::string& path) {
  LabelMap map;
  const FieldPlaces places = ParseText(text, path, &map);
  ClassLabels labels;
  for (int i = 0; i < map.item_size(); ++i) {
    const LabelMapItem& item = map.item(i);
    if (!item.has_label()) throw UserError(places.At("item", i), "the item has no label, a number");
    const std::string& name = item.has_display_name() ? item.display_name() : item.name();
    if (!labels.emplace(item.label(), name).second) {
      throw UserError(places.At("item", i), "a second item has label ", item.label());
    }
  }
  return labels;
}

}  // namespace

ClassLabels LabelsInOrder(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const std::string& first = names.front();
  const bool background =
      first == "background" || first == "__background__" || first == "none_of_the_above";
  ClassLabels labels;
  for (const std::string& name : names) {
    labels.emplace(static_cast<int>(labels.size()) + (background ? 0 : 1), name);
  }
  return labels;
}

ClassLabels ReadClassLabels(const std::string& path) {
  const std::string text =
      ReadTextFile(path, "a label map, or a text file of class names, one per line,");
  const bool has_items = text.find('{') != std::string::npos && LooksLikeLabelMap(text, path);
  return has_items ? LabelsOfMap(text, path) : LabelsInOrder(ReadLabels(path));
}

}  // namespace doppio
