// Tests the sources of LMDB and LevelDB.
#include <leveldb/db.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>

#include "core/base/file.h"
#include "data/source/open_source.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

DataParameter Parameter(const std::string& backend, const std::string& path) {
  return Parse<DataParameter>("backend: " + backend + " source: '" + path + "'");
}

class DatabaseTest : public testing::TestWithParam<const char*> {
 protected:
  void Write(const KeysAndValues& records) {
    std::string(GetParam()) == "LMDB" ? WriteLmdb(path_, records) : WriteLevelDb(path_, records);
  }
  std::unique_ptr<Source> Open() { return OpenSource(Parameter(GetParam(), path_), TRAIN); }
  std::string ReadError(int64_t index) {
    const auto source = Open();
    Record record;
    return MessageOf([&] { source->Read(index, &record); });
  }

  const std::string path_ =
      testing::TempDir() + "/database_" + std::to_string(getpid()) + "_" + std::to_string(++count_);
  static int count_;
};
int DatabaseTest::count_ = 0;

TEST_P(DatabaseTest, ReadsRecordsInTheOrderOfTheirKeysAndAtAnyIndex) {
  Write({{"00002", RawDatum(1, 1, 2, {5, 6}, 7)}, {"00001", RawDatum(1, 1, 2, {3, 4}, 9)}});
  const auto source = Open();
  ASSERT_EQ(source->size(), 2);
  Record record;
  source->Read(1, &record);
  EXPECT_EQ(record.labels, std::vector<float>{7});
  EXPECT_EQ(record.pixels.shape, (ImageShape{1, 1, 2}));
  EXPECT_EQ(record.pixels.bytes[0], 5);
  EXPECT_EQ(record.pixels.bytes[1], 6);
  source->Read(0, &record);
  EXPECT_EQ(record.labels, std::vector<float>{9});
  EXPECT_EQ(record.pixels.bytes[1], 4);
  EXPECT_EQ(source->Name(0), "record '00001' of '" + path_ + "'");
}

TEST_P(DatabaseTest, RefusesAPipe) {
  const std::string path = path_ + "_pipe";
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(MessageOf([&] { OpenSource(Parameter(GetParam(), path), TRAIN); }),
              testing::HasSubstr("database cannot be read from a pipe; write it to a file first"));
}

TEST_P(DatabaseTest, ReadsFloatsSeveralLabelsAndEncodedImages) {
  Write({{"a", Parse<Datum>("channels: 2 height: 1 width: 1 float_data: [0.5, -2] labels: [1.5, 2]")
                   .SerializeAsString()},
         {"b", EncodedDatum("picture", 3)}});
  const auto source = Open();
  Record record;
  source->Read(0, &record);
  EXPECT_EQ(record.labels, (std::vector<float>{1.5f, 2}));
  EXPECT_EQ(record.pixels.bytes, nullptr);
  EXPECT_EQ(record.pixels.floats[1], -2);
  source->Read(1, &record);
  ASSERT_NE(record.encoded, nullptr);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(record.encoded), record.encoded_bytes),
            "picture");
  EXPECT_EQ(record.labels, std::vector<float>{3});
}

TEST_P(DatabaseTest, OpensTheSameDatabaseSeveralTimesInOneProcess) {
  Write({{"a", RawDatum(1, 1, 1, {1}, 0)}});
  const auto first = Open(), second = Open();
  EXPECT_EQ(first->size(), second->size());
}

TEST_P(DatabaseTest, SaysThatADatabaseIsMissing) {
  EXPECT_EQ(MessageOf([&] { Open(); }),
            std::string("4: no ") + (std::string(GetParam()) == "LMDB" ? "LMDB" : "LevelDB") +
                " database at '" + path_ + "': there is no such " +
                (std::string(GetParam()) == "LMDB" ? "file" : "folder"));
}

TEST_P(DatabaseTest, SaysThatADatabaseIsEmpty) {
  Write({});
  EXPECT_THAT(MessageOf([&] { Open(); }), testing::HasSubstr("database '" + path_ + "' is empty"));
}

