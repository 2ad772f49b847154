#include "tools/evaluation/evaluation_files.h"

#include <vector>

#include "core/base/file.h"
#include "core/base/log.h"
#include "tools/cli/json_text.h"
#include "tools/cli/word_list.h"
#include "tools/evaluation/evaluation.h"
#include "tools/evaluation/evaluation_text.h"
#include "tools/pages/web_page.h"
#include "tools/runs/csv_field.h"
#include "tools/runs/folder_lock.h"

namespace doppio {
namespace {

using nlohmann::json;

std::string CsvValue(const json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? CsvField(value.get<std::string>()) : value.dump();
}

// Returns a CSV file of rows that are arrays, or objects with members `columns`. Missing ones are
// empty.
std::string CsvOf(const std::vector<std::string>& columns, const json& rows) {
  std::string text = Join(columns, ",") + "\n";
  for (const json& row : rows) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += ',';
      if (row.is_array() || row.contains(columns[i]))
        text += CsvValue(row.is_array() ? row[i] : row[columns[i]]);
    }
    text += '\n';
  }
  return text;
}

json CurveRows(const json& evaluation) {
  json rows = json::array();
  for (const json& curve : evaluation["curves"]) {
    for (size_t i = 0; i < curve["recall"].size(); ++i) {
      rows.push_back({curve.value("class", json(nullptr)), curve["false_positives"][i],
                      curve["recall"][i], curve["precision"][i]});
    }
  }
  return rows;
}

}  // namespace

void WriteTables(const std::string& folder, const json& evaluation) {
  MakeFolders(folder);
  const auto write = [&](const std::string& name, const std::vector<std::string>& columns,
                         const json& rows) {
    WriteFileAtomically(folder + "/" + name, CsvOf(columns, rows));
  };
  if (evaluation.contains("outputs"))
    write("outputs.csv", {"count", "mae", "rmse", "r2"}, evaluation["outputs"]);
  if (!evaluation.contains("per_class")) return;
  write("classes.csv",
        {"class", "name", "support", "predicted", "right", "precision", "recall", "recall_low",
         "recall_high", "f1", "iou", "auc", "average_precision"},
        evaluation["per_class"]);
  write("confusion.csv", {"label", "predicted", "count"}, evaluation["confusion"]);
  if (!evaluation.contains("curves")) return;
  write("curves.csv", {"class", "false_positive_rate", "recall", "precision"},
        CurveRows(evaluation));
  write("calibration.csv", {"low", "high", "samples", "confidence", "accuracy"},
        evaluation["calibration"]);
  write("wrong.csv", {"name", "sample", "label", "predicted", "confidence"}, evaluation["wrong"]);
}

std::string EvaluationPage(const json& evaluation, const std::string& title) {
  return MakePage(title,
                  {"elements.js", "numbers.js", "theme.js", "evaluation.js", "evaluation_page.js"},
                  {{"title", title}, {"evaluation", evaluation}});
}

void RecordEvaluation(const std::string& folder, const TrainResult& result, uint64_t seed) {
  if (folder.empty() || !result.evaluated || result.stopped) return;
  try {
    json evaluation = Evaluate(*result.evaluated->predictions, seed);
    AddThumbnails(*result.evaluated->predictions, &evaluation);
    evaluation["iteration"] = result.evaluated->iteration;
    const std::string path = folder + "/evaluation.json";
    WriteFileAtomically(path, JsonText(evaluation, -1) + "\n");
    LOG(INFO) << "Evaluation of iteration " << result.evaluated->iteration << ": "
              << EvaluationLine(evaluation) << " (" << path << ")";
  } catch (const FileError& e) {
    LOG(WARNING) << e.what();
  }
}

}  // namespace doppio
