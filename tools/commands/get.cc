// `get`: downloads public data sets, or takes them from a folder, verifies them and prepares them
// for Data layers.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/text/nearest.h"
#include "data/decode/gzip.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/run_program.h"
#include "tools/cli/text_table.h"
#include "tools/data/databases.h"
#include "tools/data/md5.h"

namespace doppio {
namespace {

struct PublishedFile {
  std::string name;
  std::string md5;           // MD5 of the file
  std::string unpacked_md5;  // MD5 of the unpacked content, whatever the compression; "": unknown
};

struct ReadySource {
  std::string phase, backend, source;
  int64_t records;
};

struct DataSet {
  std::string name, url;  // the prefix of the files' addresses
  std::vector<PublishedFile> files;
  std::vector<ReadySource> sources;  // paths relative to the folder of the data set
};

// Addresses and checksums as published by the authors and hosts of the data sets.
const DataSet kDataSets[] = {
    {"mnist",
     "https://storage.googleapis.com/cvdf-datasets/mnist/",
     {{"train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873",
       "6bbc9ace898e44ae57da46a324031adb"},
      {"train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432",
       "a25bea736e30d166cdddb491f175f624"},
      {"t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3",
       "2646ac647ad5339dbf082846283269ea"},
      {"t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c",
       "27ae3e4e09519cfbb04c329615203637"}},
     {{"TRAIN", "IDX", "train-images-idx3-ubyte.gz", 60'000},
      {"TEST", "IDX", "t10k-images-idx3-ubyte.gz", 10'000}}},
    {"fashion_mnist",
     "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
     {{"train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d", ""},
      {"train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe", ""},
      {"t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79", ""},
      {"t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310", ""}},
     {{"TRAIN", "IDX", "train-images-idx3-ubyte.gz", 60'000},
      {"TEST", "IDX", "t10k-images-idx3-ubyte.gz", 10'000}}},
    {"cifar10",
     "https://www.cs.toronto.edu/~kriz/",
     {{"cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530", ""}},
     {{"TRAIN", "CIFAR", "cifar-10-batches-bin/data_batch_*.bin", 50'000},
      {"TEST", "CIFAR", "cifar-10-batches-bin/test_batch.bin", 10'000}}},
};

const DataSet& DataSetCalled(const std::string& name) {
  std::vector<std::string> names;
  for (const DataSet& set : kDataSets) {
    if (set.name == name) return set;
    names.push_back(set.name);
  }
  throw UsageError("'get' knows mnist, fashion_mnist and cifar10, not '" + name + "'" +
                   DidYouMean(name, names));
}

std::string OfflineAdvice(const DataSet& set) {
  std::string files;
  for (const PublishedFile& file : set.files) files += "\n  " + set.url + file.name;
  return "; without a network, put these files into a folder and run: doppio get " + set.name +
         " --from=FOLDER" + files;
}

// Returns "" if the file has the published checksum, otherwise an error message.
std::string WrongIn(const PublishedFile& file, const std::string& path) {
  const std::string found = Md5(ReadFile(path));
  if (found == file.md5) return "";
  if (!file.unpacked_md5.empty() && Md5(ReadMaybeGzip(path)) == file.unpacked_md5) return "";
  return "'" + path + "' is not the published file: its MD5 is " + found + ", not " + file.md5;
}

void FetchFile(const DataSet& set, const PublishedFile& file, const std::string& to) {
  const std::string url = set.url + file.name;
  LOG(INFO) << "Downloading " << url;
  const std::optional<int> code =
      RunProgram({"curl", "--fail", "--location", "--silent", "--show-error", "--retry", "2",
                  "--connect-timeout", "20", "--output", to, url});
  if (!code) {
    throw FileError("cannot download files because curl is not installed (apt-get install curl)" +
                    OfflineAdvice(set));
  }
  if (*code != 0) {
    throw FileError("cannot download " + url + " (curl ended with code " + std::to_string(*code) +
                    ")" + OfflineAdvice(set));
  }
}

// Copies the file from the folder `from`, or downloads it if `from` is "". Writes to a temporary
// file first, so that a file with the final name is always complete.
void Fetch(const std::string& from, const DataSet& set, const PublishedFile& file,
           const std::string& folder) {
  const std::string path = folder + file.name;
  if (FileExists(path) && WrongIn(file, path).empty()) return;
  const std::string aside = path + ".tmp." + std::to_string(getpid());
  struct Removed {
    const std::string& path;
    ~Removed() { unlink(path.c_str()); }
  } removed{aside};
  if (from.empty()) {
    FetchFile(set, file, aside);
  } else {
    const std::string given = from + "/" + file.name;
    if (!FileExists(given)) throw FileError("'" + given + "' does not exist" + OfflineAdvice(set));
    const std::string wrong = WrongIn(file, given);
    if (!wrong.empty()) throw FileError(wrong);
    WriteFileAtomically(aside, ReadFile(given));
  }
  const std::string wrong = WrongIn(file, aside);
  if (!wrong.empty()) throw FileError(wrong + "; it came from " + set.url + file.name);
  std::filesystem::rename(aside, path);
}

void Unpack(const PublishedFile& file, const std::string& folder) {
  if (!EndsWith(file.name, ".tar.gz")) return;
  const std::optional<int> code =
      RunProgram({"tar", "--extract", "--gzip", "--file=" + folder + file.name,
                  "--directory=" + folder, "--no-same-owner"});
  if (!code) throw FileError("cannot unpack '" + file.name + "' because tar is not installed");
  if (*code != 0) throw FileError("tar cannot unpack '" + folder + file.name + "'");
}

ExitCode RunGet(const CommandLine& line, bool* began) {
  const DataSet& set = DataSetCalled(line.files[0]);
  std::string folder = line.files.size() == 2 ? line.files[1] : set.name;
  if (!EndsWith(folder, "/")) folder += "/";
  *began = true;
  try {
    std::filesystem::create_directories(folder);
    for (const PublishedFile& file : set.files) {
      Fetch(line.flags.from, set, file, folder);
      Unpack(file, folder);
    }
  } catch (const std::filesystem::filesystem_error& e) {
    throw FileError("cannot write '" + folder + "': " + e.code().message());
  }
  nlohmann::json out = nlohmann::json::array();
  for (const ReadySource& ready : set.sources) {
    const std::string source = folder + ready.source;
    const int64_t records = OpenDatabase(ready.backend, source)->size();
    if (records != ready.records) {
      throw FileError("'" + source + "' has " + std::to_string(records) + " images, not " +
                      std::to_string(ready.records));
    }
    out.push_back({{"phase", ready.phase},
                   {"source", source},
                   {"backend", ready.backend},
                   {"images", records}});
    if (line.flags.json) continue;
    std::cout << ready.phase << ", " << Thousands(records) << " images: data_param { source: \""
              << source << "\" backend: " << ready.backend << " batch_size: 64 }\n";
  }
  if (line.flags.json) std::cout << JsonText(out) << '\n';
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "get",
                {"downloads and verifies MNIST, Fashion-MNIST or CIFAR-10",
                 {"from", "json"},
                 {},
                 "mnist|fashion_mnist|cifar10 [FOLDER]",
                 "doppio get mnist data/mnist",
                 &RunGet});

}  // namespace
}  // namespace doppio
