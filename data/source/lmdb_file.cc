#include "data/source/lmdb_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/content_kind.h"
#include "core/base/error.h"

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

void CheckIsLmdb(const std::string& head) {
  if (KindOfContent(head) == ContentKind::kLmdb) return;
  const std::string found = DescribeContent(head);
  throw FileError(found.empty() ? "it is not an LMDB file" : found);
}

}  // namespace

LmdbFile::LmdbFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  const bool open_and_known = file >= 0 && fstat(file, &info) == 0;
  void* map = MAP_FAILED;
  if (open_and_known) {
    bytes_ = static_cast<uint64_t>(info.st_size);
    map = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0);
  }
  const int reason = errno;
  if (file >= 0) close(file);
  if (map == MAP_FAILED) throw FileError(std::strerror(reason));
  map_ = static_cast<const char*>(map);
  try {
    ReadAll();
  } catch (...) {
    munmap(map, bytes_);
    throw;
  }
}

LmdbFile::~LmdbFile() { munmap(const_cast<char*>(map_), bytes_); }

// Returns the address of the bytes [offset, offset + bytes) of the file. Throws FileError if the
// file is shorter.
const char* LmdbFile::Range(uint64_t offset, uint64_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset) ThrowTruncated();
  return map_ + offset;
}

template <class T>
T LmdbFile::At(uint64_t offset) const {
  T value;
  std::memcpy(&value, Range(offset, sizeof value), sizeof value);
  return value;
}

uint64_t LmdbFile::OffsetOf(uint64_t page) const {
  if (page >= pages()) ThrowTruncated();
  return page * page_bytes_;
}

void LmdbFile::ReadAll() {
  CheckIsLmdb({map_, std::min<size_t>(bytes_, kKindBytes)});
  const Meta first = At<Meta>(sizeof(PageHead));
  page_bytes_ = first.free.page_bytes;
  if (page_bytes_ < sizeof(PageHead) + sizeof(Meta) || page_bytes_ > kMaxPageBytes) Damaged();
  const Meta second = At<Meta>(OffsetOf(1) + sizeof(PageHead));
  for (const Meta& meta : {first, second}) {
    if (meta.magic != kMagic) Damaged();
    if (meta.version != kVersion) {
      throw FileError("its format has version " + std::to_string(meta.version) + "; only " +
                      std::to_string(kVersion) + " is read");
    }
  }
  const Tree& tree = second.transaction > first.transaction ? second.main : first.main;
  if ((tree.flags & kSortedValues) != 0) RefuseSeveralValues();
  if (tree.root == kNoPage) return;
  // A damaged count must not cause a huge allocation. Each record takes at least a node and an
  // offset.
  const uint64_t most = bytes_ / (sizeof(NodeHead) + sizeof(uint16_t));
  records_.reserve(std::min(tree.entries, most));
  ReadPage(tree.root, 1);
}

// Reads the subtree of a page. The pages of a damaged file may form a cycle, so the number of pages
// read is limited to the number of pages in the file.
void LmdbFile::ReadPage(uint64_t page, int level) {
  const uint64_t begin = OffsetOf(page);
  if (level > kMaxLevels || ++pages_read_ > pages()) Damaged();
  const PageHead head = At<PageHead>(begin);
  const bool leaf = (head.flags & kLeaf) != 0, branch = (head.flags & kBranch) != 0;
  if (leaf == branch || head.lower < sizeof head || head.lower > page_bytes_) Damaged();
  for (uint64_t at = sizeof head; at + sizeof(uint16_t) <= head.lower; at += sizeof(uint16_t)) {
    ReadNode(begin, At<uint16_t>(begin + at), leaf, level);
  }
}

// Reads one node. `page` is the page's offset in the file, `at` the node's offset in the page.
void LmdbFile::ReadNode(uint64_t page, uint64_t at, bool leaf, int level) {
  if (at + sizeof(NodeHead) > page_bytes_) Damaged();
  const NodeHead node = At<NodeHead>(page + at);
  const uint64_t number = uint64_t{node.low} | uint64_t{node.high} << 16;
  if (!leaf) return ReadPage(number | uint64_t{node.flags} << 32, level + 1);
  if ((node.flags & kSeveralValues) != 0) RefuseSeveralValues();
  const bool own_pages = (node.flags & kOwnPages) != 0;
  const uint64_t key_at = at + sizeof node, value_at = key_at + node.key_bytes;
  if (value_at + (own_pages ? sizeof(uint64_t) : number) > page_bytes_) Damaged();
  const uint64_t value =
      own_pages ? OffsetOf(At<uint64_t>(page + value_at)) + sizeof(PageHead) : page + value_at;
  records_.push_back({{map_ + page + key_at, node.key_bytes}, {Range(value, number), number}});
}

}  // namespace doppio
