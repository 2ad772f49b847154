// Sorts copies of files, or links to them, into a folder for each class.
#ifndef DOPPIO_TOOLS_CLASSIFY_SORTED_FILES_H_
#define DOPPIO_TOOLS_CLASSIFY_SORTED_FILES_H_

#include <string>
#include <unordered_map>
#include <vector>

namespace doppio {

// Returns the names of the folders of classes: the label, or the number of a class without one.
// What a file name must not contain is percent-encoded. Names are unique, cut to fit into a file
// system, and none is `reserved`.
std::vector<std::string> FolderNames(const std::vector<std::string>& labels,
                                     const std::string& reserved);

class SortedFiles {
 public:
  enum class By { kCopy, kLink };

  // Files go to subfolders of `folder`, which is created with its first file.
  SortedFiles(const std::string& folder, By by) : folder_(folder), by_(by) {}

  // Adds the file `path` to the subfolder `name` under its own name, or, if that exists, with the
  // first free number: photo.jpg, photo_2.jpg. Never replaces a file. Links are symbolic, with the
  // absolute path. Throws FileError.
  void Add(const std::string& path, const std::string& name);

 private:
  const std::string folder_;
  const By by_;
  // The last number by the path of a target that was taken.
  std::unordered_map<std::string, int> numbers_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLASSIFY_SORTED_FILES_H_
