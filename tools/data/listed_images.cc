#include "tools/data/listed_images.h"

#include <algorithm>
#include <filesystem>

#include "core/base/file.h"
#include "tools/cli/file_kind.h"
#include "tools/data/image_input.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

// Returns the sorted paths, relative to `from`, of the image files in `folder` and its subfolders.
std::vector<std::string> ImagesBelow(const fs::path& folder, const fs::path& from) {
  std::vector<std::string> paths;
  const auto links = fs::directory_options::follow_directory_symlink;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, links)) {
    const std::string path = entry.path().lexically_relative(from).string();
    if (!entry.is_directory() && IsImageName(path)) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> FoldersIn(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name[0] != '.') names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

ListedImages ReadListedImages(const std::string& list, const std::string& root) {
  return {list, root, ReadImageLines(list), {}};
}

ListedImages ReadClassFolders(const std::string& folder) {
  ListedImages images;
  images.root = EndsWith(folder, "/") ? folder : folder + "/";
  try {
    images.classes = FoldersIn(folder);
    for (size_t label = 0; label < images.classes.size(); ++label) {
      const std::string& name = images.classes[label];
      const std::vector<std::string> paths = ImagesBelow(fs::path(folder) / name, folder);
      if (paths.empty()) {
        throw FileError("folder '" + images.root + name + "' of a class has no image files");
      }
      for (const std::string& path : paths) {
        images.lines.push_back({path, {static_cast<float>(label)}, 0});
      }
    }
  } catch (const fs::filesystem_error& e) {
    throw FileError("cannot read '" + folder + "': " + e.code().message());
  }
  if (images.classes.empty()) {
    const std::string kind = DataKindOf(folder);
    throw FileError("'" + folder + "' " + (kind == "folder" ? "" : "holds " + kind + " data and ") +
                    "has no folders; each class of images needs one");
  }
  return images;
}

ListedImages ReadImages(const std::string& path, const std::string& root) {
  if (!FileExists(path + "/.")) return ReadListedImages(path, root);
  if (root.empty()) return ReadClassFolders(path);
  throw UsageError("--root_folder is for lists, but '" + path + "' is a folder");
}

void WriteClasses(const std::vector<std::string>& classes, const std::string& path) {
  std::string text;
  for (const std::string& name : classes) text += name + "\n";
  WriteFileAtomically(path, text);
}

}  // namespace doppio
