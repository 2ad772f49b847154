#include "data/source/class_names.h"

#include <sstream>

#include "core/base/content_kind.h"
#include "core/base/file.h"

namespace doppio {

std::vector<std::string> ReadLabels(const std::string& path) {
  const std::string content = ReadFile(path);
  CheckIsText(path, content, "a text file of class names, one per line,");
  std::istringstream text(content);
  std::vector<std::string> names;
  for (std::string line; std::getline(text, line);) {
    line.erase(line.find_last_not_of("\r") + 1);
    names.push_back(line);
  }
  while (!names.empty() && names.back().find_first_not_of(" \t") == std::string::npos) {
    names.pop_back();
  }
  return names;
}

std::vector<std::string> FindClassNames(const std::string& folder,
                                        const std::vector<std::string>& files) {
  const std::string start = folder.empty() || folder.back() == '/' ? folder : folder + "/";
  for (const std::string& file : files) {
    if (FileExists(start + file)) return ReadLabels(start + file);
  }
  return {};
}

}  // namespace doppio
