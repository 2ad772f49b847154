// `convert_mnist_data`: MNIST's files to a database, with Caffe's arguments.
#include <iostream>
#include <nlohmann/json.hpp>

#include "proto/data.pb.h"
#include "tools/command.h"
#include "tools/databases.h"
#include "tools/flags.h"
#include "tools/json_text.h"
#include "tools/record_conversion.h"
#include "tools/text_table.h"

namespace doppio {
namespace {

ExitCode RunConvertMnist(const CommandLine& line, bool* began) {
  if (line.files.size() != 3) {
    throw UsageError(
        "'convert_mnist_data' needs a file of images, a file of labels and the database to make\n"
        "try: doppio convert_mnist_data --help");
  }
  const std::string& database = line.files[2];
  const std::string backend = DatabaseBackend();
  DataParameter parameter;
  parameter.set_backend(DataParameter::IDX);
  parameter.set_source(line.files[0]);
  parameter.add_labels(line.files[1]);
  const std::unique_ptr<Source> source = OpenSource(parameter, TRAIN);
  *began = true;
  ConvertRecords({{source.get(), database}}, backend, kIdxKeyDigits, ConversionOptions());
  if (FLAGS_json) {
    std::cout << JsonText({{"database", database}, {"records", source->size()}}) << '\n';
  } else {
    std::cout << database << " written, " << Thousands(source->size()) << " images\n";
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "convert_mnist_data",
                {"makes a database of MNIST's files, or others in their format",
                 {"backend", "json"},
                 {},
                 "IMAGE_FILE LABEL_FILE DB_NAME",
                 "doppio convert_mnist_data train-images-idx3-ubyte train-labels-idx1-ubyte "
                 "mnist_train_lmdb",
                 &RunConvertMnist});

}  // namespace
}  // namespace doppio
