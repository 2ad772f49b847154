// `data split`: splits a list into parts with the same share of every class.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/new_files.h"
#include "tools/cli/text_table.h"
#include "tools/commands/data/verbs.h"
#include "tools/data/list_split.h"
#include "tools/data/listed_images.h"
#include "tools/nets/nets.h"

namespace doppio {
namespace {

std::vector<double> FractionsOf(const std::string& list) {
  std::vector<double> fractions;
  double sum = 0;
  for (const std::string& text : SplitList(list)) {
    double value = 0;
    if (!ReadNumber(text, &value) || !(value > 0 && value <= 1)) {
      throw UsageError("--fractions needs numbers greater than 0 and at most 1; got '" + text +
                       "'");
    }
    fractions.push_back(value);
    sum += value;
  }
  constexpr double kRounding = 1e-6;
  if (fractions.empty() || sum > 1 + kRounding) {
    throw UsageError("--fractions needs numbers whose sum is at most 1; got '" + list + "'");
  }
  return fractions;
}

std::vector<std::string> NamesOf(const std::string& list, size_t parts) {
  std::vector<std::string> names = SplitList(list.empty() ? "train,val,test" : list);
  if (list.empty() && parts < names.size()) names.resize(parts);
  if (names.size() != parts) {
    throw UsageError("--names needs a name for each of " + std::to_string(parts) + " parts; got '" +
                     list + "'");
  }
  return names;
}

}  // namespace

ExitCode DataSplit(const CommandLine& line, bool* began) {
  const std::vector<double> fractions = FractionsOf(line.flags.fractions);
  const std::vector<std::string> names = NamesOf(line.flags.names, fractions.size());
  const ListedImages images = ReadImages(line.files[0], "");
  std::string folder = line.files.size() == 2 ? line.files[1] : "";
  if (!folder.empty() && !EndsWith(folder, "/")) folder += "/";
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    paths.push_back(folder + name + ".txt");
    if (FileExists(paths.back())) {
      throw FileError("'" + paths.back() + "' already exists; remove it, or choose other --names");
    }
  }
  *began = true;
  std::vector<std::string> texts(names.size());
  std::vector<int64_t> counts(names.size());
  const std::vector<int> parts = PartOfEach(images.lines, fractions, SeedOr1(line.flags.seed));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] < 0) continue;
    texts[parts[i]] += TextOf(images.lines[i]);
    ++counts[parts[i]];
  }
  nlohmann::json out = nlohmann::json::array();
  for (size_t i = 0; i < names.size(); ++i) {
    if (counts[i] == 0) {
      throw UsageError("part '" + names[i] + "' is empty: " + std::to_string(images.lines.size()) +
                       " images are too few for --fractions");
    }
  }
  NewFiles files(folder);
  for (size_t i = 0; i < names.size(); ++i) files.Write(names[i] + ".txt", texts[i]);
  if (!images.classes.empty()) files.Write("labels.txt", LinesOfClasses(images.classes));
  files.Keep();
  for (size_t i = 0; i < names.size(); ++i) {
    out.push_back({{"file", paths[i]}, {"images", counts[i]}});
    if (!line.flags.json)
      std::cout << paths[i] << " written, " << Thousands(counts[i]) << " images\n";
  }
  if (line.flags.json) std::cout << JsonText(out) << '\n';
  return ExitCode::kDone;
}

}  // namespace doppio
