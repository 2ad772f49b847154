#include "tools/verify/verify_report.h"

#include <algorithm>

#include "core/base/file.h"
#include "parallel/tcp/sha256.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/pages/web_page.h"

namespace doppio {
namespace {

using nlohmann::json;

json ToJson(const PointPair& pair, const Comparison& comparison, double tolerance) {
  const FormPoint &a = comparison.a().points[pair.a], &b = comparison.b().points[pair.b];
  json row = {{"layer", a.layer},         {"type", a.type},
              {"blob", a.blob},           {"other_layer", b.layer},
              {"other_blob", b.blob},     {"matched_by", pair.how},
              {"place", a.at.ToString()}, {"agrees", pair.Agrees(tolerance)}};
  if (!pair.unlike.empty()) row["unlike"] = pair.unlike;
  row["shape"] = pair.shape.dims();
  row["difference"] = NumberOrNull(pair.values.absolute);
  row["relative"] = NumberOrNull(pair.values.relative());
  row["largest"] = NumberOrNull(pair.values.largest);
  if (pair.values.absolute > 0 && pair.unlike.empty()) {
    row["at"] = IndexText(pair.shape, pair.values.index);
    row["run"] = pair.run;
    row["values"] = {NumberOrNull(pair.of_a), NumberOrNull(pair.of_b)};
  }
  if (pair.rows > 0) row["top_class"] = {{"same", pair.same_top}, {"of", pair.rows}};
  return row;
}

std::string NumberText(const json& value) {
  return value.is_null() ? "inf" : Significant(value.get<double>(), 3);
}

// Prints the rows that `shown` admits, at most kShown of them.
template <class F>
void PrintRows(const json& rows, const char* title, const F& shown, std::ostream& out) {
  constexpr int kShown = 20;
  const std::string name = title, other = "other_" + name;
  TextTable table({name, ">shape", ">difference", ">relative", ">same top class"});
  int count = 0;
  for (const json& row : rows) {
    if (!shown(row) || ++count > kShown) continue;
    const auto own = row[name].get<std::string>(), others = row[other].get<std::string>();
    const bool unlike = row.contains("unlike");
    std::string top;
    if (row.contains("top_class"))
      top = row["top_class"]["same"].dump() + " of " + row["top_class"]["of"].dump();
    table.Add({own == others ? own : own + " / " + others,
               unlike ? row["unlike"].get<std::string>()
                      : Shape(row["shape"].get<std::vector<int64_t>>()).ToString(),
               unlike ? "–" : NumberText(row["difference"]),
               unlike ? "–" : NumberText(row["relative"]), top});
  }
  if (count > 0) table.Print(out);
  if (count > kShown) out << "and " << count - kShown << " more\n";
}

}  // namespace

json FilesJson(const FormFiles& files) {
  json list = json::array();
  std::vector<std::string> paths = {files.model};
  paths.insert(paths.end(), files.weights.begin(), files.weights.end());
  for (const std::string& path : paths) {
    const std::string bytes = ReadFile(path, kMaxElements);
    std::string digits;
    for (const uint8_t byte : Sha256(bytes)) {
      constexpr const char* kDigits = "0123456789abcdef";
      digits += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    list.push_back({{"path", path}, {"bytes", bytes.size()}, {"sha256", digits}});
  }
  return list;
}

json ToJson(const VerifiedWitness& witness, double tolerance) {
  const Comparison &comparison = *witness.comparison, &inside = *witness.inside;
  json result = {{"witness", witness.name},
                 {"reference", witness.reference},
                 {"equal", comparison.Agrees()},
                 {"lone_outputs", comparison.LoneOutputs()},
                 {"causes", witness.causes}};
  for (const char* list : {"outputs", "layers", "weights"}) result[list] = json::array();
  for (const PointPair& pair : comparison.pairs()) {
    if (pair.output) result["outputs"].push_back(ToJson(pair, comparison, tolerance));
  }
  for (const PointPair& pair : inside.pairs()) {
    if (pair.compared && !pair.output) result["layers"].push_back(ToJson(pair, inside, tolerance));
  }
  for (const ArrayDifference& array : witness.weights) {
    result["weights"].push_back({{"layer", array.layer},
                                 {"array", array.role},
                                 {"difference", NumberOrNull(array.values.absolute)},
                                 {"relative", NumberOrNull(array.values.relative())},
                                 {"results_agree", inside.pairs()[array.pair].Agrees(tolerance)},
                                 {"text", array.text}});
  }
  if (witness.first != nullptr) result["first"] = ToJson(*witness.first, inside, tolerance);
  return result;
}

void PrintWitness(const json& result, std::ostream& out) {
  out << '\n'
      << result["witness"].get<std::string>() << " and " << result["reference"].get<std::string>()
      << (result["equal"] ? ": equal\n" : ": DIFFERENT\n");
  PrintRows(
      result["outputs"], "blob", [](const json&) { return true; }, out);
  for (const json& lone : result["lone_outputs"])
    out << "only one form has the output " << lone.get<std::string>() << '\n';
  const json& layers = result["layers"];
  const auto differs = [](const json& row) { return !row["agrees"].get<bool>(); };
  const auto differing = std::count_if(layers.begin(), layers.end(), differs);
  out << static_cast<int64_t>(layers.size()) - differing << " of " << layers.size()
      << " matched layers agree\n";
  if (!result["equal"]) PrintRows(layers, "layer", differs, out);
  for (const json& array : result["weights"]) {
    if (!array["results_agree"]) continue;
    out << "within tolerance: " << array["array"].get<std::string>() << " of layer '"
        << array["layer"].get<std::string>() << "': " << array["text"].get<std::string>() << '\n';
  }
  if (!result.contains("first")) return;
  const json& first = result["first"];
  const std::string place = first["place"].get<std::string>();
  out << "first difference: layer '" << first["layer"].get<std::string>() << "' ("
      << first["type"].get<std::string>() << (place.empty() ? "" : ", ") << place
      << "), in the other form '" << first["other_layer"].get<std::string>() << "'";
  if (first.contains("unlike")) {
    out << ": " << first["unlike"].get<std::string>();
  } else {
    out << ": " << NumberText(first["difference"]) << " at " << first.value("at", "[]")
        << ", of values up to " << NumberText(first["largest"]);
  }
  out << '\n';
  for (const json& cause : result["causes"])
    out << "  likely cause: " << cause.get<std::string>() << '\n';
  if (result["causes"].empty())
    out << "  no simple cause fits; the layer gets equal values, and its weights are equal\n";
}

std::string VerifyPage(const json& result) {
  return MakePage("doppio verify",
                  {"elements.js", "numbers.js", "theme.js", "evaluation.js", "verify_page.js"},
                  result);
}

}  // namespace doppio
