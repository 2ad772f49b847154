#include "core/net/spec/prototxt.h"

#include <google/protobuf/io/tokenizer.h>

#include "core/base/content/content_kind.h"
#include "core/base/content/text_file.h"
#include "core/base/file.h"
#include "core/net/spec/text_check.h"

namespace doppio {
namespace {

// Collects errors of the parser. CheckText should have found all errors before.
class ParserErrors : public google::protobuf::io::ErrorCollector {
 public:
  ParserErrors(const std::string& file, doppio::ErrorCollector* mistakes)
      : file_(file), mistakes_(mistakes) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    mistakes_->Add(SourceLoc{file_, line + 1, column + 1}, message);
  }

 private:
  const std::string file_;
  doppio::ErrorCollector* mistakes_;
};

}  // namespace

FieldPlaces ParseText(const std::string& text, const std::string& file,
                      google::protobuf::Message* message) {
  const std::string content = WithoutByteOrderMark(text);
  if (KindOfContent(content) != ContentKind::kText) {
    const std::string what = DescribeContent(content);
    throw UserError(SourceLoc{file, 0, 0},
                    what.empty()
                        ? "this is not text; a net or solver in text format is needed here; "
                          "pass weights with --weights or --snapshot"
                        : "a net or solver in text format is needed here, but " + what);
  }
  doppio::ErrorCollector mistakes;
  CheckText(content, file, *message->GetDescriptor(), &mistakes);
  mistakes.ThrowIfAny();

  FieldPlaces places(SourceLoc{file, 0, 0});
  places.file_ = std::make_shared<FieldPlaces::File>();
  places.file_->name = file;
  places.tree_ = &places.file_->tree;
  places.type_ = message->GetDescriptor();
  ParserErrors errors(file, &mistakes);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&places.file_->tree);
  const bool parsed = parser.ParseFromString(content, message);
  mistakes.ThrowIfAny();
  DOPPIO_CHECK(parsed, "protobuf rejects " + file + " without a reason");
  return places;
}

FieldPlaces ParseTextFile(const std::string& path, google::protobuf::Message* message) {
  CheckExists(path);
  return ParseText(ReadFile(path), path, message);
}

std::string ToPrototxt(const google::protobuf::Message& message, int indent) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  printer.SetInitialIndentLevel(indent);
  std::string text;
  DOPPIO_CHECK(printer.PrintToString(message, &text), "protobuf cannot print a message");
  return text;
}

}  // namespace doppio
