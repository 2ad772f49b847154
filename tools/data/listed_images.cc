#include "tools/data/listed_images.h"

#include <algorithm>
#include <filesystem>

#include "core/base/file.h"
#include "tools/cli/file_kind.h"
#include "tools/data/image_input.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

// Collects the paths, relative to a folder, of the image files in its subfolders.
class ImagesBelow {
 public:
  explicit ImagesBelow(const fs::path& folder) : from_(folder), open_{fs::canonical(folder)} {}

  // Adds the images in `folder`, which is below the constructor's, and in its subfolders.
  void Add(const fs::path& folder) {
    open_.push_back(RealPath(folder));
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string path = entry.path().lexically_relative(from_).string();
      std::error_code broken;  // reading the image reports a broken link
      if (entry.is_directory(broken)) {
        Add(entry.path());
      } else if (IsImageFile(entry.path().string())) {
        paths_.push_back(path);
      } else if (others_++ == 0 || path < other_) {
        other_ = path;
      }
    }
    open_.pop_back();
  }
  // Describes the other files: "no files", or "3 files with other names, such as 'a/notes.txt'".
  std::string Others() const {
    if (others_ == 0) return "no files";
    return StrCat(others_, others_ == 1 ? " file" : " files", " with other names, such as '",
                  other_, "'");
  }
  std::vector<std::string> Sorted() {
    std::sort(paths_.begin(), paths_.end());
    return std::move(paths_);
  }

 private:
  // Returns the path without links. Throws FileError if the folder contains one that is being read:
  // reading it would never end.
  fs::path RealPath(const fs::path& folder) const {
    fs::path real = fs::canonical(folder);
    for (const fs::path& inner : open_) {
      if (std::mismatch(real.begin(), real.end(), inner.begin(), inner.end()).first == real.end()) {
        throw FileError("'", folder.string(),
                        "' is a link to a folder that contains it; remove the link");
      }
    }
    return real;
  }

  const fs::path from_;
  std::vector<fs::path> open_;  // the folders that are being read, each inside the one before
  std::vector<std::string> paths_;
  int64_t others_ = 0;  // files that are no images by their names
  std::string other_;   // the first of them
};

std::vector<std::string> FoldersIn(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    std::error_code broken;  // a link that leads nowhere is no class
    if (entry.is_directory(broken) && name[0] != '.') names.push_back(name);
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
      ImagesBelow found(folder);
      found.Add(fs::path(folder) / name);
      const std::vector<std::string> paths = found.Sorted();
      if (paths.empty()) {
        throw FileError("folder '", images.root, name, "' of a class has no image files, but ",
                        found.Others());
      }
      for (const std::string& path : paths) {
        images.lines.push_back({path, {static_cast<float>(label)}, 0});
      }
    }
  } catch (const fs::filesystem_error& e) {
    const std::string path = e.path1().empty() ? folder : e.path1().string();
    throw FileError("cannot read '", path, "': ", e.code().message());
  }
  if (images.classes.empty()) {
    const std::string kind = DataKindOf(folder);
    throw FileError("'", folder, "' ", kind == "folder" ? "" : "holds " + kind + " data and ",
                    "has no folders; each class of images needs one");
  }
  return images;
}

ListedImages ReadImages(const std::string& path, const std::string& root) {
  if (!FileExists(path + "/.")) return ReadListedImages(path, root);
  if (root.empty()) return ReadClassFolders(path);
  throw UsageError("--root_folder is for lists, but '", path, "' is a folder");
}

std::string LinesOfClasses(const std::vector<std::string>& classes) {
  std::string text;
  for (const std::string& name : classes) text += name + "\n";
  return text;
}

}  // namespace doppio
