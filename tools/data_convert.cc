// `data convert`: image files to a database, in several goes if need be.
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/data_verbs.h"
#include "tools/databases.h"
#include "tools/flags.h"
#include "tools/image_conversion.h"
#include "tools/json_text.h"
#include "tools/text_table.h"

namespace doppio {

ExitCode DataConvert(const CommandLine& line, bool* began) {
  const ConversionOptions options = ConversionFromFlags();
  const ListedImages images = ReadImages(line.files[0], FLAGS_root_folder);
  const std::string& database = line.files[1];
  const std::string backend = DatabaseBackend();
  DatabaseWriter writer(backend, database, SettingsOf(images, options, backend));
  *began = true;
  if (!images.classes.empty()) WriteClasses(images.classes, writer.folder() + "/labels.txt");
  const ConversionResult result = ConvertImages(images, options, &writer);
  if (FLAGS_json) {
    nlohmann::json out = {{"database", database},
                          {"records", result.records},
                          {"found", result.found},
                          {"left_out", result.left_out}};
    if (!images.classes.empty()) out["classes"] = images.classes;
    std::cout << JsonText(out) << '\n';
    return ExitCode::kDone;
  }
  std::cout << database << " written, " << Thousands(result.records) << " images";
  if (!images.classes.empty()) std::cout << " of " << images.classes.size() << " classes";
  if (result.found > 0) std::cout << ", " << Thousands(result.found) << " of them were there";
  if (result.left_out > 0) std::cout << ", " << Thousands(result.left_out) << " left out";
  std::cout << '\n';
  return ExitCode::kDone;
}

}  // namespace doppio
