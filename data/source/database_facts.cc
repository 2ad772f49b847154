#include "data/source/database_facts.h"

#include <algorithm>

#include "core/base/file.h"
#include "data/source/class_names.h"

namespace doppio {
namespace {

// convert_imageset writes keys "00000007_path" and OpenCV's planes: blue, green, red.
// convert_cifar_data writes keys "00007" and CIFAR's planes: red, green, blue.
Preprocessing::Channels ChannelsOf(const std::string& key, const ImageShape& shape) {
  constexpr size_t kImagesetDigits = 8, kCifarDigits = 5;
  const auto digits = static_cast<size_t>(
      std::find_if(key.begin(), key.end(), [](char c) { return c < '0' || c > '9'; }) -
      key.begin());
  if (digits == kImagesetDigits && key.size() > digits && key[digits] == '_') {
    return Preprocessing::BGR;
  }
  const bool cifar = digits == kCifarDigits && key.size() == digits;
  return cifar && shape == ImageShape{3, 32, 32} ? Preprocessing::RGB : Preprocessing::AS_IN_DATA;
}

}  // namespace

SourceFacts FactsOfDatabase(const Source& source, const std::string& first_key,
                            const std::string& path) {
  Record record;
  source.Read(0, &record);
  SourceFacts facts;
  if (record.encoded == nullptr) facts.channels = ChannelsOf(first_key, record.pixels.shape);
  facts.class_names = FindClassNames(path, {"labels.txt"});
  return facts;
}

Preprocessing::Channels ChannelsOfDatabaseName(const std::string& path) {
  for (const char* name : {"cifar10_train_lmdb", "cifar10_test_lmdb", "cifar10_train_leveldb",
                           "cifar10_test_leveldb"}) {
    if (path.substr(DirName(path).size()) == name) return Preprocessing::RGB;
  }
  return Preprocessing::AS_IN_DATA;
}

}  // namespace doppio
