#include "tools/classify/answer_output.h"

#include <algorithm>
#include <iostream>

#include "core/base/log.h"
#include "tools/cli/word_list.h"
#include "tools/runs/csv_field.h"

namespace doppio {
namespace {

std::vector<std::string> TableTitles() { return {"image", ">value", ">class", "label"}; }

nlohmann::json JsonOf(const Answer& answer, bool with_answer) {
  nlohmann::json json = {{"file", answer.image}, {"classes", nlohmann::json::array()}};
  for (const RankedClass& one : answer.classes) {
    nlohmann::json row = {{"class", one.number}, {"value", one.value}};
    if (!one.label.empty()) row["label"] = one.label;
    json["classes"].push_back(row);
  }
  if (with_answer) json["answer"] = answer.Name();
  return json;
}

void PrintAsCaffe(const Answer& answer) {
  std::cout << "---------- Prediction for " << answer.image << " ----------\n";
  for (const RankedClass& one : answer.classes)
    std::cout << Fixed(one.value, 4) << " - \"" << one.label << "\"\n";
}

}  // namespace

AnswerOutput::AnswerOutput(const Flags& flags, bool as_caffe, const nlohmann::json& net_and_blob,
                           const std::vector<std::string>& labels)
    : flags_(flags),
      as_caffe_(as_caffe),
      table_(TableTitles()),
      sorted_(flags.sort_into,
              flags.sort_by == "link" ? SortedFiles::By::kLink : SortedFiles::By::kCopy),
      folders_(FolderNames(labels, "unsure")) {
  if (flags.csv) {
    csv_.emplace(flags.csv);
    csv_->out() << "file,answer";
    for (int i = 1; i <= std::min(flags.top, static_cast<int>(labels.size())); ++i)
      csv_->out() << ",class_" << i << ",label_" << i << ",value_" << i;
    csv_->out() << '\n';
  }
  if (flags.json) json_.emplace(net_and_blob, "images", std::cout);
}

void AnswerOutput::Take(const Answer& answer) {
  if (csv_) WriteCsv(answer);
  if (json_) {
    json_->Add(JsonOf(answer, flags_.unsure_below > 0));
  } else if (flags_.jsonl) {
    std::cout << JsonText(JsonOf(answer, true), -1) << '\n' << std::flush;
  } else if (!csv_ && as_caffe_) {
    PrintAsCaffe(answer);
  } else if (!csv_) {
    AddToTable(answer);
  }
  if (!flags_.sort_into.empty())
    sorted_.Add(answer.image, answer.unsure ? "unsure" : folders_[answer.classes[0].number]);
  ++counts_[answer.Name()];
}

void AnswerOutput::End(int64_t left_out) {
  PrintTable();
  if (json_) json_->End();
  if (csv_) csv_->Flush();
  constexpr size_t kShown = 10;
  int64_t images = 0;
  std::vector<std::pair<int64_t, std::string>> most;  // with negative counts
  for (const auto& [name, count] : counts_) {
    images += count;
    most.emplace_back(-count, name);
  }
  std::sort(most.begin(), most.end());
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(kShown, most.size()); ++i)
    parts.push_back(std::to_string(-most[i].first) + " " + most[i].second);
  if (most.size() > kShown) parts.push_back(std::to_string(most.size() - kShown) + " classes more");
  LOG(INFO) << images << (images == 1 ? " image" : " images") << " classified"
            << (parts.empty() ? "" : ": " + Join(parts, ", "))
            << (left_out == 0 ? "" : "; " + std::to_string(left_out) + " left out");
}

void AnswerOutput::AddToTable(const Answer& answer) {
  constexpr int kTogether = 500;
  for (const RankedClass& one : answer.classes) {
    const bool first = &one == &answer.classes[0];
    table_.Add({first ? answer.image : "", Fixed(one.value, 4), std::to_string(one.number),
                first && answer.unsure ? "unsure; " + one.Name() : one.label});
  }
  if (++in_table_ == kTogether) PrintTable();
}

void AnswerOutput::WriteCsv(const Answer& answer) {
  constexpr int kDigits = 9;  // restore a float exactly
  csv_->out() << CsvField(answer.image) << ',' << CsvField(answer.Name());
  for (const RankedClass& one : answer.classes)
    csv_->out() << ',' << one.number << ',' << CsvField(one.label) << ','
                << Significant(one.value, kDigits);
  csv_->out() << '\n';
}

void AnswerOutput::PrintTable() {
  if (in_table_ > 0) table_.Print(std::cout);
  table_ = TextTable(TableTitles());
  in_table_ = 0;
}

}  // namespace doppio
