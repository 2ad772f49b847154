// Tests new databases by reading them with the sources of layer Data.
#include "data/source/database_writer.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/file.h"
#include "data/source/open_source.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DatabaseWriterTest : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Source> Open() {
    return OpenSource(
        Parse<DataParameter>(std::string("backend: ") + GetParam() + " source: '" + Path() + "'"),
        TRAIN);
  }
  // Returns a path that is unique to the test and its parameter; ScratchPath ignores parameters.
  std::string Path() const {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = test->name();
    std::replace(name.begin(), name.end(), '/', '_');
    return testing::TempDir() + "/writer_" + std::to_string(getpid()) + "_" + name;
  }
  // Returns all paths that begin with the database's path.
  std::vector<std::string> Names() const { return Glob(Path() + "*"); }
};

TEST_P(DatabaseWriterTest, WritesRecordsThatSourcesReadInTheOrderOfTheirKeys) {
  DatabaseWriter writer(GetParam(), Path());
  writer.Put("00001_b", RawDatum(1, 1, 2, {3, 4}, 9));
  writer.Put("00000_a", RawDatum(1, 1, 2, {5, 6}, 7));
  writer.Finish();
  const auto source = Open();
  ASSERT_EQ(source->size(), 2);
  Record record;
  source->Read(0, &record);
  EXPECT_EQ(record.labels, std::vector<float>{7});
  EXPECT_EQ(record.pixels.bytes[1], 6);
  EXPECT_EQ(source->Name(1), "record '00001_b' of '" + Path() + "'");
}

TEST_P(DatabaseWriterTest, HasItsNameOnlyWhenItIsWhole) {
  DatabaseWriter writer(GetParam(), Path() + "/");
  writer.Put("a", RawDatum(1, 1, 1, {1}, 0));
  EXPECT_FALSE(FileExists(Path()));
  EXPECT_EQ(Names().size(), 1u);
  writer.Finish();
  EXPECT_THAT(Names(), ElementsAre(Path()));
}

TEST_P(DatabaseWriterTest, LeavesNothingWhenItIsGivenUp) {
  {
    DatabaseWriter writer(GetParam(), Path());
    writer.Put("a", RawDatum(1, 1, 1, {1}, 0));
  }
  EXPECT_TRUE(Names().empty());
}

TEST_P(DatabaseWriterTest, LeavesNothingWhenItIsCompleteButNotFinished) {
  {
    DatabaseWriter writer(GetParam(), Path());
    writer.Put("a", RawDatum(1, 1, 1, {1}, 0));
    writer.Complete();
    EXPECT_EQ(Names().size(), 1u);
  }
  EXPECT_TRUE(Names().empty());
}

