// `data stat`: counts images, sizes and classes, and computes the mean and standard deviation of
// each channel.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "data/decode/decoding.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/commands/data/verbs.h"
#include "tools/data/class_balance.h"
#include "tools/data/data_opened.h"
#include "tools/data/image_conversion.h"
#include "tools/data/image_stats.h"
#include "tools/data/in_order.h"

namespace doppio {
namespace {

constexpr size_t kShownSizes = 10;

// Returns the sizes in order of decreasing count.
std::vector<SizeCount> ByCount(const std::map<std::string, SizeCount>& counts) {
  std::vector<SizeCount> sorted;
  for (const auto& [text, size] : counts) sorted.push_back(size);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const SizeCount& a, const SizeCount& b) { return a.images > b.images; });
  return sorted;
}

std::string Share(int64_t part, int64_t of) {
  return Fixed(100 * static_cast<double>(part) / static_cast<double>(of), 1) + " %";
}

// Returns a line about the smallest class if it is much smaller than the largest; else "".
std::string ImbalanceText(const ImageStats& stats, const OpenedData& data) {
  constexpr int64_t kMostClasses = 100'000;
  if (!stats.has_classes() || stats.classes.begin()->first < 0) return "";
  const int64_t most = stats.classes.rbegin()->first;
  if (most >= kMostClasses) return "";
  std::vector<int64_t> counts(std::max(static_cast<size_t>(most) + 1, data.classes.size()));
  for (const auto& [label, count] : stats.classes) counts[static_cast<size_t>(label)] = count;
  const std::string rare = RareClassText(counts, data.classes);
  if (rare.empty()) return "";
  return rare +
         ": in training, balance: true in the data layer shows every class equally often; "
         "loss_param { " +
         ClassCountsText(counts) + " } weighs the loss";
}

void PrintText(const ImageStats& stats, const OpenedData& data) {
  std::cout << Thousands(stats.records) << " images, " << Thousands(stats.encoded)
            << " of them encoded, " << Thousands(stats.bytes) << " bytes\n";
  if (stats.turned > 0) {
    std::cout << Thousands(stats.turned) << " images turned upright by their EXIF data\n";
  }
  if (stats.sixteen_bit > 0) {
    std::cout << Thousands(stats.sixteen_bit)
              << " images with more than 8 bits per value, brightest value " << stats.brightest
              << '\n';
  }
  std::cout << '\n';
  TextTable sizes({"channels x height x width", ">images", ">share"});
  const std::vector<SizeCount> sorted = ByCount(stats.sizes);
  for (size_t i = 0; i < std::min(kShownSizes, sorted.size()); ++i) {
    sizes.Add({sorted[i].shape.ToString(), Thousands(sorted[i].images),
               Share(sorted[i].images, stats.records)});
  }
  sizes.Print(std::cout);
  if (sorted.size() > kShownSizes) {
    std::cout << "and " << sorted.size() - kShownSizes << " more sizes\n";
  }
  if (stats.has_classes()) {
    std::cout << '\n';
    TextTable classes({"class", ">images", ">share"});
    for (const auto& [label, count] : stats.classes) {
      classes.Add({ClassName(data.classes, label), Thousands(count), Share(count, stats.records)});
    }
    classes.Print(std::cout);
    const std::string imbalance = ImbalanceText(stats, data);
    if (!imbalance.empty()) std::cout << imbalance << '\n';
  } else {
    for (const auto& [labels, count] : stats.label_counts) {
      std::cout << Thousands(count) << " images with " << labels << " labels\n";
    }
  }
  std::cout << '\n';
  TextTable channels({">channels", ">channel", ">mean", ">deviation"});
  for (const auto& [count, sums] : stats.sums) {
    for (size_t c = 0; c < sums.size(); ++c) {
      channels.Add({c == 0 ? std::to_string(count) : "", std::to_string(c),
                    Significant(sums[c].mean()), Significant(sums[c].deviation())});
    }
  }
  channels.Print(std::cout);
}

void PrintJson(const ImageStats& stats, const OpenedData& data) {
  nlohmann::json out = {{"kind", data.kind},
                        {"images", stats.records},
                        {"encoded", stats.encoded},
                        {"bytes", stats.bytes},
                        {"checksum", stats.checksum},
                        {"sizes", nlohmann::json::array()},
                        {"channels", nlohmann::json::array()}};
  if (stats.turned > 0) out["turned"] = stats.turned;
  if (stats.sixteen_bit > 0) {
    out["sixteen_bit"] = stats.sixteen_bit;
    out["brightest"] = stats.brightest;
  }
  for (const SizeCount& size : ByCount(stats.sizes)) {
    out["sizes"].push_back({{"shape", size.shape.ToString()}, {"images", size.images}});
  }
  if (stats.has_classes()) {
    out["classes"] = nlohmann::json::array();
    for (const auto& [label, count] : stats.classes) {
      nlohmann::json row = {{"label", label}, {"images", count}};
      if (label >= 0 && label < static_cast<int64_t>(data.classes.size())) {
        row["name"] = data.classes[label];
      }
      out["classes"].push_back(row);
    }
    const std::string imbalance = ImbalanceText(stats, data);
    if (!imbalance.empty()) out["imbalance"] = imbalance;
  }
  for (const auto& [count, sums] : stats.sums) {
    for (size_t c = 0; c < sums.size(); ++c) {
      out["channels"].push_back({{"channels", count},
                                 {"channel", c},
                                 {"mean", sums[c].mean()},
                                 {"deviation", sums[c].deviation()}});
    }
  }
  std::cout << JsonText(out) << '\n';
}

}  // namespace

ExitCode DataStat(const CommandLine& line, bool* began) {
  OpenedData data = OpenData(line, line.files[0]);
  data.source = WithDecoding(std::move(data.source), DecodingFromFlags(line.flags));
  *began = true;
  const ImageStats stats =
      MeasureImages(*data.source, ThreadsOr(line.flags.data_threads), OnDamage::kThrow);
  line.flags.json ? PrintJson(stats, data) : PrintText(stats, data);
  return ExitCode::kDone;
}

}  // namespace doppio
