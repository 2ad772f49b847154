#include "data/source/class_names.h"

#include "core/base/content/text_file.h"
#include "core/base/file.h"

namespace doppio {

std::vector<std::string> ReadLabels(const std::string& path) {
  std::vector<std::string> names = ReadLines(path, "a text file of class names, one per line,");
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

std::vector<std::string> FindClassNames(const std::string& folder,
                                        const std::vector<std::string>& files) {
  const std::string start = folder.empty() || folder.back() == '/' ? folder : folder + "/";
  for (const std::string& file : files) {
    if (!FileExists(start + file)) continue;
    RefusePipe(start + file, "a list of class names in a folder");
    return ReadLabels(start + file);
  }
  return {};
}

}  // namespace doppio
