#include "data/source/lmdb_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/content/content_kind.h"
#include "core/base/error.h"
#include "data/source/read_at.h"

namespace doppio {
namespace {

// The format of LMDB 0.9 on 64-bit little-endian machines. All pages have the same size. Each of
// the first two pages describes a state of the database; the newer state is valid. A page of a tree
// contains its head, the offsets of its nodes, and the nodes, in key order.
struct PageHead {
  uint64_t number;
  uint16_t pad, flags;    // flags: PageFlag bits
  uint16_t lower, upper;  // begin and end of the free space between offsets and nodes
};
struct Tree {
  uint32_t page_bytes;  // in the first tree: size of all pages
  uint16_t flags, depth;
  uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};
struct Meta {
  uint32_t magic, version;
  uint64_t address, map_bytes;
  Tree free, main;
  uint64_t last_page, transaction;
};
// In a leaf, `low` and `high` are the size of the value in bytes. In a branch, `low`, `high` and
// `flags` are the number of a page. The key follows, then the value or, if the value has its own
// pages, the number of the first one.
struct NodeHead {
  uint16_t low, high, flags, key_bytes;  // in a leaf: NodeFlag bits
};
static_assert(sizeof(PageHead) == 16 && sizeof(Meta) == 136 && sizeof(NodeHead) == 8, "layout");

enum PageFlag : uint16_t { kBranch = 1, kLeaf = 2 };
enum NodeFlag : uint16_t { kOwnPages = 1, kSeveralValues = 4 };
constexpr uint16_t kSortedValues = 4;  // flag of a tree: MDB_DUPSORT
constexpr uint32_t kMagic = 0xbeefc0de, kVersion = 1;
constexpr uint64_t kNoPage = ~uint64_t{0};
constexpr uint64_t kMaxPageBytes = 1 << 16;
constexpr int kMaxLevels = 32;  // the limit of liblmdb

[[noreturn]] void Damaged() { throw FileError("it is damaged"); }

[[noreturn]] void ThrowTruncated() {
  throw FileError("it ends too early; it may have been cut off while it was copied");
}

[[noreturn]] void RefuseSeveralValues() {
  throw FileError("it has several values for a key (MDB_DUPSORT); Caffe's databases have one");
}

// Returns the number at offset `at` of a page. Throws FileError if the page is shorter.
template <class T>
T NumberAt(const std::string& page, uint64_t at) {
  if (at > page.size() || sizeof(T) > page.size() - at) Damaged();
  T value;
  std::memcpy(&value, page.data() + at, sizeof value);
  return value;
}

void CheckIsLmdb(const std::string& head) {
  if (KindOfContent(head) == ContentKind::kLmdb) return;
  const std::string found = DescribeContent(head);
  throw FileError(found.empty() ? "it is not an LMDB file" : found);
}

}  // namespace

LmdbFile::LmdbFile(const std::string& path, LmdbUse use)
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat info;
  if (!file_.open() || fstat(file_.get(), &info) != 0) throw FileError(std::strerror(errno));
  bytes_ = static_cast<uint64_t>(info.st_size);
  ReadAll(use);
}

std::string LmdbFile::Key(int64_t index) const {
  const Record& record = records_[index];
  std::string key;
  Read(record.key, record.key_bytes, &key);
  return key;
}

void LmdbFile::ReadValue(int64_t index, std::string* value) const {
  const Record& record = records_[index];
  Read(record.value, record.value_bytes, value);
}

// Throws FileError if the file had fewer than `offset` + `bytes` bytes when it was opened.
void LmdbFile::CheckRange(uint64_t offset, uint64_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset) ThrowTruncated();
}

// Reads `bytes` bytes of the file. Throws FileError if the file is shorter or the disk fails.
void LmdbFile::Read(uint64_t offset, uint64_t bytes, std::string* to) const {
  CheckRange(offset, bytes);  // a damaged size must not cause a huge allocation
  to->resize(bytes);
  const int64_t got = ReadAt(file_.get(), offset, bytes, to->data());
  if (got < 0) throw FileError(std::strerror(errno));
  if (got < static_cast<int64_t>(bytes)) ThrowTruncated();
}

