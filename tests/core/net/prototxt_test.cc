#include "core/net/spec/prototxt.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/file.h"
#include "core/net/spec/text_check.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::ElementsAre;

// Returns the mistakes that a parse reports, one line each, as the user sees them.
template <class Message>
std::vector<std::string> Mistakes(const std::string& text) {
  Message message;
  try {
    ParseText(text, "f", &message);
  } catch (const ErrorList& list) {
    std::vector<std::string> lines;
    for (const Error& error : list.errors()) lines.push_back(error.what());
    return lines;
  } catch (const Error& error) {
    return {error.what()};
  }
  return {};
}

std::vector<std::string> NetMistakes(const std::string& text) {
  return Mistakes<NetParameter>(text);
}

// Returns the depth of the deepest nesting of messages below `type`. Fails if a message type
// contains itself.
int Depth(const google::protobuf::Descriptor* type,
          std::vector<const google::protobuf::Descriptor*> around) {
  EXPECT_EQ(std::count(around.begin(), around.end(), type), 0) << type->full_name();
  if (testing::Test::HasFailure()) return 0;
  around.push_back(type);
  int deepest = 0;
  for (int i = 0; i < type->field_count(); ++i) {
    const auto* inside = type->field(i)->message_type();
    if (inside != nullptr) deepest = std::max(deepest, Depth(inside, around));
  }
  return 1 + deepest;
}

// This bounds the nesting of any text, so code that reads messages may recurse.
TEST(ParseText, MessagesNestOnlySoDeep) { EXPECT_LE(Depth(SolverParameter::descriptor(), {}), 10); }

TEST(ParseText, GivesUpAfterAThousandMistakes) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "thing" + std::to_string(i) + ": 1\n";
  const std::vector<std::string> mistakes = NetMistakes(text);
  ASSERT_EQ(mistakes.size(), 1001u);
  EXPECT_EQ(mistakes.back(),
            "f:1000:1: the rest of the file is not checked: there are 1000 mistakes");
}

TEST(ParseText, SkipsBracketsHoweverDeepTheyAre) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(NetMistakes("name: " + deep).size(), 1u);
  EXPECT_EQ(NetMistakes("thing: " + deep).size(), 1u);
}

TEST(ParseTextFile, RefusesMoreThanTwoGigabytes) {
  const std::string path = testing::TempDir() + "/large.prototxt";
  std::ofstream(path) << "name: 'x'";
  std::filesystem::resize_file(path, uintmax_t{1} << 31);  // sparse, so it takes no disk space
  NetParameter net;
  EXPECT_EQ(Mistake<FileError>([&] { ParseTextFile(path, &net); }),
            "'" + path + "' has 2147483648 bytes, more than the limit of 2147483647");
  std::filesystem::remove(path);
}

TEST(ParseText, NamesUnknownFieldAtItsOwnPlace) {
  EXPECT_THAT(
      NetMistakes("layer {\n  convolution_param {\n    kernal_size: 5\n  }\n}\n"),
      ElementsAre("f:3:5: unknown field 'kernal_size' in ConvolutionParameter; did you mean "
                  "'kernel_size'?"));
}

TEST(ParseText, ReportsAllMistakesInOnePass) {
  EXPECT_THAT(NetMistakes("layer { nam: \"a\" }\n"
                          "layer { pooling_param { pool: MAXX stride: 1.5 pad: -1 } }\n"
                          "layer { type: Pooling top: 5 propagate_down: yes }\n"
                          "layer { loss_weight: \"1\" loss_weight: 0x10 }\n"),
              ElementsAre("f:1:9: unknown field 'nam' in LayerParameter; did you mean 'name'?",
                          "f:2:31: 'MAXX' is not a value of pool (MAX, AVE, STOCHASTIC); did you "
                          "mean 'MAX'?",
                          "f:2:44: stride must be a non-negative integer, got 1.5",
                          "f:2:53: pad must be a non-negative integer, got -1",
                          "f:3:15: type must be a string in quotes, got Pooling",
                          "f:3:28: top must be a string in quotes, got 5",
                          "f:3:46: propagate_down must be true or false, got yes",
                          "f:4:22: loss_weight must be a number, got \"1\"",
                          "f:4:39: loss_weight must be a decimal number, got 0x10"));
}

TEST(ParseText, SaysOnceThatAFileIsNoText) {
  const std::string binary("\x0a\x03net\x92\x03\x00\x01 layer {", 17);
  EXPECT_THAT(NetMistakes(binary),
              ElementsAre("f: this is not text; a net or solver in text format is needed here; "
                          "pass weights with --weights or --snapshot"));
}

