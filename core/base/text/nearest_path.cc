#include "core/base/text/nearest_path.h"

#include <filesystem>
#include <iterator>
#include <vector>

#include "core/base/text/nearest.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

// Returns the names of the subfolders of `folder` if `folders` is true, else the names of its other
// entries.
std::vector<std::string> NamesIn(const fs::path& folder, bool folders) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
    if (entry.is_directory(ignored) == folders) names.push_back(entry.path().filename().string());
  }
  return names;
}

bool IsWithEnding(const std::string& longer, const std::string& name) {
  return longer.compare(0, name.size() + 1, name + ".") == 0;
}

std::string NearestName(const std::string& name, const std::vector<std::string>& names) {
  for (const std::string& other : names) {
    if (IsWithEnding(other, name) || IsWithEnding(name, other)) return other;
  }
  // Compares names without their extension. A common extension would allow more edits and suggest
  // "train.prototxt" for "test.prototxt".
  const std::string ending = fs::path(name).extension().string();
  const std::string own_stem = fs::path(name).stem().string();
  std::vector<std::string> stems, endings;
  for (const std::string& other : names) {
    const fs::path path(other);
    if (path.extension() == ending) stems.push_back(path.stem().string());
    if (path.stem() == own_stem) endings.push_back(path.extension().string());
  }
  const std::string stem = Nearest(own_stem, stems);
  if (!stem.empty()) return stem + ending;
  const std::string near_ending = Nearest(ending, endings);
  return near_ending.empty() ? "" : own_stem + near_ending;
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

std::string NearestPath(const std::string& path) {
  fs::path known;  // the longest leading part of `path` that exists
  const fs::path whole(path);
  auto name = whole.begin();
  while (name != whole.end() && Exists(known / *name)) known /= *name++;
  if (name == whole.end() || name->empty()) return "";
  const bool folder = std::next(name) != whole.end();
  const std::string nearest = NearestName(name->string(), NamesIn(known, folder));
  if (nearest.empty()) return "";
  fs::path found = known / nearest;
  for (++name; name != whole.end(); ++name) found /= *name;
  return Exists(found) ? found.string() : "";
}

std::string DidYouMeanPath(const std::string& path) {
  const std::string nearest = NearestPath(path);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace doppio
