#include "tools/data/found_data.h"

#include <algorithm>
#include <filesystem>

#include "core/base/file.h"
#include "data/decode/decoding.h"
#include "data/record/whole_label.h"
#include "data/source/class_names.h"
#include "tools/cli/file_kind.h"
#include "tools/cli/text_table.h"
#include "tools/data/databases.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

std::string AbsolutePath(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::vector<fs::path> EntriesOf(const std::string& folder) {
  std::vector<fs::path> entries;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      entries.push_back(entry.path());
    }
  } catch (const fs::filesystem_error& e) {
    throw FileError("cannot read '", folder, "': ", e.code().message());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool HasFolders(const std::string& folder) {
  const std::vector<fs::path> entries = EntriesOf(folder);
  return std::any_of(entries.begin(), entries.end(), [](const fs::path& entry) {
    std::error_code broken;  // a link that leads nowhere is no folder
    return fs::is_directory(entry, broken);
  });
}

// Returns true if `path` may be a part of a data set; false for a script, a net, or a folder of
// loose images.
bool MayHoldImages(const std::string& path) {
  if (!FileExists(path)) return false;
  const std::string kind = DataKindOf(path);
  if (kind == "folder") return HasFolders(path);
  return kind != "list" || EndsWith(path, ".txt") || EndsWith(path, ".lst");
}

// Returns the test set next to `train`, found by its name (train -> val, test, t10k), or "".
std::string TestBeside(const std::string& train) {
  const std::string folder = DirName(train), name = train.substr(folder.size());
  for (const auto& [word, others] : {std::pair<std::string, std::vector<std::string>>{
                                         "train", {"val", "valid", "validation", "test", "t10k"}},
                                     {"Train", {"Val", "Valid", "Validation", "Test"}}}) {
    const size_t at = name.rfind(word);
    if (at == std::string::npos) continue;
    for (const std::string& other : others) {
      std::string beside = name;
      beside.replace(at, word.size(), other);
      if (MayHoldImages(folder + beside)) return folder + beside;
    }
  }
  return "";
}

// Returns the data for training in `folder` if that folder contains the parts of a data set; else
// "".
std::string TrainIn(const std::string& folder) {
  for (const fs::path& entry : EntriesOf(folder)) {
    if (MayHoldImages(entry.string()) && !TestBeside(entry.string()).empty()) {
      return entry.string();
    }
  }
  for (const char* name : {"/train", "/Train"}) {
    std::string path = folder + name;
    if (FileExists(path + "/.") && HasFolders(path)) return path;
  }
  return "";
}

// Returns the prefix of the list's paths: `root_folder`, nothing for absolute paths, the working
// folder, or the list's folder. Throws FileError if the first image is in none of them.
std::string RootOf(const ListedImages& images, const std::string& root_folder) {
  const ImageLine& first = images.lines[0];
  if (!root_folder.empty()) return AbsolutePath(root_folder);
  if (first.path[0] == '/') return "";
  if (FileExists(first.path)) return fs::current_path().string() + "/";
  std::string beside = DirName(AbsolutePath(images.list));
  if (FileExists(beside + first.path)) return beside;
  throw FileError(
      images.At(first), "there is no image '", first.path,
      "', neither in the working folder nor beside the list; name its folder with --root_folder");
}

void CheckLabels(const ListedImages& images) {
  for (const ImageLine& line : images.lines) {
    const std::optional<int> label = WholeLabel(line.labels);
    if (label && *label >= 0) continue;
    throw FileError(images.At(line), "a class is one whole number from 0 on, but '", line.path,
                    "' has ",
                    line.labels.size() != 1 ? std::to_string(line.labels.size()) + " labels"
                                            : "label " + Significant(line.labels[0]));
  }
}

std::unique_ptr<Source> Upright(std::unique_ptr<Source> source) {
  DecodeOptions options;
  options.upright = true;
  return WithDecoding(std::move(source), options);
}

FoundPart OpenPart(const std::string& path, Phase phase, const std::string& root_folder) {
  FoundPart part;
  part.path = AbsolutePath(path);
  part.kind = DataKindOf(path);
  if (!part.listed()) {
    part.source = Upright(OpenDatabase(part.kind, part.path, phase));
    return part;
  }
  if (part.kind == "list") {
    part.images = ReadListedImages(path, "");
    CheckLabels(part.images);
    part.images.root = RootOf(part.images, root_folder);
  } else {
    part.images = ReadClassFolders(part.path);
  }
  part.source = Upright(OpenImageLines(part.images.lines, part.images.root, part.images.list));
  return part;
}

// Renumbers the test classes by their names, so that each has the label that it has in training.
void NumberAs(const FoundPart& train, FoundPart* test) {
  const std::vector<std::string>& known = train.images.classes;
  for (ImageLine& line : test->images.lines) {
    const std::string& name = test->images.classes[line.labels[0]];
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) {
      throw FileError("'", test->images.root, name, "' is a class for tests, but '",
                      train.images.root, "' has no such class for training");
    }
    line.labels[0] = static_cast<float>(at - known.begin());
  }
  test->source = Upright(OpenImageLines(test->images.lines, test->images.root, ""));
}

std::vector<std::string> ClassNamesOf(const FoundPart& train) {
  return train.kind == "folder" ? train.images.classes : train.source->facts().class_names;
}

}  // namespace

FoundData FindData(const std::string& path, const std::string& test_path,
                   const std::string& root_folder) {
  CheckExists(path);
  std::string train = WithoutSlash(AbsolutePath(path));
  if (DataKindOf(train) == "folder") {
    const std::string inside = TrainIn(train);
    if (!inside.empty()) train = inside;
  }
  // A CIFAR folder contains training and test data.
  const bool both = DataKindOf(train) == "CIFAR" && FileExists(train + "/.");
  std::string test = both ? train : TestBeside(train);
  if (!test_path.empty()) {
    CheckExists(test_path);
    test = WithoutSlash(test_path);
  }
  FoundData data;
  data.train = OpenPart(train, TRAIN, root_folder);
  if (!test.empty()) data.test = OpenPart(test, TEST, root_folder);
  if (data.test && data.test->kind == "folder" && data.train.kind == "folder") {
    NumberAs(data.train, &*data.test);
  }
  data.class_names = ClassNamesOf(data.train);
  return data;
}

}  // namespace doppio