TEST(ParseText, SaysWhatABinaryFileIs) {
  EXPECT_THAT(
      NetMistakes("\n\x03net\xa2\x06\x04"),
      ElementsAre("f: a net or solver in text format is needed here, but it is a binary net or "
                  "its weights (.caffemodel); pass weights with --weights"));
}

TEST(ParseText, NamesALetterThatIsNoAsciiOnce) {
  const std::string ascii =
      "a character that is not plain ASCII (a typographic quote?); only strings and comments may "
      "contain it";
  EXPECT_THAT(NetMistakes("name: \xe2\x80\x9cnet\xe2\x80\x9d force_backward: true"),
              ElementsAre("f:1:7: " + ascii, "f:1:10: name must be a string in quotes, got net",
                          "f:1:13: " + ascii));
}

TEST(ParseText, FindsTextThatIsNoTokenWhereItIs) {
  const std::string text = "name: 'a'\x01 force_backward: \x01 true \x01";
  EXPECT_THAT(NetMistakes(text),
              ElementsAre("f:1:7: invalid control characters encountered in text",
                          "f:1:28: invalid control characters encountered in text",
                          "f:1:35: invalid control characters encountered in text"));
}

TEST(ParseText, GivesUpAfterAThousandCharactersThatAreNoText) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "a \x01 ";
  EXPECT_EQ(NetMistakes(text).size(), 1001u);
}

// Returns this process's peak memory in kB.
int64_t PeakKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmPeak:", 0) == 0) return std::stoll(line.substr(7));
  }
  return 0;
}

TEST(ParseText, TakesLittleMemoryForManyTokens) {
  const std::string text(3'000'000, ',');
  const int64_t before = PeakKilobytes();
  EXPECT_THAT(NetMistakes(text),
              ElementsAre("f:1:1: expected a field name of NetParameter, got ','"));
  EXPECT_LT(PeakKilobytes() - before, 50 << 10);
}

TEST(ParseText, ChecksTheRangeOfIntegers) {
  EXPECT_THAT(Mistakes<SolverParameter>("max_iter: 2147483648 random_seed: -9223372036854775808"),
              ElementsAre("f:1:11: max_iter must be at most 2147483647, got 2147483648"));
  EXPECT_THAT(Mistakes<SolverParameter>("display: -2147483649"),
              ElementsAre("f:1:10: display must be at least -2147483648, got -2147483649"));
}

TEST(ParseText, RefusesASingularFieldGivenTwice) {
  EXPECT_THAT(Mistakes<SolverParameter>("base_lr: 1\nbase_lr: 2\n"),
              ElementsAre("f:2:1: 'base_lr' is given twice; the first is at line 1"));
  EXPECT_THAT(NetMistakes("layer { pooling_param { pad: 1 }\n pooling_param { stride: 2 } }"),
              ElementsAre("f:2:2: 'pooling_param' is given twice; the first is at line 1"));
}

TEST(ParseText, FindsWhereABraceIsMissing) {
  EXPECT_THAT(
      NetMistakes("layer {\n  name: \"a\"\n  pooling_param {\n    pad: 1\n}\n"
                  "layer { nam: \"b\" }\n"),
      ElementsAre("f:6:1: missing '}' before 'layer', which is a field of NetParameter, not "
                  "of LayerParameter",
                  "f:6:9: unknown field 'nam' in LayerParameter; did you mean 'name'?"));
  EXPECT_THAT(NetMistakes("name: \"n\"\nlayer {\n  name: \"a\"\n"),
              ElementsAre("f:2:7: this '{' is never closed"));
}

TEST(ParseText, FindsABraceTooMany) {
  EXPECT_THAT(NetMistakes("layer {\n}\n}\n"),
              ElementsAre("f:3:1: this '}' closes nothing; remove it"));
  EXPECT_THAT(NetMistakes("layer {\n name: \"a\" }\n top: \"t\"\n}\n"),
              ElementsAre("f:3:2: unknown field 'top' in NetParameter; LayerParameter, closed at "
                          "line 2, has one",
                          "f:4:1: this '}' closes nothing; remove it"));
  EXPECT_THAT(NetMistakes("layer < name: \"a\" }"),
              ElementsAre("f:1:19: expected '>' to close the '<' of line 1, got '}'"));
}

TEST(ParseText, SaysWhichMessageAroundHasTheField) {
  EXPECT_THAT(NetMistakes("layer { convolution_param { bottom: \"a\" } }"),
              ElementsAre("f:1:29: unknown field 'bottom' in ConvolutionParameter; LayerParameter "
                          "around it has one"));
}

TEST(ParseText, FindsMissingColonsAndValues) {
  EXPECT_THAT(NetMistakes("layer { name \"a\"\n pooling_param { pad:\n stride: 2 kernel_size } }"),
              ElementsAre("f:1:14: missing ':' between 'name' and its value",
                          "f:2:18: 'pad' has no value", "f:3:12: 'kernel_size' has no value"));
}

