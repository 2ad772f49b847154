#include "core/base/content/parsed_json.h"

#include <gtest/gtest.h>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using nlohmann::json;

std::string JsonMistake(const std::string& text) {
  return Mistake<FileError>([&] { ParseJson(text, "a.json", "skip"); });
}

TEST(ParseJson, ParsesEveryKindOfValue) {
  const std::string text =
      R"({"a": [null, true, -1, 18446744073709551615, 1.5, "x", {}, []], "b": {"c": {"d": [[1]]}}})";
  EXPECT_EQ(ParseJson(text, "a.json"), json::parse(text));
  EXPECT_EQ(ParseJson(" 7 ", "a.json"), json(7));
  EXPECT_EQ(ParseJson(R"({"a": {"x": 1}, "a": 2})", "a.json"), (json{{"a", 2}}));
}

TEST(ParseJson, LeavesOutAMember) {
  EXPECT_EQ(ParseJson(R"([{"a": 1, "skip": [{"skip": 1, "b": [2]}, []], "c": "skip"},
                          {"skip": null, "d": {"skip": 4, "e": [5]}}, 6])",
                      "a.json", "skip"),
            json::parse(R"([{"a": 1, "c": "skip"}, {"d": {"e": [5]}}, 6])"));
}

TEST(ParseJson, ExplainsMistakesWithTheirPlace) {
  EXPECT_EQ(JsonMistake("{\n  \"x\": ]"), "a.json:2:8: the JSON is damaged here");
  EXPECT_EQ(JsonMistake("[1] 2"), "a.json:1:5: the JSON is damaged here");
  EXPECT_EQ(JsonMistake("[1e999]"), "a.json:1:6: the number that ends here is too large");
  EXPECT_EQ(JsonMistake("[\"\xff\"]"), "a.json:1:3: the JSON is damaged here");
}

TEST(ParseJson, LimitsTheNesting) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseJson(nested(100), "a.json").is_array());
  const std::string mistake = "a.json: its values are nested more than 100 deep";
  EXPECT_EQ(JsonMistake(nested(101)), mistake);
  EXPECT_EQ(JsonMistake("{\"skip\": " + nested(100) + "}"), mistake);
  EXPECT_EQ(JsonMistake(std::string(10'000'000, '[')), mistake);
}

TEST(ParsedJson, IsDiscardedForDamagedText) {
  EXPECT_EQ(ParsedJson("[1]"), json({1}));
  for (const char* text : {"", "[", "1e999", "{'a': 1}"})
    EXPECT_TRUE(ParsedJson(text).is_discarded()) << text;
}

}  // namespace
}  // namespace doppio