TEST_P(DatabaseTest, SaysThatAFolderIsNoDatabase) {
  mkdir(path_.c_str(), 0755);
  EXPECT_THAT(MessageOf([&] { Open(); }), testing::HasSubstr("'" + path_ + "' is not a"));
}

TEST_P(DatabaseTest, SaysThatARecordIsNoDatum) {
  Write({{"a", "\xff\xff\xff"}});
  EXPECT_EQ(ReadError(0), "4: it is not a Caffe Datum");
}

TEST_P(DatabaseTest, SaysThatADatumContradictsItself) {
  Write({{"a", RawDatum(3, 2, 2, {1, 2, 3}, 0)}, {"b", RawDatum(0, 2, 2, {1, 2, 3}, 0)}});
  EXPECT_EQ(ReadError(0), "4: it holds 3 values, but its shape 3x2x2 needs 12");
  EXPECT_EQ(ReadError(1), "4: its shape is 0x2x2: not a Caffe Datum of an image");
}

TEST_P(DatabaseTest, SaysThatTheFlagOfEncodedImagesIsWrong) {
  const std::string png = Png(1, 1, 1, {3}), jpeg = Jpeg({8, 8, 1}, std::vector<int>(64, 90));
  Datum without = Parse<Datum>("channels: 3 height: 20 width: 20"), shapeless, with;
  without.set_data(png);
  shapeless.set_data(jpeg);
  with.ParseFromString(RawDatum(1, 1, 2, {5, 6}, 0));
  with.set_encoded(true);
  Write({{"a", without.SerializeAsString()},
         {"b", shapeless.SerializeAsString()},
         {"c", with.SerializeAsString()}});
  EXPECT_EQ(ReadError(0),
            "4: its data is a PNG file, but its field encoded is not set; write the database with "
            "encoded: true in such records");
  EXPECT_THAT(ReadError(1), testing::HasSubstr("its data is a JPEG file"));
  EXPECT_EQ(ReadError(2),
            "4: its data is 2 raw pixels, as its shape says, but its field encoded is set; write "
            "the database without encoded");
}

