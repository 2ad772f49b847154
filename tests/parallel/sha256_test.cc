#include "parallel/tcp/sha256.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace doppio {
namespace {

std::string Hex(const Sha256Digest& digest) {
  std::string text;
  for (uint8_t byte : digest) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

// The numbers are those of Python's hashlib and hmac.
TEST(Sha256, DigestsTextsOfAllLengths) {
  EXPECT_EQ(Hex(Sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex(Sha256(std::string(55, 'a'))),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(Hex(Sha256(std::string(56, 'a'))),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(Hex(Sha256(std::string(1000, 'a'))),
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

TEST(Sha256, SignsWithKeysOfAllLengths) {
  EXPECT_EQ(Hex(HmacSha256("key", "message")),
            "6e9ef29b75fffc5b7abae527d58fdadb2fe42e7219011976917343065f58ed4a");
  EXPECT_EQ(Hex(HmacSha256(std::string(100, 'k'), "message")),
            "1c28735416d320163f56f81bdbb83d651eed508d184e6b8b03662740a533293e");
}

TEST(Sha256, ComparesDigests) {
  Sha256Digest other = Sha256("a");
  EXPECT_TRUE(SameDigest(other, Sha256("a")));
  other[31] ^= 1;
  EXPECT_FALSE(SameDigest(other, Sha256("a")));
}

}  // namespace
}  // namespace doppio
