#include "tools/evaluation/evaluation_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tools/cli/text_table.h"
#include "tools/evaluation/evaluation.h"

namespace doppio {
namespace {

using nlohmann::json;

constexpr size_t kWholeTable = 12;  // classes of which all are printed
constexpr size_t kMostRows = 8;     // of classes and of confusions, if there are more
constexpr size_t kMostWrong = 4;

std::string FourDigits(const json& value) {
  return value.is_null() ? "–" : Fixed(value.get<double>(), 4);
}

// Returns "0.7512–0.8123", or "" if `score` has no interval.
std::string IntervalOf(const json& score, const std::string& prefix = "") {
  if (!score.contains(prefix + "low")) return "";
  return FourDigits(score[prefix + "low"]) + "–" + FourDigits(score[prefix + "high"]);
}

void PrintMain(const json& evaluation, std::ostream& out) {
  TextTable table({"score", ">value", "95 % interval"});
  const auto add = [&](const std::string& name, const json& value, const std::string& interval) {
    table.Add({name, FourDigits(value), interval});
  };
  const json& accuracy = evaluation["accuracy"];
  add("accuracy", accuracy["value"], IntervalOf(accuracy));
  if (evaluation["kind"] == "segmentation") {
    add("mean IoU", evaluation["mean_iou"], "");
    return table.Print(out);
  }
  for (const json& top : evaluation["top_k"]) {
    const auto k = top["k"].get<int>();
    if (k == 5 || (k == 2 && evaluation["top_k"].size() < 3))
      add("top-" + std::to_string(k) + " accuracy", top["value"], IntervalOf(top));
  }
  const json& macro = evaluation["macro"];
  add("macro F1", macro["f1"], IntervalOf(macro, "f1_"));
  add("weighted F1", evaluation["weighted"]["f1"], "");
  const bool confidence = evaluation["curves_of"] == "confidence";
  add(confidence ? "AUC of the confidence" : "AUC", evaluation["auc"]["value"],
      IntervalOf(evaluation["auc"]));
  add("average precision", evaluation["average_precision"], "");
  add("calibration error", evaluation["ece"], "");
  table.Print(out);
}

// Prints the scores of all classes, or of those of the lowest F1 that have labels.
void PrintClasses(const json& evaluation, std::ostream& out) {
  std::vector<json> rows = evaluation["per_class"];
  const bool all = rows.size() <= kWholeTable, pixels = evaluation["kind"] == "segmentation";
  const char* const rank = pixels ? "iou" : "f1";
  if (!all) {
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [](const json& row) { return row["support"] == 0; }),
               rows.end());
    std::stable_sort(rows.begin(), rows.end(), [rank](const json& a, const json& b) {
      return a[rank].get<double>() < b[rank].get<double>();
    });
    if (rows.size() > kMostRows) rows.resize(kMostRows);
    out << "\nclasses of the lowest " << (pixels ? "IoU" : "F1") << '\n';
  } else {
    out << '\n';
  }
  TextTable table({"class", ">precision", ">recall", ">F1", pixels ? ">IoU" : ">AUC",
                   pixels ? ">pixels" : ">support"});
  for (const json& row : rows) {
    const json none;
    const char* const last = pixels ? "iou" : "auc";
    table.Add({ClassText(evaluation, row["class"]), FourDigits(row["precision"]),
               FourDigits(row["recall"]), FourDigits(row["f1"]),
               FourDigits(row.contains(last) ? row[last] : none),
               Thousands(row["support"].get<int64_t>())});
  }
  table.Print(out);
}

void PrintMatrix(const json& evaluation, std::ostream& out) {
  const auto classes = evaluation["classes"].get<size_t>();
  std::vector<std::string> titles = {"label \\ predicted"};
  std::vector<std::vector<std::string>> rows(classes);
  for (size_t c = 0; c < classes; ++c) {
    titles.push_back(">" + std::to_string(c));
    rows[c].assign(classes + 1, "·");
    rows[c][0] = ClassText(evaluation, static_cast<int64_t>(c));
  }
  for (const json& cell : evaluation["confusion"])
    rows[cell[0].get<size_t>()][cell[1].get<size_t>() + 1] = Thousands(cell[2].get<int64_t>());
  TextTable table(titles);
  for (const std::vector<std::string>& row : rows) table.Add(row);
  out << '\n';
  table.Print(out);
}