uint64_t LmdbFile::OffsetOf(uint64_t page) const {
  if (page >= pages()) ThrowTruncated();
  return page * page_bytes_;
}

void LmdbFile::ReadAll(LmdbUse use) {
  std::string head;
  Read(0, std::min<uint64_t>(bytes_, kKindBytes), &head);
  CheckIsLmdb(head);
  Read(sizeof(PageHead), sizeof(Meta), &head);
  const Meta first = NumberAt<Meta>(head, 0);
  page_bytes_ = first.free.page_bytes;
  if (page_bytes_ < sizeof(PageHead) + sizeof(Meta) || page_bytes_ > kMaxPageBytes) Damaged();
  Read(OffsetOf(1) + sizeof(PageHead), sizeof(Meta), &head);
  const Meta second = NumberAt<Meta>(head, 0);
  for (const Meta& meta : {first, second}) {
    if (meta.magic != kMagic) Damaged();
    if (meta.version != kVersion) {
      throw FileError("its format has version ", meta.version, "; only ", kVersion, " is read");
    }
  }
  const Meta& meta = second.transaction > first.transaction ? second : first;
  if ((meta.main.flags & kSortedValues) != 0) RefuseSeveralValues();
  if (use == LmdbUse::kWrite && meta.free.root != kNoPage) {
    ReadPage(meta.free.root, 1);  // only checks it
    records_.clear();
  }
  if (meta.main.root == kNoPage) return;
  // A damaged count must not cause a huge allocation. Each record takes at least a node and an
  // offset.
  const uint64_t most = bytes_ / (sizeof(NodeHead) + sizeof(uint16_t));
  records_.reserve(std::min(meta.main.entries, most));
  ReadPage(meta.main.root, 1);
}

// Reads the subtree of a page. The pages of a damaged file may form a cycle, so the number of pages
// read is limited to the number of pages in the file.
void LmdbFile::ReadPage(uint64_t number, int level) {
  const uint64_t begin = OffsetOf(number);
  if (level > kMaxLevels || ++pages_read_ > pages()) Damaged();
  std::string page;
  Read(begin, page_bytes_, &page);
  const auto head = NumberAt<PageHead>(page, 0);
  const bool leaf = (head.flags & kLeaf) != 0, branch = (head.flags & kBranch) != 0;
  if (leaf == branch || head.lower < sizeof head || head.lower > page_bytes_) Damaged();
  for (uint64_t at = sizeof head; at + sizeof(uint16_t) <= head.lower; at += sizeof(uint16_t)) {
    ReadNode(page, begin, NumberAt<uint16_t>(page, at), leaf, level);
  }
}

// Reads the node at offset `at` of a page, which is at offset `begin` of the file.
void LmdbFile::ReadNode(const std::string& page, uint64_t begin, uint64_t at, bool leaf,
                        int level) {
  const auto node = NumberAt<NodeHead>(page, at);
  const uint64_t number = uint64_t{node.low} | uint64_t{node.high} << 16;
  if (!leaf) return ReadPage(number | uint64_t{node.flags} << 32, level + 1);
  if ((node.flags & kSeveralValues) != 0) RefuseSeveralValues();
  const bool own_pages = (node.flags & kOwnPages) != 0;
  const uint64_t key_at = at + sizeof node, value_at = key_at + node.key_bytes;
  if (value_at + (own_pages ? sizeof(uint64_t) : number) > page_bytes_) Damaged();
  const uint64_t value = own_pages ? OffsetOf(NumberAt<uint64_t>(page, value_at)) + sizeof(PageHead)
                                   : begin + value_at;
  CheckRange(value, number);
  records_.push_back({begin + key_at, value, static_cast<uint32_t>(number), node.key_bytes});
}

}  // namespace doppio
