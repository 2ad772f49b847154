#include "tools/classify/answers.h"

#include "tools/cli/json_list.h"
#include "tools/cli/text_table.h"
#include "tools/runs/csv_field.h"

namespace doppio {
namespace {

class TableWriter : public AnswerWriter {
 public:
  explicit TableWriter(std::ostream& out) : out_(out) {}

  void Write(const Answer& answer) override {
    std::string image = answer.image;
    bool unsure = answer.unsure;
    for (const RankedClass& one : answer.classes) {
      std::string label = one.label;
      if (unsure) label = kUnsure + ("; " + one.Name());
      table_.Add({image, Fixed(one.value, 4), std::to_string(one.number), label});
      image.clear();
      unsure = false;
    }
    if (++images_ == kTogether) End();
  }

  void End() override {
    if (images_ > 0) table_.Print(out_);
    out_.flush();
    table_ = Empty();
    images_ = 0;
  }

 private:
  static constexpr int kTogether = 500;

  static TextTable Empty() { return TextTable({"image", ">value", ">class", "label"}); }

  std::ostream& out_;
  TextTable table_ = Empty();
  int images_ = 0;  // in the table
};

class CaffeWriter : public AnswerWriter {
 public:
  explicit CaffeWriter(std::ostream& out) : out_(out) {}

  void Write(const Answer& answer) override {
    out_ << "---------- Prediction for " << answer.image << " ----------\n";
    for (const RankedClass& one : answer.classes)
      out_ << Fixed(one.value, 4) << " - \"" << one.label << "\"\n";
  }

 private:
  std::ostream& out_;
};

nlohmann::json AnswerJson(const Answer& answer, bool with_answer) {
  nlohmann::json classes = nlohmann::json::array();
  for (const RankedClass& one : answer.classes) {
    nlohmann::json row = {{"class", one.number}, {"value", one.value}};
    if (!one.label.empty()) row["label"] = one.label;
    classes.push_back(row);
  }
  nlohmann::json json = {{"file", answer.image}, {"classes", classes}};
  if (with_answer) json["answer"] = answer.Name();
  return json;
}

class JsonWriter : public AnswerWriter {
 public:
  JsonWriter(const std::string& net, const std::string& blob, bool with_answer, std::ostream& out)
      : list_({{"net", net}, {"blob", blob}}, "images", out), with_answer_(with_answer) {}

  void Write(const Answer& answer) override { list_.Add(AnswerJson(answer, with_answer_)); }
  void End() override { list_.End(); }

 private:
  JsonList list_;
  const bool with_answer_;
};

class JsonLinesWriter : public AnswerWriter {
 public:
  explicit JsonLinesWriter(std::ostream& out) : out_(out) {}

  void Write(const Answer& answer) override {
    out_ << JsonText(AnswerJson(answer, true), -1) << '\n';
  }

 private:
  std::ostream& out_;
};

class CsvWriter : public AnswerWriter {
 public:
  CsvWriter(int top, std::ostream& out) : out_(out) {
    out_ << "file,answer";
    for (int i = 1; i <= top; ++i) out_ << ",class_" << i << ",label_" << i << ",value_" << i;
    out_ << '\n';
  }

  void Write(const Answer& answer) override {
    out_ << CsvField(answer.image) << ',' << CsvField(answer.Name());
    for (const RankedClass& one : answer.classes) {
      constexpr int kDigits = 9;  // restore a float exactly
      out_ << ',' << one.number << ',' << CsvField(one.label) << ','
           << Significant(one.value, kDigits);
    }
    out_ << '\n';
  }

 private:
  std::ostream& out_;
};

}  // namespace

const char* const kUnsure = "unsure";

std::unique_ptr<AnswerWriter> MakeTableWriter(std::ostream& out) {
  return std::make_unique<TableWriter>(out);
}

std::unique_ptr<AnswerWriter> MakeCaffeWriter(std::ostream& out) {
  return std::make_unique<CaffeWriter>(out);
}

std::unique_ptr<AnswerWriter> MakeJsonWriter(const std::string& net, const std::string& blob,
                                             bool with_answer, std::ostream& out) {
  return std::make_unique<JsonWriter>(net, blob, with_answer, out);
}

std::unique_ptr<AnswerWriter> MakeJsonLinesWriter(std::ostream& out) {
  return std::make_unique<JsonLinesWriter>(out);
}

std::unique_ptr<AnswerWriter> MakeCsvWriter(int top, std::ostream& out) {
  return std::make_unique<CsvWriter>(top, out);
}

}  // namespace doppio
