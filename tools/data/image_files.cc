#include "tools/data/image_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "core/base/log.h"
#include "tools/data/image_input.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

std::optional<std::pair<uint64_t, uint64_t>> IdentityOf(const std::string& folder) {
  struct stat info;
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return std::nullopt;
  return std::make_pair(uint64_t{info.st_dev}, uint64_t{info.st_ino});
}

std::string ForeignText(int64_t count, const std::string& first) {
  return StrCat(count, " in formats that Doppio does not read, such as '", first, "', ",
                UnreadFormatOf(first), "; convert them to PNG or JPEG");
}

}  // namespace

ImageFiles::ImageFiles(std::vector<std::string> files_and_folders, const std::string& left_out,
                       ImageMistakes* mistakes)
    : given_(std::move(files_and_folders)), left_out_(left_out), mistakes_(mistakes) {
  const std::optional<Identity> identity = IdentityOf(left_out);
  for (const std::string& path : given_) {
    if (!identity || IdentityOf(path) != identity) continue;
    throw UsageError("'", left_out, "' is the folder of the images; name another one for results");
  }
}

std::vector<std::string> ImageFiles::Take(size_t count) {
  std::vector<std::string> images;
  while (images.size() < count) {
    std::optional<std::string> image = Next();
    if (!image) break;
    images.push_back(std::move(*image));
  }
  return images;
}

std::optional<std::string> ImageFiles::Next() {
  for (;;) {
    if (levels_.empty()) {
      if (next_ == given_.size()) return std::nullopt;
      const std::string& path = given_[next_++];
      if (!IdentityOf(path)) return path;
      BeginGiven(path);
      continue;
    }
    Level& level = levels_.back();
    if (!level.files.empty()) {
      std::string image = std::move(level.files.back());
      level.files.pop_back();
      ++found_;
      return image;
    }
    if (level.folders.empty()) {
      levels_.pop_back();
      if (levels_.empty()) EndGiven();
      continue;
    }
    const std::string folder = std::move(level.folders.back());
    level.folders.pop_back();
    Open(folder);
  }
}

void ImageFiles::BeginGiven(const std::string& path) {
  searched_.clear();
  found_ = foreign_ = 0;
  Open(path);
}

void ImageFiles::EndGiven() {
  const std::string& path = given_[next_ - 1];
  if (found_ == 0) {
    mistakes_->Add(
        FileError("folder '", path, "' has no image file",
                  foreign_ == 0 ? "" : ", but images: " + ForeignText(foreign_, first_foreign_)));
  } else if (foreign_ > 0) {
    LOG(WARNING) << "of the images in '" << path
                 << "', these are left out: " << ForeignText(foreign_, first_foreign_);
  }
}

void ImageFiles::Open(const std::string& folder) {
  const std::optional<Identity> identity = IdentityOf(folder);
  if (!identity || identity == IdentityOf(left_out_) || !searched_.insert(*identity).second) return;
  Level level;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string path = entry->path().string();
    if (entry->path().filename().string()[0] == '.') continue;
    std::error_code broken;  // a link that leads nowhere is found, and reported when it is read
    const fs::file_type type = entry->status(broken).type();
    if (type == fs::file_type::directory) level.folders.push_back(path);
    if (type != fs::file_type::regular && type != fs::file_type::not_found) continue;
    if (!IsImageFile(path)) continue;
    if (UnreadFormatOf(path).empty()) {
      level.files.push_back(path);
    } else if (foreign_++ == 0 || path < first_foreign_) {
      first_foreign_ = path;
    }
  }
  if (failed) mistakes_->Add(FileError("cannot read folder '", folder, "': ", failed.message()));
  std::sort(level.files.rbegin(), level.files.rend());
  std::sort(level.folders.rbegin(), level.folders.rend());
  levels_.push_back(std::move(level));
}

}  // namespace doppio