void PrintConfusions(const json& evaluation, std::ostream& out) {
  std::vector<json> cells;
  for (const json& cell : evaluation["confusion"]) {
    if (cell[0] != cell[1]) cells.push_back(cell);
  }
  if (cells.empty()) return;
  std::stable_sort(cells.begin(), cells.end(), [](const json& a, const json& b) {
    return a[2].get<int64_t>() > b[2].get<int64_t>();
  });
  out << "\nmost frequent confusions\n";
  TextTable table({"label", "predicted", ">times", ">of"});
  for (size_t i = 0; i < std::min(kMostRows, cells.size()); ++i) {
    const auto label = cells[i][0].get<int64_t>();
    table.Add({ClassText(evaluation, label), ClassText(evaluation, cells[i][1]),
               Thousands(cells[i][2].get<int64_t>()),
               Thousands(evaluation["per_class"][static_cast<size_t>(label)]["support"])});
  }
  table.Print(out);
}

void PrintWrong(const json& evaluation, std::ostream& out) {
  const json& wrong = evaluation["wrong"];
  if (wrong.empty()) return;
  out << '\n'
      << "wrong with the greatest confidence, of "
      << Thousands(evaluation["wrong_count"].get<int64_t>()) << '\n';
  TextTable table({"sample", "label", "predicted", ">confidence"});
  for (size_t i = 0; i < std::min(kMostWrong, wrong.size()); ++i) {
    const std::string name = wrong[i]["name"];
    table.Add({name.empty() ? "sample " + wrong[i]["sample"].dump() : name,
               ClassText(evaluation, wrong[i]["label"]),
               ClassText(evaluation, wrong[i]["predicted"]), FourDigits(wrong[i]["confidence"])});
  }
  table.Print(out);
}

void PrintComparison(const json& baseline, std::ostream& out) {
  out << "\ncompared with " << baseline["weights"].get<std::string>() << ": accuracy "
      << (baseline["difference"] < 0 ? "" : "+") << FourDigits(baseline["difference"])
      << " (95 % interval " << IntervalOf(baseline) << "); only these weights are right for "
      << Thousands(baseline["only_these_right"].get<int64_t>()) << ", only the baseline for "
      << Thousands(baseline["only_baseline_right"].get<int64_t>()) << "; McNemar's test ("
      << baseline["test"].get<std::string>()
      << "): p = " << Significant(baseline["p"].get<double>(), 3) << '\n';
}

}  // namespace

void PrintEvaluation(const json& evaluation, std::ostream& out) {
  const bool numbers = evaluation["kind"] == "regression";
  out << '\n'
      << (numbers || evaluation["kind"] == "classifier" ? "" : "segmentation, ")
      << "evaluation of '" << evaluation["scores"].get<std::string>()
      << "': " << Thousands(evaluation["samples"].get<int64_t>())
      << (evaluation["kind"] == "segmentation" ? " pixels" : " samples");
  if (evaluation.value("ignored", 0) > 0)
    out << ", " << Thousands(evaluation["ignored"].get<int64_t>()) << " ignored";
  out << '\n';
  if (numbers) {
    TextTable table({"score", ">value"});
    for (const auto& [key, name] : std::map<std::string, std::string>{
             {"mae", "mean absolute error"}, {"rmse", "RMSE"}, {"r2", "R²"}}) {
      if (evaluation.contains(key)) table.Add({name, FourDigits(evaluation[key])});
    }
    table.Print(out);
  } else {
    PrintMain(evaluation, out);
    PrintClasses(evaluation, out);
    evaluation["classes"] <= kWholeTable ? PrintMatrix(evaluation, out)
                                         : PrintConfusions(evaluation, out);
    if (evaluation.contains("wrong")) PrintWrong(evaluation, out);
  }
  if (evaluation.contains("baseline")) PrintComparison(evaluation["baseline"], out);
  for (const json& note : evaluation["notes"]) out << "note: " << note.get<std::string>() << '\n';
}

std::string EvaluationLine(const json& evaluation) {
  if (evaluation["kind"] == "regression") {
    return !evaluation.contains("mae")
               ? "no values"
               : "mean absolute error " + FourDigits(evaluation["mae"]) + ", RMSE " +
                     FourDigits(evaluation["rmse"]) + ", R² " + FourDigits(evaluation["r2"]);
  }
  const json& accuracy = evaluation["accuracy"];
  const std::string text =
      "accuracy " + FourDigits(accuracy["value"]) + " (" + IntervalOf(accuracy) + ")";
  if (evaluation["kind"] == "segmentation")
    return text + ", mean IoU " + FourDigits(evaluation["mean_iou"]);
  return text + ", macro F1 " + FourDigits(evaluation["macro"]["f1"]) + ", calibration error " +
         FourDigits(evaluation["ece"]);
}

}  // namespace doppio
