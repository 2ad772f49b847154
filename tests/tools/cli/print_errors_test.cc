// Tests the messages that users see when something is wrong.
#include "tools/cli/print_errors.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace doppio {
namespace {

std::string Failure(const Error& error, bool began = false) {
  std::ostringstream out;
  PrintFailure(error, began, out);
  return out.str();
}

std::string Write(const std::string& name, const std::string& text) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(PrintErrors, ShowsTheSourceLineAndMarksTheWord) {
  const std::string path = Write("a.prototxt", "layer {\n  kernal_size: 5\n}\n");
  EXPECT_EQ(Failure(UserError({path, 2, 3}, "unknown field 'kernal_size'")),
            path +
                ":2:3: error: unknown field 'kernal_size'\n"
                "    2 |   kernal_size: 5\n"
                "      |   ^~~~~~~~~~~\n"
                "1 error in " +
                path + ". Nothing was run.\n");
}

TEST(PrintErrors, MarksTheRightWordBehindATab) {
  // protobuf counts a tab as reaching the next multiple of 8.
  const std::string path = Write("tab.prototxt", "\tpool: MAXX\n");
  EXPECT_EQ(Failure(UserError({path, 1, 15}, "no")), path +
                                                         ":1:15: error: no\n"
                                                         "    1 |         pool: MAXX\n"
                                                         "      |               ^~~~\n"
                                                         "1 error in " +
                                                         path + ". Nothing was run.\n");
}

TEST(PrintErrors, MarksTheRightWordBehindLettersOfSeveralBytes) {
  // "é" has two bytes and takes one column; each Korean syllable has three bytes and takes two
  // columns.
  const std::string path = Write("wide.prototxt", "name: \"é 데이터\" pool: \"최대\"\n");
  EXPECT_EQ(Failure(UserError({path, 1, 28}, "no")),
            path +
                ":1:28: error: no\n"
                "    1 | name: \"é 데이터\" pool: \"최대\"\n"
                "      |                        ^~~~~~\n"
                "1 error in " +
                path + ". Nothing was run.\n");
}

TEST(PrintErrors, ShowsTheFirstHundredMistakes) {
  const auto count_of = [](const std::string& text, const std::string& part) {
    int count = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  // Returns `count` mistakes of different kinds.
  const auto mistakes = [](size_t count) {
    std::vector<Error> errors;
    for (size_t i = 1; i <= count; ++i) errors.push_back(UserError({}, std::string(i, 'n')));
    return errors;
  };
  const std::string all = Failure(ErrorList(mistakes(100)));
  EXPECT_EQ(count_of(all, "error: n"), 100);
  EXPECT_EQ(count_of(all, "not shown"), 0);
  const std::string some = Failure(ErrorList(mistakes(500)));
  EXPECT_EQ(count_of(some, "error: n"), 100);
  EXPECT_NE(some.find("400 more errors are not shown.\n500 errors. Nothing was run.\n"),
            std::string::npos)
      << some;
}

TEST(PrintErrors, ShowsTwentyMistakesOfOneKindInAFile) {
  std::vector<Error> errors;
  for (int i = 0; i < 23; ++i) {
    const std::string name = "cls" + std::to_string(i);
    for (const char* file : {"a", "b"}) {
      if (i < (file[0] == 'a' ? 23 : 20)) {
        errors.push_back(UserError({file}, "unknown field '" + name + "'; did you mean 'x'?"));
      }
    }
  }
  errors.push_back(UserError({"a"}, "no"));
  const std::string text = Failure(ErrorList(errors));
  EXPECT_NE(text.find("a: error: unknown field 'cls19'"), std::string::npos) << text;
  EXPECT_EQ(text.find("unknown field 'cls20'"), std::string::npos) << text;
  EXPECT_NE(text.find("b: error: unknown field 'cls19'"), std::string::npos) << text;
  EXPECT_NE(text.find("a: error: no\n3 more errors of the kind in a are not shown.\n"
                      "44 errors in 2 files."),
            std::string::npos)
      << text;
}

TEST(PrintErrors, DoesNotQuoteALineThatFillsTheScreen) {
  const std::string path = Write("long.prototxt", std::string(5000, 'x') + "\n");
  EXPECT_EQ(Failure(UserError({path, 1, 1}, "no")),
            path + ":1:1: error: no\n1 error in " + path + ". Nothing was run.\n");
}

TEST(PrintErrors, CountsSeveralMistakesAndPutsNotesBehindTheSource) {
  const std::string path = Write("b.prototxt", "one: 1\ntwo: \"x y\"\n");
  const ErrorList list(
      {UserError({path, 1, 1}, "first\n  note: more"), UserError({path, 2, 6}, "second")});
  EXPECT_EQ(Failure(list), path +
                               ":1:1: error: first\n"
                               "    1 | one: 1\n"
                               "      | ^~~\n"
                               "  note: more\n" +
                               path +
                               ":2:6: error: second\n"
                               "    2 | two: \"x y\"\n"
                               "      |      ^~~~~\n"
                               "2 errors in " +
                               path + ". Nothing was run.\n");
}

TEST(PrintErrors, DoesNotTakeAnOptionForAFile) {
  EXPECT_EQ(Failure(UserError({"--set base_lr=x", 0, 0}, "base_lr must be a number, got x")),
            "--set base_lr=x: error: base_lr must be a number, got x\n1 error. Nothing was run.\n");
}

TEST(PrintErrors, SaysNothingWasRunOnlyBeforeTheStart) {
  EXPECT_EQ(Failure(UserError({}, "label 11 is out of range"), true),
            "error: label 11 is out of range\n1 error.\n");
}

TEST(PrintErrors, PrintsOneLineForOtherErrors) {
  EXPECT_EQ(Failure(FileError("cannot read x")), "error: cannot read x\n");
  EXPECT_EQ(Failure(FileError({"list.txt", 7, 0}, "no such image")),
            "list.txt:7: error: no such image\n");
}

TEST(PrintErrors, AsksToReportOurOwnDefects) {
  EXPECT_EQ(Failure(Error(ExitCode::kBug, "internal error: plan.cc:88: x")),
            "error: internal error: plan.cc:88: x\n"
            "This is a defect of Doppio. Please report it with the command line and the files it "
            "names.\n");
}

}  // namespace
}  // namespace doppio
