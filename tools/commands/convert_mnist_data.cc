// `convert_mnist_data` and `convert_mnist_siamese_data`: convert MNIST's files to a database. Take
// Caffe's arguments.
#include <iostream>
#include <nlohmann/json.hpp>

#include "data/source/open_source.h"
#include "proto/data.pb.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/data/databases.h"
#include "tools/data/image_pairs.h"
#include "tools/data/record_conversion.h"

namespace doppio {
namespace {

// Opens the data that the line names: the file of images, then the file of labels.
std::unique_ptr<Source> OpenImages(const CommandLine& line) {
  DataParameter parameter;
  parameter.set_backend(DataParameter::IDX);
  parameter.set_source(line.files[0]);
  parameter.add_labels(line.files[1]);
  return OpenSource(parameter, TRAIN);
}

// `what` is the plural of the records in messages.
ExitCode Convert(bool json, const Source& source, const std::string& database,
                 const std::string& backend, const std::string& what, bool* began) {
  *began = true;
  ConvertRecords({{&source, database}}, backend, kIdxKeyDigits, ConversionOptions());
  if (json) {
    std::cout << JsonText({{"database", database}, {"records", source.size()}}) << '\n';
  } else {
    std::cout << database << " written, " << Thousands(source.size()) << ' ' << what << '\n';
  }
  return ExitCode::kDone;
}

ExitCode RunConvertMnist(const CommandLine& line, bool* began) {
  const std::unique_ptr<Source> images = OpenImages(line);
  return Convert(line.flags.json, *images, line.files[2], DatabaseBackend(line.flags.backend),
                 "images", began);
}

ExitCode RunConvertMnistSiamese(const CommandLine& line, bool* began) {
  const std::unique_ptr<Source> images = OpenImages(line);
  const uint64_t seed = line.flags.seed < 0 ? 1 : static_cast<uint64_t>(line.flags.seed);
  // Caffe's program writes LevelDB, and its nets omit the backend of data_param, whose default is
  // LevelDB, too.
  const std::string backend =
      line.Given("backend") ? DatabaseBackend(line.flags.backend) : "LEVELDB";
  return Convert(line.flags.json, *DrawPairs(*images, seed), line.files[2], backend, "pairs",
                 began);
}

DOPPIO_REGISTER(Commands, "convert_mnist_data",
                {"converts MNIST's files, or other files in their format, to a database",
                 {"backend", "json"},
                 {},
                 "IMAGE_FILE LABEL_FILE DB_NAME",
                 "doppio convert_mnist_data train-images-idx3-ubyte train-labels-idx1-ubyte "
                 "mnist_train_lmdb",
                 &RunConvertMnist});

DOPPIO_REGISTER(Commands, "convert_mnist_siamese_data",
                {"makes a LevelDB database of random pairs of MNIST images, for siamese nets",
                 {"backend", "seed", "json"},
                 {},
                 "IMAGE_FILE LABEL_FILE DB_NAME",
                 "doppio convert_mnist_siamese_data train-images-idx3-ubyte "
                 "train-labels-idx1-ubyte mnist_siamese_train_leveldb",
                 &RunConvertMnistSiamese});

}  // namespace
}  // namespace doppio
