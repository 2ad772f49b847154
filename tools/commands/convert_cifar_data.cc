// `convert_cifar_data`: converts CIFAR-10's binary files to two databases. Takes Caffe's arguments.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "data/source/open_source.h"
#include "proto/data.pb.h"
#include "tools/cli/command.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/data/databases.h"
#include "tools/data/record_conversion.h"

namespace doppio {
namespace {

// Throws FileError if a batch is missing. The data source reads all batches that exist, so without
// this check the database would silently be incomplete.
void CheckBatches(const std::string& folder) {
  ErrorCollector missing;
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}) {
    const std::string path = folder + "/" + name;
    if (!FileExists(path)) missing.Add(FileError("'" + path + "' does not exist"));
  }
  if (!missing.empty()) {
    missing.Add(
        FileError("the binary version of CIFAR-10 has six such files; 'doppio get cifar10' "
                  "downloads them"));
  }
  missing.ThrowIfAny();
}

std::unique_ptr<Source> OpenPart(const std::string& folder, Phase phase) {
  DataParameter parameter;
  parameter.set_backend(DataParameter::CIFAR);
  parameter.set_source(folder);
  return OpenSource(parameter, phase);
}

ExitCode RunConvertCifar(const CommandLine& line, bool* began) {
  const std::string &input = line.files[0], &type = line.files[2];
  const std::string backend = DatabaseBackend(type, "the kind of database");
  CheckBatches(input);
  const auto train = OpenPart(input, TRAIN), test = OpenPart(input, TEST);
  const std::vector<RecordConversion> parts = {
      {train.get(), line.files[1] + "/cifar10_train_" + type},
      {test.get(), line.files[1] + "/cifar10_test_" + type}};
  *began = true;
  ConvertRecords(parts, backend, kCifarKeyDigits, ConversionOptions());
  nlohmann::json written = nlohmann::json::array();
  for (const RecordConversion& part : parts) {
    const int64_t records = part.source->size();
    if (line.flags.json) {
      written.push_back({{"database", part.database}, {"records", records}});
    } else {
      std::cout << part.database << " written, " << Thousands(records) << " images\n";
    }
  }
  if (line.flags.json) std::cout << JsonText(written) << '\n';
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "convert_cifar_data",
                {"converts CIFAR-10's binary files to a training and a test database",
                 {"json"},
                 {},
                 "INPUT_FOLDER OUTPUT_FOLDER DB_TYPE",
                 "doppio convert_cifar_data data/cifar10 examples/cifar10 lmdb",
                 &RunConvertCifar});

}  // namespace
}  // namespace doppio
