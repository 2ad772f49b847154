#include "core/base/error.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/base/registry.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

TEST(Error, StartsWithThePlaceThatIsKnown) {
  EXPECT_STREQ(UserError({"net.prototxt", 31, 11}, "no such blob").what(),
               "net.prototxt:31:11: no such blob");
  EXPECT_STREQ(UserError({"net.prototxt", 31, 0}, "x").what(), "net.prototxt:31: x");
  EXPECT_STREQ(UserError({"net.prototxt", 0, 0}, "x").what(), "net.prototxt: x");
  EXPECT_STREQ(UserError(SourceLoc(), "x").what(), "x");
}

TEST(Error, TakesTheMessageInParts) {
  EXPECT_STREQ(FileError({"a", 1, 0}, "row ", 3, " of ", std::string("b")).what(),
               "a:1: row 3 of b");
  EXPECT_STREQ(FileError("row ", 3).what(), "row 3");
  EXPECT_STREQ(UsageError("--batch=", -1).what(), "--batch=-1");
}

TEST(Error, RefuseIfThrowsOnlyForAMistake) {
  EXPECT_NO_THROW(RefuseIf(false, "no"));
  EXPECT_THROW(RefuseIf(true, "size is ", 0), UserError);
}

TEST(Error, CarriesTheExitCodeOfItsKind) {
  EXPECT_EQ(UserError(SourceLoc(), "").code(), ExitCode::kConfig);
  EXPECT_EQ(FileError("").code(), ExitCode::kFile);
  EXPECT_EQ(UsageError("").code(), ExitCode::kUsage);
  EXPECT_EQ(DeviceError("").code(), ExitCode::kDevice);
  EXPECT_EQ(MemoryError("").code(), ExitCode::kMemory);
}

TEST(Error, GainsContextAndKeepsCodeAndPlace) {
  const FileError inner("cannot read 'x'");
  const SourceLoc at = {"net.prototxt", 4, 3};
  const Error outer = Thrown([&] { RethrowWithContext(inner, at, "layer 'data'"); });
  EXPECT_STREQ(outer.what(), "net.prototxt:4:3: layer 'data': cannot read 'x'");
  EXPECT_EQ(outer.code(), ExitCode::kFile);
  const UserError placed({"list.txt", 7, 0}, "no label");
  EXPECT_EQ(Thrown([&] { RethrowWithContext(placed, at, "layer 'data'"); }).at().file, "list.txt");
}

TEST(ErrorCollector, ThrowsAllMistakesInTheOrderOfTheFile) {
  ErrorCollector errors;
  EXPECT_NO_THROW(errors.ThrowIfAny());
  errors.Add({"a", 9, 1}, "later");
  EXPECT_FALSE(errors.Try([] { throw UserError({"a", 2, 5}, "sooner"); }));
  EXPECT_TRUE(errors.Try([] {}));
  const Error e = Thrown<ErrorList>([&] { errors.ThrowIfAny(); });
  EXPECT_STREQ(e.what(), "a:2:5: sooner\na:9:1: later");
  EXPECT_EQ(e.code(), ExitCode::kConfig);
}

TEST(Mistake, FailsATestInWhichNothingIsThrown) {
  EXPECT_NONFATAL_FAILURE(Mistake([] {}), "nothing was thrown");
  EXPECT_EQ(Mistake<FileError>([] { throw FileError("absent"); }), "absent");
  EXPECT_THROW(Mistake<UsageError>([] { throw FileError("absent"); }), FileError);
  EXPECT_EQ(MistakeIfAny([] {}), "");
}

TEST(AsError, DistinguishesMissingMemoryFromDefects) {
  EXPECT_EQ(AsError(std::bad_alloc()).code(), ExitCode::kMemory);
  EXPECT_STREQ(AsError(std::bad_alloc()).what(),
               "the host is out of memory; use a smaller --batch");
  EXPECT_EQ(AsError(std::length_error("vector")).code(), ExitCode::kBug);
  EXPECT_STREQ(AsError(std::length_error("vector")).what(), "internal error: vector");
  const ErrorList list({UserError({"a", 1, 2}, "one"), UserError({"a", 3, 4}, "two")});
  EXPECT_EQ(AsError(list).code(), ExitCode::kConfig);
  EXPECT_STREQ(AsError(list).what(), "a:1:2: one\na:3:4: two");
}

