// The answers of a classifier, and the forms in which they are printed.
#ifndef DOPPIO_TOOLS_CLASSIFY_ANSWERS_H_
#define DOPPIO_TOOLS_CLASSIFY_ANSWERS_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace doppio {

struct RankedClass {
  int number = 0;
  std::string label;  // "" if the class has no name
  float value = 0;

  // Returns the label, or the number of a class without one.
  std::string Name() const { return label.empty() ? std::to_string(number) : label; }
};

// The name of the answer for images whose largest value is below --unsure_below.
extern const char* const kUnsure;

struct Answer {
  std::string image;
  std::vector<RankedClass> classes;  // at least one, the largest value first
  bool unsure = false;

  // Returns kUnsure or the name of the first class.
  std::string Name() const { return unsure ? kUnsure : classes[0].Name(); }
};

// Prints answers one by one. The stream must outlive it.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  virtual void Write(const Answer& answer) = 0;
  // Must be called once, after the last answer.
  virtual void End() {}
};

// A table with a row for each class. Its columns are aligned over some hundred images.
std::unique_ptr<AnswerWriter> MakeTableWriter(std::ostream& out);
// The format of Caffe's example program, which scripts parse.
std::unique_ptr<AnswerWriter> MakeCaffeWriter(std::ostream& out);
// One JSON document. Its images have an "answer" if `with_answer` is true.
std::unique_ptr<AnswerWriter> MakeJsonWriter(const std::string& net, const std::string& blob,
                                             bool with_answer, std::ostream& out);
// One line of JSON for each image.
std::unique_ptr<AnswerWriter> MakeJsonLinesWriter(std::ostream& out);
// CSV with one line for each image: file, answer, and `top` times class, label and value.
std::unique_ptr<AnswerWriter> MakeCsvWriter(int top, std::ostream& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLASSIFY_ANSWERS_H_
