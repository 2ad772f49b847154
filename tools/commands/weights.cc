// `weights`: lists the content of a file of weights, compares two files, or averages several.
#include "core/net/store/weights.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/cli/verbs.h"
#include "tools/export/weight_mean.h"
#include "tools/export/weight_stats.h"
#include "tools/nets/preparation.h"

namespace doppio {
namespace {

struct Total {
  int64_t blobs = 0, values = 0, nans = 0;
};

template <class F>
Total ForEachBlob(const WeightsFile& file, const F& f) {
  Total total;
  for (const LayerBlobs& layer : file.layers) {
    for (size_t i = 0; i < layer.blobs.size(); ++i) {
      const PlainBlob& blob = layer.blobs[i];
      const BlobStats stats = StatsOf(blob.data);
      ++total.blobs;
      total.values += blob.shape.count();
      total.nans += stats.nans;
      f(layer, static_cast<int>(i), blob, stats);
    }
  }
  return total;
}

void ListAsText(const WeightsFile& file) {
  TextTable table(
      {"layer", "type", ">blob", "shape", ">values", ">min", ">max", ">mean", ">norm", ">NaN"});
  const Total total = ForEachBlob(
      file, [&](const LayerBlobs& layer, int index, const PlainBlob& blob, const BlobStats& stats) {
        const bool first = index == 0;
        table.Add({first ? layer.name : "", first ? layer.type : "", std::to_string(index),
                   blob.shape.ToString(), Thousands(blob.shape.count()), Significant(stats.min),
                   Significant(stats.max), Significant(stats.mean), Significant(stats.norm),
                   stats.nans == 0 ? "–" : Thousands(stats.nans)});
      });
  if (total.blobs == 0) {
    std::cout << file.path << " contains no weights\n";
    return;
  }
  table.Add({"total", "", std::to_string(total.blobs), "", Thousands(total.values), "", "", "", "",
             total.nans == 0 ? "–" : Thousands(total.nans)});
  table.Print(std::cout);
  if (file.preprocessing) std::cout << "images: " << ToText(*file.preprocessing) << '\n';
}

void ListAsJson(const WeightsFile& file) {
  nlohmann::json out;
  out["file"] = file.path;
  out["layers"] = nlohmann::json::array();
  const LayerBlobs* last = nullptr;
  const Total total = ForEachBlob(
      file, [&](const LayerBlobs& layer, int, const PlainBlob& blob, const BlobStats& stats) {
        if (last != &layer) out["layers"].push_back({{"name", layer.name}, {"type", layer.type}});
        last = &layer;
        out["layers"].back()["blobs"].push_back({{"shape", blob.shape.dims()},
                                                 {"values", blob.shape.count()},
                                                 {"min", stats.min},
                                                 {"max", stats.max},
                                                 {"mean", stats.mean},
                                                 {"norm", stats.norm},
                                                 {"nans", stats.nans}});
      });
  out["blobs"] = total.blobs;
  out["values"] = total.values;
  out["nans"] = total.nans;
  if (file.preprocessing) out["preprocessing"] = ToJson(*file.preprocessing);
  std::cout << JsonText(out) << '\n';
}

struct Differences {
  std::string a, b;
  std::vector<BlobDifference> blobs;
  int64_t over = 0;     // number of blobs that differ
  double absolute = 0;  // the largest absolute difference
};

void DiffAsText(double tolerance, const Differences& found) {
  TextTable table({"layer", ">blob", "shape", ">difference", ">relative", ""});
  for (const BlobDifference& blob : found.blobs) {
    const bool compared = blob.unlike.empty();
    table.Add({blob.layer, std::to_string(blob.index), blob.shape.ToString(),
               compared ? Significant(blob.absolute) : "–",
               compared ? Significant(blob.relative) : "–", blob.unlike});
  }
  table.Print(std::cout);
  if (found.over == 0) {
    std::cout << "no blob differs by more than " << Significant(tolerance) << '\n';
  } else {
    std::cout << found.over << " of " << found.blobs.size() << " blobs differ by more than "
              << Significant(tolerance) << ", have different shapes or exist in one file only\n";
  }
}

void DiffAsJson(double tolerance, const Differences& found) {
  nlohmann::json out = {{"files", {found.a, found.b}},
                        {"tolerance", tolerance},
                        {"over", found.over},
                        {"difference", found.absolute},
                        {"blobs", nlohmann::json::array()}};
  for (const BlobDifference& blob : found.blobs) {
    nlohmann::json row = {
        {"layer", blob.layer}, {"blob", blob.index}, {"shape", blob.shape.dims()}};
    if (blob.unlike.empty()) {
      row["difference"] = blob.absolute;
      row["relative"] = blob.relative;
    } else {
      row["unlike"] = blob.unlike;
    }
    out["blobs"].push_back(row);
  }
  std::cout << JsonText(out) << '\n';
}

ExitCode Diff(const CommandLine& line, bool* began) {
  const double tolerance = NotNegative("tolerance", line.flags.tolerance);
  const std::string &a = line.files[0], &b = line.files[1];
  const WeightsFile of_a = ReadWeights(a), of_b = ReadWeights(b);
  *began = true;
  Differences found{a, b, Compare(of_a, of_b)};
  for (const BlobDifference& blob : found.blobs) {
    found.over += !blob.unlike.empty() || blob.absolute > tolerance;
    found.absolute = std::max(found.absolute, blob.absolute);
  }
  line.flags.json ? DiffAsJson(tolerance, found) : DiffAsText(tolerance, found);
  return found.over == 0 ? ExitCode::kDone : ExitCode::kDifference;
}

ExitCode List(const CommandLine& line, bool* began) {
  const WeightsFile file = ReadWeights(line.files[0]);
  *began = true;
  line.flags.json ? ListAsJson(file) : ListAsText(file);
  return ExitCode::kDone;
}

ExitCode Average(const CommandLine& line, bool* began) {
  const std::string& out = line.flags.out;
  if (!EndsWith(out, ".caffemodel") && !EndsWith(out, ".h5")) {
    throw UsageError(
        "weights average writes a file of weights; give --out=FILE.caffemodel or "
        "--out=FILE.h5" +
        (out.empty() ? "" : ", not '" + out + "'"));
  }
  WeightMean mean;
  *began = true;
  for (const std::string& path : line.files) mean.Add(ReadWeights(path));
  const WeightsFile result = mean.Result();
  WriteLayers(out, EndsWith(out, ".h5"), result);
  const Total total =
      ForEachBlob(result, [](const LayerBlobs&, int, const PlainBlob&, const BlobStats&) {});
  if (line.flags.json) {
    std::cout << JsonText({{"file", out},
                           {"files", line.files},
                           {"blobs", total.blobs},
                           {"values", total.values},
                           {"nans", total.nans}})
              << '\n';
  } else {
    std::cout << out << " written, the mean of " << line.files.size() << " files: " << total.blobs
              << " blobs, " << Thousands(total.values) << " values"
              << (total.nans == 0 ? "" : ", of which " + Thousands(total.nans) + " are NaN")
              << '\n';
  }
  return ExitCode::kDone;
}

const std::vector<Verb>& WeightsVerbs() {
  static const auto* verbs = new std::vector<Verb>{
      {"ls",
       "lists the blobs of each layer: shape, least and largest value, mean, norm",
       "FILE",
       {"json"},
       "doppio weights ls lenet_iter_10000.caffemodel",
       &List},
      {"diff",
       "compares two files blob by blob",
       "FILE FILE",
       {"tolerance", "json"},
       "doppio weights diff lenet_iter_5000.caffemodel lenet_iter_10000.caffemodel",
       &Diff},
      {"average",
       "writes the mean of several files of one net: weight averaging (SWA), model soups",
       "FILE FILE...",
       {"out", "json"},
       "doppio weights average lenet_iter_8000.caffemodel lenet_iter_10000.caffemodel "
       "--out=mean.caffemodel",
       &Average},
  };
  return *verbs;
}

DOPPIO_REGISTER(
    Commands, "weights",
    CommandOfVerbs("summarizes a file of weights, compares two files, or averages several",
                   WeightsVerbs(),
                   "doppio weights diff lenet_iter_5000.caffemodel "
                   "lenet_iter_10000.caffemodel"));

}  // namespace
}  // namespace doppio
