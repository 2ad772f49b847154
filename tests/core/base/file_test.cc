#include "core/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

class FileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) { return testing::TempDir() + "/file_test_" + name; }
};

TEST_F(FileTest, WritesWholeFilesAndReadsThemBack) {
  const std::string path = Path("whole");
  const std::string content("a\0b\n", 4);
  WriteFileAtomically(path, content);
  EXPECT_EQ(ReadFile(path), content);
  EXPECT_EQ(FileBytes(path), 4);
  WriteFileAtomically(path, "");
  EXPECT_EQ(ReadFile(path), "");
}

TEST_F(FileTest, AFailedWriterLeavesTheOldFileAndNoTemporary) {
  const std::string path = Path("kept");
  WriteFileAtomically(path, "old");
  EXPECT_THROW(WriteFileAtomically(path,
                                   [](const std::string& temporary) {
                                     WriteFileAtomically(temporary, "half");
                                     throw FileError("disk full");
                                   }),
               FileError);
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_EQ(Glob(path + ".*").size(), 0u);
}

TEST_F(FileTest, SaysWhichFileAndWhy) {
  const std::string absent = Mistake<FileError>([&] { ReadFile(Path("absent")); });
  EXPECT_NE(absent.find("absent': No such file or directory"), std::string::npos) << absent;
  const std::string folder = Mistake<FileError>([] { ReadFile(testing::TempDir()); });
  EXPECT_NE(folder.find("Is a directory"), std::string::npos) << folder;
  EXPECT_EQ(Mistake<FileError>([&] { WriteFileAtomically(Path("no") + "/such/file", "x"); }),
            "cannot write '" + Path("no") + "/such/file': there is no folder '" + Path("no") +
                "/such/'; create it (mkdir -p)");
}

// A fifo whose writer thread writes "once" for as many readers as open it meanwhile.
class PipeTest : public FileTest {
 protected:
  void SetUp() override {
    unlink(path_.c_str());
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    writer_ = std::thread([this] {
      const int fd = open(path_.c_str(), O_WRONLY);
      EXPECT_EQ(write(fd, "once", 4), 4);
      close(fd);
    });
  }
  void TearDown() override { writer_.join(); }

  // The path differs between tests, because the content of a pipe is cached by path.
  const std::string path_ =
      Path(std::string("pipe_") + testing::UnitTest::GetInstance()->current_test_info()->name());
  std::thread writer_;
};

TEST_F(PipeTest, IsReadOnceAndGivesItsContentAgain) {
  EXPECT_EQ(ReadFile(path_), "once");
  EXPECT_EQ(ReadFile(path_), "once");
}

TEST_F(PipeTest, LosesNothingWhenItsHeadIsRead) {
  EXPECT_EQ(ReadHead(path_, 2), "on");
  EXPECT_EQ(ReadFile(path_), "once");
}

TEST_F(PipeTest, GivesItsContentToAllThreads) {
  std::string other;
  std::thread reader([&] { other = ReadFile(path_); });
  EXPECT_EQ(ReadFile(path_), "once");
  reader.join();
  EXPECT_EQ(other, "once");
}

TEST_F(PipeTest, IsRefusedByReadersThatSeek) {
  EXPECT_TRUE(IsPipe(path_));
  EXPECT_EQ(
      Mistake<FileError>([&] { RefusePipe(path_, "an HDF5 file"); }),
      "'" + path_ +
          "' is a pipe, and an HDF5 file cannot be read from a pipe; write it to a file first");
  EXPECT_EQ(ReadFile(path_), "once");  // unblocks the writer
}

TEST_F(PipeTest, IsRefusedInAFolderOrList) {
  EXPECT_EQ(Mistake<FileError>([&] { ReadListedFile(path_); }),
            "'" + path_ +
                "' is a pipe, and a file of a folder or list cannot be read from a pipe; "
                "write it to a file first");
  EXPECT_EQ(ReadFile(path_), "once");  // unblocks the writer
}

