#include "tests/random/ledger.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cctype>
#include <iomanip>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/file.h"

namespace doppio {
namespace {

using nlohmann::json;

// In the summary.
constexpr size_t kMostRefusals = 10;
constexpr size_t kLeastTypes = 12;

// Adds the paths of all fields that are set in `message`.
void AddFields(const google::protobuf::Message& message, const std::string& prefix,
               std::set<std::string>* paths) {
  const google::protobuf::Reflection& access = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  access.ListFields(message, &fields);
  for (const auto* field : fields) {
    const std::string path = prefix + field->name();
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      paths->insert(path);
    } else if (!field->is_repeated()) {
      AddFields(access.GetMessage(message, field), path + ".", paths);
    } else {
      for (int i = 0; i < access.FieldSize(message, field); ++i)
        AddFields(access.GetRepeatedMessage(message, field, i), path + ".", paths);
    }
  }
}

std::string SourceOf(const LayerParameter& layer) {
  if (layer.type() != "Data") return layer.type();
  return "Data/" + DataParameter::DB_Name(layer.data_param().backend());
}

json Once(const std::set<std::string>& names) {
  json counts = json::object();
  for (const std::string& name : names) counts[name] = 1;
  return counts;
}

// Returns the message without what differs between cases: names, paths and numbers.
std::string Shortened(const std::string& message) {
  std::istringstream words(message);
  std::string text;
  for (std::string word; words >> word;) {
    if (word.find('/') != std::string::npos) word = "PATH";
    std::string kept;
    for (const char c : word) {
      const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
      if (!digit || kept.empty() || kept.back() != 'N') kept += digit ? 'N' : c;
    }
    text += (text.empty() ? "" : " ") + kept;
  }
  return text.substr(0, 200);
}

std::string Histogram(const json& counts) {
  std::vector<std::pair<int, int64_t>> bars;
  for (const auto& [value, count] : counts.items())
    bars.emplace_back(std::stoi(value), count.get<int64_t>());
  std::sort(bars.begin(), bars.end());
  std::string text;
  for (const auto& [value, count] : bars)
    text += (text.empty() ? "" : "  ") + std::to_string(value) + ": " + std::to_string(count);
  return text;
}

int64_t CountAt(const json& sums, const std::string& name) { return sums.value(name, int64_t{0}); }

std::string Share(int64_t part, int64_t whole) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1)
       << 100.0 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole))
       << " %";
  return text.str();
}

// Adds the share of layers with a backward whose backward runs, and the types with the lowest
// shares.
void AddGradients(const json& sums, std::ostream& out) {
  int64_t layers = 0, computing = 0;
  std::vector<std::pair<double, std::string>> shares;
  const json by_type = sums.value("gradients", json::object());
  for (const auto& [type, counts] : by_type.items()) {
    const int64_t whole = CountAt(counts, "layers"), part = CountAt(counts, "computing");
    layers += whole;
    computing += part;
    shares.emplace_back(static_cast<double>(part) / static_cast<double>(whole),
                        type + " " + Share(part, whole));
  }
  std::sort(shares.begin(), shares.end());
  out << "layers that compute a gradient: " << computing << " of " << layers << " ("
      << Share(computing, layers) << "); least often:\n ";
  for (size_t i = 0; i < std::min(kLeastTypes, shares.size()); ++i)
    out << (i == 0 ? " " : ", ") << shares[i].second;
  out << '\n';
}

void AddRefusals(const json& sums, std::ostream& out) {
  std::vector<std::pair<int64_t, std::string>> refusals;
  int64_t all = 0;
  const json by_message = sums.value("refusals", json::object());
  for (const auto& [message, count] : by_message.items()) {
    refusals.emplace_back(count.get<int64_t>(), message);
    all += refusals.back().first;
  }
  std::sort(refusals.rbegin(), refusals.rend());
  out << "refused runs: " << all << " of " << CountAt(sums, "runs") << '\n';
  for (size_t i = 0; i < std::min(kMostRefusals, refusals.size()); ++i)
    out << "  " << refusals[i].first << " x " << refusals[i].second << '\n';
}

void AddRelations(const json& sums, std::ostream& out) {
  out << std::left << std::setw(20) << "relation" << std::right << std::setw(9) << "seeds"
      << std::setw(9) << "found" << std::setw(10) << "left out" << '\n';
  const json relations = sums.value("relations", json::object());
  for (const auto& [name, counts] : relations.items()) {
    out << std::left << std::setw(20) << name << std::right << std::setw(9)
        << CountAt(counts, "seeds") << std::setw(9) << CountAt(counts, "found") << std::setw(10)
        << CountAt(counts, "left_out") << '\n';
  }
}

}  // namespace