TEST(ParseText, DistinguishesMessagesFromValues) {
  EXPECT_THAT(NetMistakes("layer { pooling_param: 3 top { } name: [\"a\"] include: [{} {}] }"),
              ElementsAre("f:1:24: 'pooling_param' is a message: expected '{', got '3'",
                          "f:1:30: top must be a string in quotes, got a message",
                          "f:1:40: name must be a string in quotes, got a list",
                          "f:1:59: expected ',' or ']' in the list of line 1, got '{'"));
}

TEST(ParseText, KnowsTheNamesOfForks) {
  EXPECT_THAT(NetMistakes("layer {\n  lstm_param { }\n}"),
              ElementsAre("f:2:3: unknown field 'lstm_param' in LayerParameter: it comes from "
                          "caffe-lstm (junhyukoh); use the layer LSTM with recurrent_param"));
  EXPECT_THAT(NetMistakes("layers { type: MULTI_STAGE_MEANFIELD }"),
              ElementsAre(testing::EndsWith(": it comes from CRF-RNN's Caffe")));
  // A layer of C3D's DeepConv3DNet_Sport1M_Val.
  EXPECT_THAT(
      NetMistakes("layers { name: 'conv1a' type: CONVOLUTION3D bottom: 'data' top: 'conv1a'\n"
                  "  convolution_param { num_output: 64 kernel_size: 3 kernel_depth: 3 pad: 1\n"
                  "    temporal_pad: 1 } }"),
      ElementsAre(testing::EndsWith(": it comes from C3D's Caffe (facebook); Convolution with "
                                    "kernel_size given three times convolves three axes"),
                  testing::EndsWith("; give kernel_size three times, the depth first"),
                  testing::EndsWith("; give pad three times, the depth first")));
  // A value and a field of Ristretto's quantization_param, which Intel Caffe has as well.
  EXPECT_THAT(
      NetMistakes("layer { quantization_param { precision: MINIFLOAT\n mant_bits: 10 } }"),
      ElementsAre("f:1:41: 'MINIFLOAT' is not a value of precision (DYNAMIC_FIXED_POINT): it comes "
                  "from Ristretto (pmgysel); remove quantization_param to train without "
                  "quantization",
                  testing::EndsWith("; remove quantization_param to train without quantization")));
}

TEST(ParseText, KnowsWhereAV1NameBelongs) {
  EXPECT_THAT(
      NetMistakes("layer { type: 'ReLU' blobs_lr: 1 }"),
      ElementsAre(
          "f:1:22: unknown field 'blobs_lr' in LayerParameter: it comes from the V1 format, "
          "layers { }; in layer { } it is param { lr_mult: ... }"));
}

TEST(ParseText, KnowsATypeOfTheOtherFormat) {
  EXPECT_THAT(NetMistakes("layers { type: \"InnerProduct\" }"),
              ElementsAre("f:1:16: type must be a name, got \"InnerProduct\": this is a type of "
                          "layer { }; write layer instead of layers here"));
  EXPECT_THAT(NetMistakes("layers { type: \"INNER_PRODUCT\" }"),
              ElementsAre(testing::EndsWith("got \"INNER_PRODUCT\": write it without quotes")));
  EXPECT_THAT(
      NetMistakes("layers { type: InnerProduct }"),
      ElementsAre(testing::EndsWith("...): this is a type of layer { }; write layer instead "
                                    "of layers here, and the type in quotes")));
  EXPECT_THAT(NetMistakes("layers { type: INER_PRODUCT }"),
              ElementsAre(testing::EndsWith("; did you mean 'INNER_PRODUCT'?")));
  EXPECT_THAT(
      NetMistakes("layer { type: SOFTMAX_LOSS }"),
      ElementsAre("f:1:15: type must be a string in quotes, got SOFTMAX_LOSS: this is a type "
                  "of layers { }; write type: \"SoftmaxWithLoss\" here"));
}

TEST(ParseText, KnowsAParamOfTheOtherFormat) {
  EXPECT_THAT(NetMistakes("layers { type: INNER_PRODUCT param { lr_mult: 1 } }"),
              ElementsAre("f:1:36: param must be a string in quotes, got a message: layers { } has "
                          "blobs_lr and weight_decay instead; write layer instead of layers here, "
                          "and its type in quotes"));
  EXPECT_THAT(NetMistakes("layer { type: 'InnerProduct' param: 'w' }"),
              ElementsAre(testing::EndsWith(": a name of a parameter is param { name: \"...\" } in "
                                            "layer { }")));
}