TEST(AsError, NamesTheLimitOnThreads) {
  const Error error = AsError(std::system_error(EAGAIN, std::generic_category()));
  EXPECT_EQ(error.code(), ExitCode::kMemory);
  EXPECT_EQ(error.message().find("cannot start a thread: a limit on processes and threads"), 0u);
  EXPECT_NE(error.message().find("lower --threads and --data_threads"), std::string::npos);
  EXPECT_EQ(AsError(std::system_error(EPERM, std::generic_category())).code(), ExitCode::kBug);
  EXPECT_STREQ(CannotStart("'ssh'", ENOENT).what(),
               "cannot start 'ssh': No such file or directory");
}

TEST(AsError, NamesThePathThatCannotBeUsed) {
  const auto code = std::make_error_code(std::errc::too_many_symbolic_link_levels);
  const Error error = AsError(std::filesystem::filesystem_error("status", "set/loop", code));
  EXPECT_EQ(error.code(), ExitCode::kFile);
  EXPECT_EQ(error.message(), "cannot use 'set/loop': " + code.message());
  EXPECT_EQ(AsError(std::filesystem::filesystem_error("cannot get current path", code)).code(),
            ExitCode::kFile);
}

TEST(Error, LeavesOutTheMiddleOfALongMessage) {
  const std::string name(1'000'000, 'a');
  const FileError error("no layer '" + name + "' in the net");
  EXPECT_LT(error.message().size(), 30'000u);
  EXPECT_EQ(error.message().substr(0, 12), "no layer 'aa");
  EXPECT_EQ(error.message().substr(error.message().size() - 12), "' in the net");
  EXPECT_EQ(error.message(), error.what());
}

TEST(ErrorCollector, KeepsAThousandMistakes) {
  ErrorCollector mistakes;
  for (int i = 0; i < 5000; ++i) mistakes.Add({"f", i + 1, 0}, "wrong");
  ASSERT_EQ(mistakes.errors().size(), 1001u);
  EXPECT_STREQ(mistakes.errors().back().what(),
               "f:1000: the rest of the file is not checked: there are 1000 mistakes");
}

TEST(Check, NamesFileLineAndCondition) {
  const Error e = Thrown([] { DOPPIO_CHECK(1 + 1 == 3, "arithmetic"); });
  const std::string text = e.what();
  EXPECT_EQ(text.find("internal error: error_test.cc:"), 0u) << text;
  EXPECT_NE(text.find("arithmetic (1 + 1 == 3)"), std::string::npos) << text;
  EXPECT_EQ(e.code(), ExitCode::kBug);
}

TEST(Registry, FindsNamesAndRefusesASecondOfTheSame) {
  Registry<int>& registry = Registry<int>::Get();
  registry.Add("b", 2);
  registry.Add("a", 1);
  EXPECT_EQ(*registry.Find("a"), 1);
  EXPECT_EQ(registry.Find("c"), nullptr);
  EXPECT_EQ(registry.Names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_THROW(registry.Add("a", 3), Error);
}

TEST(RethrowWithContext, NamesAPathOnce) {
  const auto said = [](const std::string& context, const std::string& message) {
    return Mistake<Error>([&] { RethrowWithContext(FileError(message), {}, context); });
  };
  EXPECT_EQ(said("image 'a b.png' (list.txt:3)", "cannot read 'a b.png': No such file"),
            "image 'a b.png' (list.txt:3): cannot read it: No such file");
  EXPECT_EQ(said("image '\x1b.png'", "cannot read '\x1b.png': No such file"),
            "image '\\x1b.png': cannot read it: No such file");
  EXPECT_EQ(said("layer 'data'", "cannot read 'a.png': No such file"),
            "layer 'data': cannot read 'a.png': No such file");
  EXPECT_EQ(said("image 'a'", "corrupt PNG image"), "image 'a': corrupt PNG image");
  EXPECT_EQ(said("image 'a'", "cannot read 'a'"), "image 'a': cannot read 'a'");
}

}  // namespace
}  // namespace doppio
