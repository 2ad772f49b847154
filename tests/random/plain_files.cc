// Files that are one array: idx, cifar, cifarfine, cifarfolder, mean, meanfloat and video.
#include <filesystem>

#include "core/base/file.h"
#include "core/base/random.h"
#include "data/augment/mean_file.h"
#include "tests/data/tiny_data.h"
#include "tests/random/tiny_images.h"

namespace doppio {
namespace {

// Writes the images of an IDX file and, beside them, the labels.
void WriteIdx(const DataName& name, const std::string& aside, const std::string&) {
  const bool packed = EndsWith(name.ending, ".gz");
  const auto write = [&](const std::string& ending, const std::string& content) {
    WriteBytes(aside + "/" + name.stem() + ending + (packed ? ".gz" : ""),
               packed ? Gzip(content) : content);
  };
  const int rows = static_cast<int>(name.records());
  std::vector<int> pixels;
  for (int64_t i = 0; i < name.records(); ++i) {
    for (const uint8_t byte : TinyBytes(name, i, name.shape.count())) pixels.push_back(byte);
  }
  const ImageShape& shape = name.shape;
  if (name.ending.find("idx3") != std::string::npos) {
    write("-images-idx3-ubyte", Idx({rows, shape.height, shape.width}, pixels));
  } else {
    write("-images-idx4-ubyte", Idx({rows, shape.channels, shape.height, shape.width}, pixels));
  }
  for (int which = 0; which < name.labels; ++which) {
    std::vector<int> labels;
    for (int64_t i = 0; i < name.records(); ++i) labels.push_back(TinyLabel(name, i, which));
    const std::string number = name.labels == 1 ? "" : std::to_string(which);
    write("-labels" + number + "-idx1-ubyte", Idx({rows}, labels));
  }
}

// Returns records `begin` to `end` of a file of CIFAR-10, or of CIFAR-100 with `fine` labels.
std::string CifarRecords(const DataName& name, int64_t begin, int64_t end, bool fine) {
  std::string content;
  for (int64_t i = begin; i < end; ++i) {
    if (fine) content += static_cast<char>(i % 20);  // the coarse label
    content += static_cast<char>(TinyLabel(name, i));
    const std::vector<uint8_t> bytes = TinyBytes(name, i, name.shape.count());
    content.append(bytes.begin(), bytes.end());
  }
  return content;
}

void WriteCifar(const DataName& name, const std::string& aside, const std::string&) {
  WriteBytes(aside + "/" + name.text,
             CifarRecords(name, 0, name.records(), name.kind == "cifarfine"));
}

void WriteCifarFolder(const DataName& name, const std::string& aside, const std::string&) {
  const std::string folder = aside + "/" + name.text + "/";
  const int64_t records = name.records(), half = records / 2;
  std::filesystem::create_directory(folder);
  if (half > 0) WriteBytes(folder + "data_batch_1.bin", CifarRecords(name, 0, half, false));
  WriteBytes(folder + "data_batch_2.bin", CifarRecords(name, half, records, false));
  WriteBytes(folder + "test_batch.bin", CifarRecords(name, records, 2 * records, false));
}

void WriteMean(const DataName& name, const std::string& aside, const std::string&) {
  const Random random(name.seed, Stream("tiny means"));
  const bool floats = name.kind == "meanfloat";
  MeanImage mean;
  mean.shape = name.shape;
  for (int64_t i = 0; i < name.shape.count(); ++i) {
    const float unit = random.Uniform(0, static_cast<uint64_t>(i));
    mean.values.push_back(floats ? unit - 0.5f : 64 + 128 * unit);
  }
  WriteMeanFile(mean, aside + "/" + name.text);
}

// Writes frames of Y'CbCr without subsampling (YUV4MPEG2), which ffmpeg reads.
void WriteVideo(const DataName& name, const std::string& aside, const std::string&) {
  std::string content = "YUV4MPEG2 W" + std::to_string(name.shape.width) + " H" +
                        std::to_string(name.shape.height) + " F25:1 Ip A1:1 C444\n";
  for (int64_t i = 0; i < name.records(); ++i) {
    const std::vector<uint8_t> bytes = TinyBytes(name, i, name.shape.count());
    content += "FRAME\n";
    content.append(bytes.begin(), bytes.end());
  }
  WriteBytes(aside + "/" + name.text, content);
}

DOPPIO_REGISTER(DataKinds, "idx",
                {{"-images-idx3-ubyte", "-images-idx4-ubyte", "-images-idx3-ubyte.gz",
                  "-images-idx4-ubyte.gz"},
                 &WriteIdx});
DOPPIO_REGISTER(DataKinds, "cifar", {{".bin"}, &WriteCifar});
DOPPIO_REGISTER(DataKinds, "cifarfine", {{".bin"}, &WriteCifar});
DOPPIO_REGISTER(DataKinds, "cifarfolder", {{""}, &WriteCifarFolder});
DOPPIO_REGISTER(DataKinds, "mean", {{".binaryproto"}, &WriteMean});
DOPPIO_REGISTER(DataKinds, "meanfloat", {{".binaryproto"}, &WriteMean});
DOPPIO_REGISTER(DataKinds, "video", {{".y4m"}, &WriteVideo});

}  // namespace
}  // namespace doppio