TEST(ParseText, ReportsAnOpenStringWhereItBegins) {
  EXPECT_THAT(NetMistakes("name: \"n\nlayer { }"),
              ElementsAre("f:1:7: the string is not closed on its line"));
  EXPECT_THAT(NetMistakes("name: \xE2\x80\x9Cn\xE2\x80\x9D")[0],
              testing::HasSubstr("f:1:7: a character that is not plain ASCII"));
}

TEST(ParseText, TakesEverySpellingOfTextFormat) {
  NetParameter net;
  ParseText(
      "\xEF\xBB\xBFname: 'a' \"b\"; # comment\n"
      "layer < name: 'l', top: ['t', \"u\"] loss_weight: [1.5f, -inf, 1e1]\n"
      "  include: [{ phase: TEST min_level: -0x1 }, { phase: 0 }]\n"
      "  param: { lr_mult: nan } param [{}] propagate_down: t propagate_down: 0\n"
      "  power_param { scale: - 2 } exclude [] >\n"
      "force_backward: False input_dim: 010",
      "f", &net);
  EXPECT_EQ(net.name(), "ab");
  EXPECT_EQ(net.input_dim(0), 8);
  ASSERT_EQ(net.layer_size(), 1);
  EXPECT_EQ(net.layer(0).top_size(), 2);
  EXPECT_EQ(net.layer(0).loss_weight(2), 10);
  EXPECT_EQ(net.layer(0).include(0).min_level(), -1);
  EXPECT_EQ(net.layer(0).include(1).phase(), TRAIN);
  EXPECT_EQ(net.layer(0).param_size(), 2);
  EXPECT_EQ(net.layer(0).power_param().scale(), -2);
}

TEST(FieldPlaces, FindsFieldsTheirRepetitionsAndWhatIsAround) {
  NetParameter net;
  const FieldPlaces places = ParseText(
      "name: \"n\"\n"
      "layer { name: \"a\" }\n"
      "layer {\n  bottom: \"x\"\n  bottom: \"y\"\n  convolution_param {\n    kernel_size: [3,\n "
      "4]\n"
      "  }\n  param { }\n  param { lr_mult: 1 }\n}\n",
      "f", &net);
  EXPECT_EQ(places.At().ToString(), "f");
  EXPECT_EQ(places.At("name").ToString(), "f:1:1");
  EXPECT_EQ(places.At("layer", 1).ToString(), "f:3:1");
  const FieldPlaces layer = places.Nested(net, "layer", 1);
  EXPECT_EQ(layer.At().ToString(), "f:3:1");
  EXPECT_EQ(layer.At("bottom", 1).ToString(), "f:5:3");
  EXPECT_EQ(layer.At("convolution_param.kernel_size", 1).ToString(), "f:7:5");
  EXPECT_EQ(layer.At("convolution_param.stride").ToString(), "f:6:3");
  EXPECT_EQ(layer.At("pooling_param.stride").ToString(), "f:3:1");
  EXPECT_EQ(layer.At("param[1].lr_mult").ToString(), "f:11:11");
  EXPECT_EQ(layer.Nested(net.layer(1), "pooling_param").At("pad").ToString(), "f:3:1");
  EXPECT_EQ(FieldPlaces(SourceLoc{"g", 4, 2}).At("name").ToString(), "g:4:2");
}

TEST(ParseTextFile, NamesAFileItCannotRead) {
  NetParameter net;
  EXPECT_THROW(ParseTextFile("no/such/net.prototxt", &net), FileError);
}

// Protobuf's own parser decides which texts are well formed.
TEST(CheckText, AgreesWithProtobufOnRealFiles) {
  const char* shared = std::getenv("DOPPIO_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "DOPPIO_SHARED is not set";
  const std::filesystem::path cases = std::filesystem::path(shared) / "conformance" / "cases";
  if (!std::filesystem::exists(cases)) GTEST_SKIP() << "no " << cases;
  auto* log_before = google::protobuf::SetLogHandler(nullptr);  // its errors are expected
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cases)) {
    if (entry.path().extension() != ".prototxt") continue;
    const std::string text = ReadFile(entry.path().string());
    NetParameter net;
    SolverParameter solver;
    google::protobuf::Message* message = &net;
    if (entry.path().filename().string().find("solver") != std::string::npos) message = &solver;
    google::protobuf::TextFormat::Parser parser;
    const bool parses = parser.ParseFromString(text, message);
    ErrorCollector mistakes;
    CheckText(text, entry.path().string(), *message->GetDescriptor(), &mistakes);
    EXPECT_EQ(mistakes.empty(), parses) << entry.path();
    ++files;
  }
  google::protobuf::SetLogHandler(log_before);
  EXPECT_GT(files, 600);
}

}  // namespace
}  // namespace doppio