TEST_P(DatabaseWriterTest, StatesThatAFileMayNotGrow) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::string message;
  for (const rlim_t bytes : {4096, 100'000}) {
    const rlimit limit{bytes, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    message = MessageOf([&] {
      DatabaseWriter writer(GetParam(), Path());
      writer.Put("a", std::string(1 << 20, 'a'));
      writer.Finish();
    });
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(message, HasSubstr(": File too large")) << bytes;
    EXPECT_TRUE(Names().empty());
  }
}

TEST_P(DatabaseWriterTest, RefusesWhatExists) {
  WriteFile(Path(), "mine");
  EXPECT_EQ(MessageOf([&] { DatabaseWriter(GetParam(), Path()); }),
            "4: '" + Path() + "' already exists; remove it, or choose another name");
  EXPECT_EQ(ReadFile(Path()), "mine");
}

TEST_P(DatabaseWriterTest, SaysThatTheFolderIsMissing) {
  const std::string path = Path() + "/nowhere/db";
  EXPECT_EQ(MessageOf([&] { DatabaseWriter(GetParam(), path); }),
            "4: cannot write '" + path + "': there is no folder '" + Path() +
                "/nowhere/'; create it (mkdir -p)");
}

// The writer writes a thousand records at once.
TEST_P(DatabaseWriterTest, GoesOnBehindWhatWasWrittenBefore) {
  constexpr int kWritten = 1000, kGivenUp = 5, kRecords = 1200;
  const auto put = [](int i, DatabaseWriter* writer) {
    writer->Put(std::to_string(10000 + i), RawDatum(1, 1, 1, {i % 256}, i));
  };
  {
    DatabaseWriter writer(GetParam(), Path(), "red");
    EXPECT_EQ(writer.found().records, 0);
    for (int i = 0; i < kWritten + kGivenUp; ++i) put(i, &writer);
    EXPECT_EQ(writer.kept(), kWritten);
    EXPECT_THAT(MessageOf([&] { DatabaseWriter(GetParam(), Path(), "red"); }),
                HasSubstr("is being written by another process"));
  }
  EXPECT_FALSE(FileExists(Path()));
  EXPECT_THAT(
      MessageOf([&] { DatabaseWriter(GetParam(), Path(), "blue"); }),
      HasSubstr("4: '" + Path() + ".tmp' holds a database that was started from other images"));
  DatabaseWriter writer(GetParam(), Path(), "red");
  EXPECT_EQ(writer.found().records, kWritten);
  EXPECT_EQ(writer.found().last_key, "10999");
  WriteFile(writer.folder() + "/labels.txt", "cat\n");
  for (int i = kWritten; i < kRecords; ++i) put(i, &writer);
  writer.Finish();
  EXPECT_THAT(Names(), ElementsAre(Path()));
  EXPECT_EQ(ReadFile(Path() + "/labels.txt"), "cat\n");
  const auto source = Open();
  ASSERT_EQ(source->size(), kRecords);
  Record record;
  for (int i = 0; i < kRecords; ++i) {
    source->Read(i, &record);
    ASSERT_EQ(record.labels, std::vector<float>{static_cast<float>(i)});
  }
}

TEST_P(DatabaseWriterTest, LeavesNothingWhenItIsGivenUpBeforeTheFirstWrite) {
  {
    DatabaseWriter writer(GetParam(), Path(), "red");
    writer.Put("a", RawDatum(1, 1, 1, {1}, 0));
  }
  EXPECT_TRUE(Names().empty());
  DatabaseWriter(GetParam(), Path(), "blue");
}

// The data exceeds the initial size of each format, and the size of one write.
TEST_P(DatabaseWriterTest, GrowsAsItIsFilled) {
  constexpr int kRecords = 2500;
  DatabaseWriter writer(GetParam(), Path());
  const std::vector<int> pixels(16 << 10, 7);
  for (int i = 0; i < kRecords; ++i) {
    writer.Put(std::to_string(10000 + i), RawDatum(1, 128, 128, pixels, i));
  }
  writer.Finish();
  const auto source = Open();
  ASSERT_EQ(source->size(), kRecords);
  Record record;
  for (const int i : {0, 999, 1000, kRecords - 1}) {
    source->Read(i, &record);
    EXPECT_EQ(record.labels, std::vector<float>{static_cast<float>(i)});
    EXPECT_EQ(record.pixels.shape, (ImageShape{1, 128, 128}));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, DatabaseWriterTest, testing::Values("LMDB", "LEVELDB"),
                         [](const auto& info) { return std::string(info.param); });

// liblmdb itself would end the program with SIGBUS.
TEST(LmdbWriter, RefusesToGoOnInAFileThatIsCutOff) {
  const std::string path = ScratchPath("cut"), file = path + ".tmp/database/data.mdb";
  {
    DatabaseWriter writer("LMDB", path, "red");
    for (int i = 0; i < 2000; ++i) writer.Put(std::to_string(10000 + i), std::string(5000, 'x'));
  }
  for (const int64_t bytes : {FileBytes(file) / 2, int64_t{8192}}) {
    ASSERT_EQ(truncate(file.c_str(), bytes), 0);
    EXPECT_EQ(MessageOf([&] { DatabaseWriter("LMDB", path, "red"); }),
              "4: cannot write LMDB database '" + path +
                  ".tmp/database': it ends too early; it may have been cut off while it was "
                  "copied; remove it to start again");
  }
}

TEST(LmdbWriter, SaysThatAKeyIsTooLong) {
  const std::string path = ScratchPath("db");
  DatabaseWriter writer("LMDB", path);
  writer.Put(std::string(512, 'k'), "value");
  EXPECT_EQ(MessageOf([&] { writer.Finish(); }),
            "4: key '" + std::string(512, 'k') + "' is longer than the 511 bytes that LMDB allows");
}

}  // namespace
}  // namespace doppio