TEST_F(PipeTest, IsReadUpToTheLimit) {
  EXPECT_EQ(Mistake<FileError>([&] { ReadFile(path_, 3); }),
            "'" + path_ + "' has 4 bytes, more than the limit of 3");
}

TEST_F(FileTest, RefusesDevicesWithoutAnEnd) {
  const std::string link = Path("zero");
  unlink(link.c_str());
  ASSERT_EQ(symlink("/dev/zero", link.c_str()), 0);
  const std::string refusal = "cannot read '" + link + "': it is a device; a file is needed here";
  EXPECT_EQ(Mistake<FileError>([&] { ReadFile(link); }), refusal);
  EXPECT_EQ(Mistake<FileError>([&] { ReadListedFile(link); }), refusal);
  EXPECT_EQ(Mistake<FileError>([&] { ReadHead(link, 4); }), refusal);
  EXPECT_EQ(Mistake<FileError>([&] { SumOf(link); }), refusal);
  EXPECT_EQ(Mistake<FileError>([&] { RefusePipe(link, "a database"); }), refusal);
  EXPECT_EQ(ReadFile("/dev/null"), "");
}

TEST_F(FileTest, RefusesALargeFileBeforeItTakesMemory) {
  WriteFileAtomically(Path("large"), "x");
  ASSERT_EQ(truncate(Path("large").c_str(), int64_t{1} << 40), 0);  // sparse: takes no space
  EXPECT_EQ(Mistake<FileError>([&] { ReadFile(Path("large")); }),
            "'" + Path("large") + "' has 1099511627776 bytes, more than the limit of 2147483647");
}

TEST_F(FileTest, NamesTheFileForWhichMemoryIsMissing) {
  EXPECT_EQ(WithinMemory("f.h5", [] { return 7; }), 7);
  EXPECT_EQ(Mistake<MemoryError>([] { WithinMemory("f.h5", [] { throw std::bad_alloc(); }); }),
            "the host has too little memory for the content of 'f.h5'");
}

TEST_F(FileTest, ReadsTheHeadOfAFile) {
  WriteFileAtomically(Path("head"), "abc");
  EXPECT_EQ(ReadHead(Path("head"), 2), "ab");
  EXPECT_EQ(ReadHead(Path("head"), 5), "abc");
  EXPECT_EQ(ReadHead(Path("absent"), 5), "");
  EXPECT_EQ(ReadHead(testing::TempDir(), 5), "");
  EXPECT_FALSE(IsPipe(Path("head")));
  EXPECT_FALSE(IsPipe(Path("absent")));
}

TEST_F(FileTest, GlobSortsAndKeepsPlainPaths) {
  for (const char* name : {"g_2.bin", "g_1.bin"}) WriteFileAtomically(Path(name), "");
  EXPECT_EQ(Glob(Path("g_*.bin")), (std::vector<std::string>{Path("g_1.bin"), Path("g_2.bin")}));
  EXPECT_EQ(Glob(Path("plain")), std::vector<std::string>{Path("plain")});
  EXPECT_TRUE(Glob(Path("nothing*")).empty());
}

TEST(Names, AreSplitIntoFolderAndSuffix) {
  EXPECT_EQ(DirName("models/lenet/net.prototxt"), "models/lenet/");
  EXPECT_EQ(DirName("net.prototxt"), "");
  EXPECT_TRUE(EndsWith("a.caffemodel.h5", ".h5"));
  EXPECT_FALSE(EndsWith("h5", ".h5"));
}

TEST(Crc32c, GivesTheCheckValueOfItsStandard) {
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(Crc32c("6789", 4, Crc32c("12345", 5)), 0xe3069283u);
}

TEST(FileBytes, KnowsNoPathWithAZero) {
  WriteFileAtomically(testing::TempDir() + "/zero", "x");
  EXPECT_EQ(FileBytes(testing::TempDir() + "/zero"), 1);
  EXPECT_EQ(FileBytes(testing::TempDir() + std::string("/zero\0.txt", 10)), -1);
}

}  // namespace
}  // namespace doppio
