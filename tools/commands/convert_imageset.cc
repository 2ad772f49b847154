// `convert_imageset`: converts image files to a database. Takes Caffe's arguments.
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/cli/command.h"
#include "tools/cli/json_text.h"
#include "tools/cli/removed_on_signals.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/data/databases.h"
#include "tools/data/image_conversion.h"

namespace doppio {
namespace {

ExitCode RunConvert(const CommandLine& line, bool* began) {
  const ConversionOptions options =
      MakeConversionOptions(line.flags, line.flags.seed, line.flags.data_threads);
  const ListedImages images = ReadListedImages(line.files[1], line.files[0]);
  const RemovedOnSignals removed({DatabaseWriter::UnfinishedFolder(line.files[2])});
  DatabaseWriter writer(DatabaseBackend(line.flags.backend), line.files[2]);
  *began = true;
  const ConversionResult result = ConvertImages(images, options, &writer);
  if (line.flags.json) {
    std::cout << JsonText({{"database", line.files[2]},
                           {"records", result.records},
                           {"left_out", result.left_out}})
              << '\n';
    return ExitCode::kDone;
  }
  std::cout << line.files[2] << " written, " << Thousands(result.records) << " images";
  if (result.left_out > 0) std::cout << ", " << result.left_out << " left out";
  std::cout << '\n';
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "convert_imageset",
    {"converts image files to a database",
     Words("backend gray shuffle seed resize_width resize_height check_size encoded "
           "encode_type exif_rotation sixteen_bit_range skip_bad data_threads max_pixels json"),
     {},
     "ROOTFOLDER/ LISTFILE DB_NAME",
     "doppio convert_imageset --resize_height=256 --resize_width=256 --shuffle images/ "
     "train.txt train_lmdb",
     &RunConvert});

}  // namespace
}  // namespace doppio
