#include "core/base/content/content_kind.h"

#include <gtest/gtest.h>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (int byte : bytes) text += static_cast<char>(byte);
  return text;
}

TEST(KindOfContent, KnowsFilesByTheirFirstBytes) {
  EXPECT_EQ(KindOfContent(Bytes({0, 0, 8, 3, 0, 0, 0, 2})), ContentKind::kIdx);
  EXPECT_EQ(KindOfContent(std::string(16, '\0') + "\xde\xc0\xef\xbe"), ContentKind::kLmdb);
  EXPECT_EQ(KindOfContent("\x89HDF\r\n\x1a\n"), ContentKind::kHdf5);
  EXPECT_EQ(KindOfContent("\x1f\x8b"), ContentKind::kGzip);
  EXPECT_EQ(KindOfContent("a.txt" + std::string(252, '\0') + "ustar"), ContentKind::kTar);
  EXPECT_EQ(KindOfContent("PK\x03\x04"), ContentKind::kZip);
  EXPECT_EQ(KindOfContent(Bytes({0x80, 2, '}'})), ContentKind::kPickle);
  EXPECT_EQ(KindOfContent("\x93NUMPY"), ContentKind::kNumpy);
  EXPECT_EQ(KindOfContent(Bytes({9, 0, 0, 0, 0, 0, 0, 0, '{', '"'})), ContentKind::kSafetensors);
  EXPECT_EQ(KindOfContent("\xff\xd8\xff\xe0"), ContentKind::kImage);
  EXPECT_EQ(KindOfContent("\x89PNG\r\n\x1a\n"), ContentKind::kImage);
  EXPECT_EQ(KindOfContent(Bytes({0xff, 0xfe, 'a', 0})), ContentKind::kUtf16);
  EXPECT_EQ(KindOfContent(std::string("a\0.\0b\0\n\0", 8)), ContentKind::kUtf16);
  EXPECT_EQ(KindOfContent(std::string("\0a\0.\0b\0\n", 8)), ContentKind::kUtf16);
  EXPECT_EQ(KindOfContent(std::string("a\0\1\0b\0\n\0", 8)), ContentKind::kBinary);
  EXPECT_EQ(KindOfContent(Bytes({1, 2, 0})), ContentKind::kBinary);
}

TEST(KindOfContent, KnowsCaffesBinaryFiles) {
  EXPECT_EQ(KindOfContent("\n\x05LeNet\xa2\x06\x10"), ContentKind::kNet);
  EXPECT_EQ(KindOfContent("\n\x05LeNet\x12\x10"), ContentKind::kNet);      // V1
  EXPECT_EQ(KindOfContent("\n\x05LeNet\x8a\x7d\x10"), ContentKind::kNet);  // with preprocessing
  EXPECT_EQ(KindOfContent("\xa2\x06\x10"), ContentKind::kNet);
  // The iteration is 500, which takes a varint of two bytes.
  EXPECT_EQ(KindOfContent(Bytes({8, 0xf4, 3, 0x12, 12}) + "a.caffemodel"),
            ContentKind::kSolverState);
  // Paths of 200 and of 600 bytes, whose lengths take two bytes. The longer one ends after the
  // head.
  EXPECT_EQ(KindOfContent(Bytes({8, 7, 0x12, 0xc8, 1}) + std::string(188, 'a') + "/.caffemodel"),
            ContentKind::kSolverState);
  EXPECT_EQ(KindOfContent(Bytes({8, 7, 0x12, 0xd8, 4}) + std::string(kKindBytes - 5, 'a')),
            ContentKind::kSolverState);
  EXPECT_EQ(KindOfContent(Bytes({8, 1, 0x10, 3, 0x18, 32})), ContentKind::kMean);
}

TEST(KindOfContent, TakesFilesThatEndTooEarly) {
  const std::string state = Bytes({8, 0xf4, 3, 0x12, 12}) + "a.caffemodel";
  const std::string net = "\n\x05LeNet\xa2\x06";
  for (size_t cut = 0; cut < state.size(); ++cut) {
    EXPECT_EQ(KindOfContent(state.substr(0, cut)), ContentKind::kText) << cut;
  }
  for (size_t cut = 0; cut < net.size(); ++cut) {
    EXPECT_EQ(KindOfContent(net.substr(0, cut)), ContentKind::kText) << cut;
  }
}

TEST(KindOfContent, TakesTextForText) {
  for (const char* text : {"", "a.png 0\n", "\n\nname: \"x\"\n", "BMW.jpg 0\n", "P5 0\n",
                           "이름: 0\n", "caf\xe9.jpg 1\n"}) {
    EXPECT_EQ(KindOfContent(text), ContentKind::kText) << text;
  }
}

TEST(CheckIsText, SaysWhatTheFileIsAndWhatReadsIt) {
  CheckIsText("list.txt", "a.png 0\n", "a list of images");
  const auto mistake = [](const std::string& content) {
    return Mistake<FileError>([&] { CheckIsText("x", content, "a list of images"); });
  };
  EXPECT_EQ(mistake(Bytes({0, 0, 8, 3})),
            "'x' is an IDX file (MNIST's format), but a list of images is needed; layer Data reads "
            "it with backend: IDX, and 'doppio data convert' converts it to a database");
  EXPECT_EQ(mistake("\x93NUMPY"), "'x' is a NumPy file, but a list of images is needed");
  EXPECT_EQ(mistake(Bytes({1, 0})), "'x' is a binary file, but a list of images is needed");
}

TEST(DescribeContent, IsEmptyForTextAndWhatIsNotRecognised) {
  EXPECT_EQ(DescribeContent("\x1f\x8b"),
            "it is a gzip file; unpack it (gunzip, or tar xf for an archive)");
  EXPECT_EQ(DescribeContent("text"), "");
  EXPECT_EQ(DescribeContent(Bytes({1, 0})), "");
}

}  // namespace
}  // namespace doppio
