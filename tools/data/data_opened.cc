#include "tools/data/data_opened.h"

#include <utility>

#include "tools/cli/file_kind.h"
#include "tools/cli/flags.h"
#include "tools/data/databases.h"
#include "tools/data/listed_images.h"

namespace doppio {

OpenedData OpenData(const CommandLine& line, const std::string& path) {
  OpenedData data;
  const bool given = line.Given("backend");
  data.kind = given ? line.flags.backend : DataKindOf(path);
  if (given || (data.kind != "list" && data.kind != "folder")) {
    data.source = OpenDatabase(data.kind, path);
    data.classes = data.source->facts().class_names;
    return data;
  }
  ListedImages images = ReadImages(path, line.flags.root_folder);
  data.classes = std::move(images.classes);
  data.source = OpenImageLines(std::move(images.lines), images.root, images.list);
  if (data.classes.empty()) data.classes = data.source->facts().class_names;
  return data;
}

std::string ClassName(const std::vector<std::string>& classes, int64_t label) {
  const bool named = label >= 0 && label < static_cast<int64_t>(classes.size());
  return std::to_string(label) + (named ? " " + classes[label] : "");
}

}  // namespace doppio