// Reading a mapped file beyond its end would end the program with SIGBUS.
TEST_P(DatabaseTest, SaysThatADatabaseIsCutOffWhileItIsRead) {
  std::mt19937 random(1);  // LevelDB compresses its tables
  std::vector<int> pixels(100'000);
  for (int& pixel : pixels) pixel = static_cast<int>(random() % 256);
  Write({{"a", RawDatum(1, 1, 100'000, pixels, 0)}, {"b", RawDatum(1, 1, 100'000, pixels, 1)}});
  const auto source = Open();
  for (const std::string& file : Glob(path_ + "/*db")) ASSERT_EQ(truncate(file.c_str(), 8192), 0);
  Record record;
  EXPECT_THAT(MessageOf([&] { source->Read(1, &record); }), testing::StartsWith("4: "));
  EXPECT_THAT(source->Name(1), testing::HasSubstr("of '" + path_ + "'"));
}

// 64 x 536838145 x 536903681 is 2^64 + 64, which overflows 64 bits to 64.
TEST_P(DatabaseTest, SaysThatADatumHasMoreValuesThanAnyRecord) {
  Write({{"a", RawDatum(64, 536838145, 536903681, std::vector<int>(64, 1), 0)}});
  EXPECT_EQ(ReadError(0),
            "4: it holds 64 values, but its shape 64x536838145x536903681 needs more than any "
            "record has");
}

INSTANTIATE_TEST_SUITE_P(Backends, DatabaseTest, testing::Values("LMDB", "LEVELDB"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Lmdb, OpensADatabaseInAReadOnlyFolderAndMakesNoLockFile) {
  const std::string path = ScratchPath("db");
  WriteLmdb(path, {{"a", RawDatum(1, 1, 1, {1}, 4)}});
  unlink((path + "/lock.mdb").c_str());
  const auto source = OpenSource(Parameter("LMDB", path), TRAIN);
  EXPECT_EQ(source->size(), 1);
  EXPECT_NE(access((path + "/lock.mdb").c_str(), F_OK), 0);
}

TEST(Lmdb, OpensTheDataFileItself) {
  const std::string path = ScratchPath("db");
  WriteLmdb(path, {{"a", RawDatum(1, 1, 1, {1}, 4)}});
  EXPECT_EQ(OpenSource(Parameter("LMDB", path + "/data.mdb"), TRAIN)->size(), 1);
}

TEST(Lmdb, SaysThatAFileIsNoLmdb) {
  const std::string path = ScratchPath("data.mdb");
  WriteFile(path, std::string(10000, 'x'));
  EXPECT_EQ(MessageOf([&] { OpenSource(Parameter("LMDB", path), TRAIN); }),
            "4: cannot open LMDB database '" + path + "': it is not an LMDB file");
}

TEST(Lmdb, SaysThatAFileIsCutOff) {
  const std::string path = ScratchPath("db"), file = path + "/data.mdb";
  WriteLmdb(path, {{"a", RawDatum(1, 1, 9000, std::vector<int>(9000, 1), 4)}});
  ASSERT_EQ(truncate(file.c_str(), 3 * 4096 - 1), 0);
  EXPECT_EQ(MessageOf([&] { OpenSource(Parameter("LMDB", path), TRAIN); }),
            "4: cannot open LMDB database '" + path +
                "': it ends too early; it may have been cut off while it was copied");
}

TEST(Lmdb, RecognisesALevelDb) {
  const std::string path = ScratchPath("db");
  WriteLevelDb(path, {{"a", "b"}});
  EXPECT_THAT(MessageOf([&] { OpenSource(Parameter("LMDB", path), TRAIN); }),
              testing::HasSubstr("it looks like a LevelDB, so set backend: LEVELDB"));
}

TEST(LevelDb, SaysThatAnotherHasTheDatabaseOpen) {
  const std::string path = ScratchPath("db");
  WriteLevelDb(path, {{"a", "b"}});
  leveldb::DB* opened;
  ASSERT_TRUE(leveldb::DB::Open(leveldb::Options(), path, &opened).ok());
  const std::unique_ptr<leveldb::DB> other(opened);
  const std::string message = MessageOf([&] { OpenSource(Parameter("LEVELDB", path), TRAIN); });
  EXPECT_THAT(message, testing::StartsWith("4: LevelDB database '" + path + "' is locked"));
  EXPECT_THAT(message, testing::HasSubstr("an LMDB database can be shared"));
}

TEST(LevelDb, RefusesADamagedBlock) {
  const std::string path = ScratchPath("leveldb");
  WriteLevelDb(path, {{"a", std::string(100, 'b')}});
  WriteLevelDb(path, {});  // moves the record from the log to a table
  const std::vector<std::string> tables = Glob(path + "/*.ldb");
  ASSERT_EQ(tables.size(), 1u);
  std::string table = ReadFile(tables[0]);
  table[20] ^= 1;
  WriteFile(tables[0], table);
  EXPECT_THAT(MessageOf([&] { OpenSource(Parameter("LEVELDB", path), TRAIN); }),
              testing::HasSubstr("Corruption: block checksum mismatch"));
}

TEST(LevelDb, RecognisesAnLmdb) {
  const std::string path = ScratchPath("db");
  WriteLmdb(path, {{"a", "b"}});
  EXPECT_THAT(MessageOf([&] { OpenSource(Parameter("LEVELDB", path), TRAIN); }),
              testing::HasSubstr("it looks like an LMDB, so set backend: LMDB"));
}

TEST(OpenSource, SaysThatThereIsNoSource) {
  EXPECT_EQ(MessageOf([] { OpenSource(Parse<DataParameter>("backend: LMDB"), TRAIN); }),
            "3: data_param: backend LMDB needs a source");
}

}  // namespace
}  // namespace doppio
