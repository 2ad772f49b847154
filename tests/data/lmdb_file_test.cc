// Tests LmdbFile on files that liblmdb writes; liblmdb also decides what a file contains.
#include "data/source/lmdb_file.h"

#include <lmdb.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "core/base/file.h"
#include "tests/data/tiny_data.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// Returns records with values of 0 to 20 000 bytes: some share a page, some have pages of their
// own.
KeysAndValues Records(int count) {
  KeysAndValues records;
  for (int i = 0; i < count; ++i) {
    const size_t bytes = i % 50 == 0 ? 20000 : static_cast<size_t>(i * 7 % 3000);
    char key[16];
    std::snprintf(key, sizeof key, "%08d", i);
    records.emplace_back(key, std::string(bytes, static_cast<char>('a' + i % 26)));
  }
  return records;
}

std::string Written(const std::string& name, int count) {
  WriteLmdb(ScratchPath(name), Records(count));
  return ScratchPath(name) + "/data.mdb";
}

// Reads all records. Returns the message of its FileError, or "" if it throws none.
std::string ReadAll(const std::string& path, KeysAndValues* records) {
  return MistakeIfAny<FileError>([&] {
    const LmdbFile file(path);
    for (int64_t i = 0; i < file.size(); ++i) {
      records->emplace_back(file.Key(i), "");
      file.ReadValue(i, &records->back().second);
    }
  });
}

// Returns the number at offset `at` of a file's content.
template <class T>
T At(const std::string& content, size_t at) {
  T value;
  std::memcpy(&value, content.data() + at, sizeof value);
  return value;
}

TEST(LmdbFile, ReadsWhatLiblmdbHasWritten) {
  for (const int count : {0, 1, 3, 3000}) {
    KeysAndValues records;
    EXPECT_EQ(ReadAll(Written("db" + std::to_string(count), count), &records), "");
    EXPECT_EQ(records, Records(count)) << count;
  }
}

TEST(LmdbFile, ReadsTheStateAfterTheLastTransaction) {
  const std::string path = ScratchPath("db");
  WriteLmdb(path, {{"a", "1"}, {"b", "2"}});
  WriteLmdb(path, {{"c", "3"}, {"a", "4"}});
  KeysAndValues records;
  EXPECT_EQ(ReadAll(path + "/data.mdb", &records), "");
  EXPECT_EQ(records, (KeysAndValues{{"a", "4"}, {"b", "2"}, {"c", "3"}}));
}

TEST(LmdbFile, SaysThatAFileIsCutOff) {
  const std::string path = Written("db", 100);
  const KeysAndValues all = Records(100);
  for (int64_t bytes = FileBytes(path) - 1; bytes > 0; bytes -= 1501) {
    ASSERT_EQ(truncate(path.c_str(), bytes), 0);
    KeysAndValues records;
    const std::string message = ReadAll(path, &records);
    if (message.empty()) {
      EXPECT_EQ(records, all) << bytes;  // no record was in the last pages
    } else {
      EXPECT_THAT(message, testing::AnyOf(testing::HasSubstr("it ends too early; it may have been "
                                                             "cut off while it was copied"),
                                          testing::HasSubstr("it is not an LMDB file")))
          << bytes;
    }
  }
}

TEST(LmdbFile, SaysThatAFileIsCutOffWhileItIsOpen) {
  const std::string path = Written("db", 100);
  const LmdbFile file(path);
  ASSERT_EQ(truncate(path.c_str(), 8192), 0);
  std::string value;
  for (int64_t i = 0; i < file.size(); ++i) {
    const std::string wanted = "it ends too early; it may have been cut off while it was copied";
    EXPECT_EQ(Mistake<FileError>([&] { file.ReadValue(i, &value); }), wanted);
    EXPECT_EQ(Mistake<FileError>([&] { file.Key(i); }), wanted);
  }
}

// With random damage, each file is either read or refused.
TEST(LmdbFile, ReadsOrRefusesADamagedFile) {
  const std::string path = Written("db", 60), whole = ReadFile(path), damaged = ScratchPath("x");
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string content = whole;
    for (int change = 0; change < 3; ++change) {
      // Damages mostly the first bytes of a page, which are its index.
      const size_t page = random() % (content.size() / 4096) * 4096;
      content[page + random() % (random() % 4 == 0 ? 4096 : 200)] = static_cast<char>(random());
    }
    WriteFile(damaged, content);
    KeysAndValues records;
    EXPECT_NO_FATAL_FAILURE(ReadAll(damaged, &records));
  }
}

// Offsets in a meta page.
constexpr size_t kPage = 4096, kFreeRoot = 16 + 24 + 40, kMainRoot = kFreeRoot + 48;
constexpr size_t kTransaction = 16 + 128;

// Returns the number of a root page in the newer of the two meta pages.
uint64_t NewerRoot(const std::string& content, size_t root) {
  const bool first =
      At<uint64_t>(content, kTransaction) > At<uint64_t>(content, kPage + kTransaction);
  return At<uint64_t>(content, (first ? 0 : kPage) + root);
}

TEST(LmdbFile, ChecksTheTableOfFreePagesForAWriter) {
  const std::string path = ScratchPath("db"), file = path + "/data.mdb";
  for (const char* value : {"1", "2", "3"}) WriteLmdb(path, {{"a", value}});
  EXPECT_NO_THROW(LmdbFile(file, LmdbUse::kWrite));
  std::string content = ReadFile(file);
  content.replace(NewerRoot(content, kFreeRoot) * kPage, kPage, kPage, '\0');
  WriteFile(file, content);
  EXPECT_EQ(LmdbFile(file).size(), 1);
  EXPECT_EQ(Mistake<FileError>([&] { LmdbFile(file, LmdbUse::kWrite); }), "it is damaged");
}

TEST(LmdbFile, RefusesATreeThatLeadsBackToItself) {
  const std::string path = Written("db", 300);
  std::string content = ReadFile(path);
  const auto root = NewerRoot(content, kMainRoot);
  const size_t at = root * kPage;
  ASSERT_EQ(At<uint16_t>(content, at + 10) & 1, 1) << "a branch";
  for (size_t slot = 16; slot < At<uint16_t>(content, at + 12); slot += 2) {
    const size_t node = at + At<uint16_t>(content, at + slot);
    const auto page = static_cast<uint16_t>(root);
    std::memcpy(&content[node], &page, sizeof page);
  }
  WriteFile(path, content);
  KeysAndValues records;
  EXPECT_EQ(ReadAll(path, &records), "it is damaged");
}

TEST(LmdbFile, RefusesSeveralValuesForAKey) {
  const std::string path = ScratchPath("several");
  MDB_env* env;
  MDB_txn* transaction;
  MDB_dbi table;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR, 0664), 0);
  ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &transaction), 0);
  ASSERT_EQ(mdb_dbi_open(transaction, nullptr, MDB_DUPSORT, &table), 0);
  char letter = 'a';
  MDB_val value{1, &letter};
  ASSERT_EQ(mdb_put(transaction, table, &value, &value, 0), 0);
  ASSERT_EQ(mdb_txn_commit(transaction), 0);
  mdb_env_close(env);
  KeysAndValues records;
  EXPECT_THAT(ReadAll(path, &records), testing::HasSubstr("several values for a key"));
}

}  // namespace
}  // namespace doppio