json CountsOf(const RandomCase& random_case, const DraftRecord& record, const Tally& tally) {
  std::set<std::string> types, fields, sources, with_threads, pairs;
  for (const LayerParameter& layer : random_case.net.layer()) {
    types.insert(layer.type());
    if (layer.bottom_size() == 0) sources.insert(SourceOf(layer));
    std::set<std::string> paths;
    AddFields(layer, "", &paths);
    for (const std::string& path : paths) fields.insert(layer.type() + " " + path);
    for (const int threads : tally.threads)
      with_threads.insert(layer.type() + ", " + std::to_string(threads));
  }
  AddFields(random_case.solver, "solver ", &fields);
  for (const std::string& a : sources) {
    for (const std::string& b : sources) {
      if (a < b) pairs.insert(a + ", " + b);
    }
  }
  const CaseFacts facts = FactsOf(random_case.net);
  json counts;
  counts["seeds"] = 1;
  counts["types"] = Once(types);
  counts["fields"] = Once(fields);
  counts["rules"][random_case.solver.type()] = 1;
  counts["policies"][random_case.solver.lr_policy()] = 1;
  counts["sources"] = Once(sources);
  counts["pairs"]["type x threads"] = Once(with_threads);
  counts["pairs"]["source x source"] = Once(pairs);
  const std::vector<std::pair<const char*, int>> sizes = {{"layers", facts.layers},
                                                          {"branches", facts.branches},
                                                          {"shared", facts.shared},
                                                          {"sources", facts.sources},
                                                          {"losses", facts.losses}};
  for (const auto& [name, size] : sizes) counts["histograms"][name][std::to_string(size)] = 1;
  GradientCount all;
  counts["gradients"] = json::object();
  for (const auto& [type, count] : record.gradients) {
    counts["gradients"][type] = {{"layers", count.layers}, {"computing", count.computing}};
    all.layers += count.layers;
    all.computing += count.computing;
  }
  const int tenths = all.layers == 0 ? 0 : 10 * all.computing / all.layers;
  counts["histograms"]["gradients"][std::to_string(10 * tenths)] = 1;
  counts["runs"] = tally.runs;
  counts["unproven"] = tally.unproven;
  counts["diverged"] = tally.diverged;
  counts["refusals"] = json::object();
  for (const auto& [message, count] : tally.refusals) {
    json& sum = counts["refusals"][Shortened(message)];
    sum = (sum.is_null() ? 0 : sum.get<int64_t>()) + count;
  }
  return counts;
}

std::string TextOf(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

void AddUp(const json& counts, json* sums) {
  for (const auto& [name, value] : counts.items()) {
    json& sum = (*sums)[name];
    if (value.is_object()) {
      if (sum.is_null()) sum = json::object();
      AddUp(value, &sum);
    } else {
      sum = (sum.is_null() ? 0 : sum.get<int64_t>()) + value.get<int64_t>();
    }
  }
}

void AddToFile(const json& counts, const std::string& path) {
  json sums = FileExists(path) ? json::parse(ReadFile(path)) : json::object();
  AddUp(counts, &sums);
  WriteFileAtomically(path, TextOf(sums, 1) + "\n");
}

std::string SummaryOf(const json& sums, std::vector<double> seconds) {
  std::ostringstream out;
  const int64_t seeds = CountAt(sums, "seeds");
  out << seeds << " seeds";
  if (!seconds.empty()) {
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    out << ", median " << std::fixed << std::setprecision(2) << *middle << " s a seed";
  }
  out << '\n';
  const json histograms = sums.value("histograms", json::object());
  for (const auto& [name, counts] : histograms.items())
    out << std::left << std::setw(10) << name << Histogram(counts) << '\n';
  AddGradients(sums, out);
  AddRefusals(sums, out);
  out << "comparisons that rounding leaves unproven: " << CountAt(sums, "unproven") << " ("
      << Share(CountAt(sums, "unproven"), CountAt(sums, "runs"))
      << " of the runs); diverged: " << CountAt(sums, "diverged") << '\n';
  AddRelations(sums, out);
  return out.str();
}

}  // namespace doppio
