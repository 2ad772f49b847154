// `data convert`: converts image files, or MNIST's or CIFAR's files, to a database. An interrupted
// conversion of image files can be resumed.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "tools/cli/file_kind.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/commands/data/verbs.h"
#include "tools/data/databases.h"
#include "tools/data/image_conversion.h"
#include "tools/data/record_conversion.h"

namespace doppio {
namespace {

void PrintResult(bool json, const std::string& database, const ConversionResult& result,
                 const std::vector<std::string>& classes) {
  if (json) {
    nlohmann::json out = {{"database", database},
                          {"records", result.records},
                          {"found", result.found},
                          {"left_out", result.left_out}};
    if (!classes.empty()) out["classes"] = classes;
    std::cout << JsonText(out) << '\n';
    return;
  }
  std::cout << database << " written, " << Thousands(result.records) << " images";
  if (!classes.empty()) std::cout << " of " << classes.size() << " classes";
  if (result.found > 0)
    std::cout << ", " << Thousands(result.found) << " of them from the earlier run";
  if (result.left_out > 0) std::cout << ", " << Thousands(result.left_out) << " left out";
  std::cout << '\n';
}

void ConvertImageFiles(const CommandLine& line, const ConversionOptions& options,
                       const std::string& backend, bool* began) {
  const ListedImages images = ReadImages(line.files[0], line.flags.root_folder);
  const std::string& database = line.files[1];
  DatabaseWriter writer(backend, database, SettingsOf(images, options, backend));
  *began = true;
  if (!images.classes.empty())
    WriteFileAtomically(writer.folder() + "/labels.txt", LinesOfClasses(images.classes));
  const ConversionResult result = ConvertImages(images, options, &writer);
  PrintResult(line.flags.json, database, result, images.classes);
}

// `kind` is "IDX" or "CIFAR".
void ConvertBinaryFiles(const CommandLine& line, const std::string& kind,
                        const ConversionOptions& options, const std::string& backend, bool* began) {
  for (const char* flag : {"gray", "resize_width", "resize_height", "encoded", "encode_type",
                           "exif_rotation", "sixteen_bit_range", "root_folder"}) {
    if (!line.Given(flag)) continue;
    throw UsageError(std::string("--") + flag + " is for image files, but '" + line.files[0] +
                     "' holds " + kind + " data, whose pixels are stored as they are");
  }
  const std::unique_ptr<Source> source = OpenDatabase(kind, line.files[0]);
  *began = true;
  ConvertRecords({{source.get(), line.files[1]}}, backend,
                 kind == "IDX" ? kIdxKeyDigits : kCifarKeyDigits, options);
  ConversionResult result;
  result.records = source->size();
  PrintResult(line.flags.json, line.files[1], result, {});
}

}  // namespace

ExitCode DataConvert(const CommandLine& line, bool* began) {
  const ConversionOptions options =
      MakeConversionOptions(line.flags, line.flags.seed, line.flags.data_threads);
  const std::string backend = DatabaseBackend(line.flags.backend);
  const std::string& data = line.files[0];
  const std::string kind = DataKindOf(data);
  if (kind == "LMDB" || kind == "LEVELDB") {
    throw FileError("'" + data + "' is already a database (" + kind +
                    "); 'data convert' converts a list or folder of images, or MNIST's or CIFAR's "
                    "files");
  }
  if (kind == "IDX" || kind == "CIFAR") {
    ConvertBinaryFiles(line, kind, options, backend, began);
  } else {
    ConvertImageFiles(line, options, backend, began);
  }
  return ExitCode::kDone;
}

}  // namespace doppio
