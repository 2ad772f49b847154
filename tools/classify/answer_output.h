// The answers of a classifier, and what `classify` makes of them.
#ifndef DOPPIO_TOOLS_CLASSIFY_ANSWER_OUTPUT_H_
#define DOPPIO_TOOLS_CLASSIFY_ANSWER_OUTPUT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/classify/json_list.h"
#include "tools/classify/sorted_files.h"
#include "tools/cli/flags.h"
#include "tools/cli/text_table.h"

namespace doppio {

struct RankedClass {
  int number = 0;
  std::string label;  // "" if the class has no name
  float value = 0;

  // Returns the label, or the number of a class without one.
  std::string Name() const { return label.empty() ? std::to_string(number) : label; }
};

struct Answer {
  std::string image;
  std::vector<RankedClass> classes;  // at least one, the largest value first
  bool unsure = false;               // the largest value is below --unsure_below

  std::string Name() const { return unsure ? "unsure" : classes[0].Name(); }
};

// Prints answers one by one, as the flags ask, and sorts the images.
class AnswerOutput {
 public:
  // With `as_caffe`, text has the format of Caffe's example program, which scripts parse. `labels`
  // are the names of all classes. The flags must outlive this object. Throws FileError.
  AnswerOutput(const Flags& flags, bool as_caffe, const nlohmann::json& net_and_blob,
               const std::vector<std::string>& labels);

  void Take(const Answer& answer);
  // Ends the output and logs the number of images of each class, and of those left out.
  void End(int64_t left_out);

 private:
  void AddToTable(const Answer& answer);
  void WriteCsv(const Answer& answer);
  void PrintTable();

  const Flags& flags_;
  const bool as_caffe_;
  std::optional<ResultStream> csv_;
  std::optional<JsonList> json_;
  TextTable table_;
  int in_table_ = 0;  // images
  SortedFiles sorted_;
  std::vector<std::string> folders_;  // of the classes
  std::map<std::string, int64_t> counts_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLASSIFY_ANSWER_OUTPUT_H_
