#include "tools/classify/sorted_files.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "core/base/text/percent.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

// Returns `text` without what follows its first `most` bytes, cut between characters.
std::string CutTo(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

std::string FileNameOf(const std::string& label) {
  constexpr size_t kLongest = 200;  // most file systems allow 255 bytes
  std::string special = "/\\";
  for (char c = 0; c < ' '; ++c) special += c;
  special += '\x7f';
  std::string name = label;
  // A name of dots would lead out of the folder, or hide it.
  if (name[0] == '.') special += '.';
  return CutTo(PercentEncoded(name, special), kLongest);
}

}  // namespace

std::vector<std::string> FolderNames(const std::vector<std::string>& labels,
                                     const std::string& reserved) {
  std::vector<std::string> names;
  std::set<std::string> taken = {reserved};
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string number = std::to_string(i);
    std::string name = labels[i].empty() ? number : FileNameOf(labels[i]);
    while (!taken.insert(name).second) name += " (class " + number + ")";
    names.push_back(name);
  }
  return names;
}

void SortedFiles::Add(const std::string& path, const std::string& name) {
  const fs::path folder = fs::path(folder_) / name, file = fs::path(path).filename();
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw FileError("cannot make folder '", folder.string(), "': ", failed.message());
  for (int number = 1;; ++number) {
    fs::path target = folder / file;
    if (number > 1) {
      // Many files of one name must not try all numbers from 2 on again.
      number = std::max(number, ++numbers_.emplace(target.string(), 1).first->second);
      target.replace_filename(file.stem());
      target += "_" + std::to_string(number);
      target += file.extension();
    }
    // Both fail if the target exists, so that no other program's file is replaced either.
    if (by_ == By::kLink) {
      fs::create_symlink(fs::absolute(path), target, failed);
    } else {
      fs::copy_file(path, target, fs::copy_options::none, failed);
    }
    if (!failed) return;
    if (failed == std::errc::file_exists) continue;
    throw FileError("cannot ", by_ == By::kLink ? "link" : "copy", " '", path, "' to '",
                    target.string(), "': ", failed.message());
  }
}

}  // namespace doppio
