// Tests the sources that read the published files of MNIST and CIFAR.
#include <sys/stat.h>

#include <cstdlib>

#include "data/decode/gzip.h"
#include "data/source/open_source.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::HasSubstr;

std::unique_ptr<Source> OpenIdx(const std::string& path, const std::string& more = "",
                                Phase phase = TRAIN) {
  return OpenSource(Parse<DataParameter>("backend: IDX source: '" + path + "' " + more), phase);
}

class IdxTest : public testing::Test {
 protected:
  const std::string images_ = ScratchPath("train-images-idx3-ubyte");
  const std::string labels_ = ScratchPath("train-labels-idx1-ubyte");
  const std::string two_images_ = Idx({2, 1, 3}, {1, 2, 3, 4, 5, 255});
};

TEST_F(IdxTest, ReadsImagesAndTheLabelsBesideThem) {
  WriteFile(images_, two_images_);
  WriteFile(labels_, Idx({2}, {7, 9}));
  const auto source = OpenIdx(images_);
  ASSERT_EQ(source->size(), 2);
  Record record;
  source->Read(1, &record);
  EXPECT_EQ(record.pixels.shape, (ImageShape{1, 1, 3}));
  EXPECT_EQ(record.pixels.bytes[2], 255);
  EXPECT_EQ(record.labels, std::vector<float>{9});
}

TEST_F(IdxTest, ReadsPackedFilesBesidePlainOnes) {
  WriteFile(images_ + ".gz", Gzip(two_images_));
  WriteFile(labels_, Idx({2}, {7, 9}));
  EXPECT_EQ(OpenIdx(images_ + ".gz")->size(), 2);
}

TEST_F(IdxTest, TakesSeveralLabelFilesByName) {
  WriteFile(ScratchPath("pictures"), two_images_);
  WriteFile(ScratchPath("a"), Idx({2}, {7, 9}));
  WriteFile(ScratchPath("b"), Idx({2}, {1, 2}));
  const auto source = OpenIdx(ScratchPath("pictures"), "labels: '" + ScratchPath("a") +
                                                           "' labels: '" + ScratchPath("b") + "'");
  Record record;
  source->Read(1, &record);
  EXPECT_EQ(record.labels, (std::vector<float>{9, 2}));
}

TEST_F(IdxTest, SelectsTheFirstOrLastRecordsBySizeAndPart) {
  WriteFile(images_, Idx({3, 1, 1}, {10, 20, 30}));
  WriteFile(labels_, Idx({3}, {1, 2, 3}));
  // Returns the pixels and labels of all records.
  auto all = [this](const std::string& more, Phase phase) {
    const auto source = OpenIdx(images_, more, phase);
    std::vector<float> values;
    Record record;
    for (int64_t i = 0; i < source->size(); ++i) {
      source->Read(i, &record);
      values.push_back(record.pixels.bytes[0]);
      values.push_back(record.labels[0]);
    }
    return values;
  };
  EXPECT_EQ(all("size: 2", TRAIN), (std::vector<float>{10, 1, 20, 2}));
  EXPECT_EQ(all("size: 2", TEST), (std::vector<float>{20, 2, 30, 3}));
  EXPECT_EQ(all("size: 1 part: TEST", TRAIN), (std::vector<float>{30, 3}));
  EXPECT_EQ(all("size: 1 part: TRAIN", TEST), (std::vector<float>{10, 1}));
  EXPECT_EQ(all("size: 3", TEST), (std::vector<float>{10, 1, 20, 2, 30, 3}));
  EXPECT_EQ(all("part: TEST", TRAIN), (std::vector<float>{10, 1, 20, 2, 30, 3}));
  EXPECT_EQ(OpenIdx(images_, "size: 1", TEST)->Name(0), "image 2 of '" + images_ + "'");
}

TEST_F(IdxTest, SaysThatSizeIsMoreThanTheFileHas) {
  WriteFile(images_, two_images_);
  WriteFile(labels_, Idx({2}, {7, 9}));
  EXPECT_THAT(MessageOf([&] { OpenIdx(images_, "size: 3"); }),
              HasSubstr("data_param: size is 3, but '" + images_ +
                        "' has only 2 records; set size to at most this number, or remove it"));
}

TEST_F(IdxTest, AsksForLabelsItCannotFindByName) {
  WriteFile(ScratchPath("pictures"), two_images_);
  EXPECT_THAT(MessageOf([&] { OpenIdx(ScratchPath("pictures")); }), HasSubstr("labels: \"FILE\""));
}

TEST_F(IdxTest, SaysWhichFileIsMissing) {
  EXPECT_EQ(MessageOf([&] { OpenIdx(images_); }),
            "4: cannot read '" + images_ + "': No such file or directory");
  WriteFile(images_, two_images_);
  EXPECT_EQ(MessageOf([&] { OpenIdx(images_); }),
            "4: cannot read '" + labels_ + "': No such file or directory");
}

TEST_F(IdxTest, SaysThatCountsDiffer) {
  WriteFile(images_, two_images_);
  WriteFile(labels_, Idx({3}, {7, 9, 1}));
  EXPECT_EQ(MessageOf([&] { OpenIdx(images_); }),
            "4: '" + labels_ + "' has 3 labels, but '" + images_ + "' has 2 images");
}

TEST_F(IdxTest, SaysThatAFileIsCutShort) {
  WriteFile(images_, two_images_.substr(0, two_images_.size() - 2));
  EXPECT_EQ(MessageOf([&] { OpenIdx(images_); }),
            "4: IDX file '" + images_ + "' is cut short: 4 bytes of values, its header says 6");
  WriteFile(images_, two_images_.substr(0, 9));
  EXPECT_THAT(MessageOf([&] { OpenIdx(images_); }), HasSubstr("is cut short"));
}

// 64 x 536838145 x 536903681 is 2^64 + 64, which overflows 64 bits to 64.
TEST_F(IdxTest, SaysThatExtentsAreMoreThanAnyFileHas) {
  WriteFile(images_, Idx({64, 536838145, 536903681}, std::vector<int>(64, 1)));
  WriteFile(labels_, Idx({64}, std::vector<int>(64, 1)));
  EXPECT_EQ(MessageOf([&] { OpenIdx(images_); }),
            "4: IDX file '" + images_ +
                "' is cut short: 64 bytes of values, its header says more than 17179869184");
}

TEST_F(IdxTest, RefusesAPackedFileOfWhichTooMuchComesOut) {
  WriteFile(images_, Gzip(std::string(1000, '0')));
  EXPECT_EQ(ReadMaybeGzip(images_, 1000).size(), 1000u);
  EXPECT_EQ(MessageOf([&] { ReadMaybeGzip(images_, 999); }),
            "4: cannot unpack '" + images_ + "': it has more than 999 bytes");
}

TEST_F(IdxTest, SaysThatAFileIsNoIdxFile) {
  WriteFile(images_, "hello world");
  EXPECT_THAT(MessageOf([&] { OpenIdx(images_); }), HasSubstr("is not an IDX file"));
  std::string floats = two_images_;
  floats[2] = 0x0d;
  WriteFile(images_, floats);
  EXPECT_THAT(MessageOf([&] { OpenIdx(images_); }), HasSubstr("IDX type 13; only type 8"));
}

TEST_F(IdxTest, SaysThatAFileOfLabelsHasNoImages) {
  WriteFile(labels_, Idx({2}, {7, 9}));
  EXPECT_EQ(MessageOf([&] { OpenIdx(labels_); }),
            "4: '" + labels_ + "' holds labels; name the IDX file of their images");
}

TEST_F(IdxTest, SaysWhatAFileOfAnotherKindIs) {
  WriteFile(images_, Gzip("PK\x03\x04"));
  EXPECT_EQ(MessageOf([&] { OpenIdx(images_); }),
            "4: '" + images_ + "' is not an IDX file: it is a zip archive; unpack it (unzip)");
}

TEST_F(IdxTest, SaysThatAPackedFileIsDamaged) {
  const std::string packed = Gzip(two_images_);
  WriteFile(images_, packed.substr(0, packed.size() / 2));
  EXPECT_EQ(MessageOf([&] { OpenIdx(images_); }),
            "4: cannot unpack '" + images_ + "': it ends too early");
  std::string wrong = packed;
  wrong[wrong.size() - 5] ^= 1;  // a bit of the checksum
  WriteFile(images_, wrong);
  EXPECT_EQ(MessageOf([&] { OpenIdx(images_); }),
            "4: cannot unpack '" + images_ + "': incorrect data check");
}

// Statistics of the published files: 60000 images, mean pixel 33.3184.
TEST(Mnist, IsReadAsPublished) {
  const char* shared = std::getenv("DOPPIO_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "DOPPIO_SHARED is not set: no MNIST files here";
  const auto source = OpenIdx(std::string(shared) + "/data/mnist/train-images-idx3-ubyte.gz");
  ASSERT_EQ(source->size(), 60000);
  int64_t sum = 0, label_sum = 0;
  Record record;
  for (int64_t i = 0; i < source->size(); ++i) {
    source->Read(i, &record);
    for (int64_t k = 0; k < record.pixels.shape.count(); ++k) sum += record.pixels.bytes[k];
    label_sum += static_cast<int64_t>(record.labels[0]);
  }
  EXPECT_EQ(record.pixels.shape, (ImageShape{1, 28, 28}));
  EXPECT_NEAR(static_cast<double>(sum) / 60000 / 784, 33.3184, 1e-4);
  // The published numbers of images per label are 5923 6742 5958 6131 5842 5421 5918 6265 5851
  // 5949.
  EXPECT_EQ(label_sum, 6742 + 2 * 5958 + 3 * 6131 + 4 * 5842 + 5 * 5421 + 6 * 5918 + 7 * 6265 +
                           8 * 5851 + 9 * 5949);
}

std::string CifarRecord(const std::string& labels, char fill) {
  return labels + std::string(1024, fill) + std::string(1024, 'g') + std::string(1024, 'b');
}

std::unique_ptr<Source> OpenCifar(const std::string& path, Phase phase = TRAIN) {
  return OpenSource(Parse<DataParameter>("backend: CIFAR source: '" + path + "'"), phase);
}

TEST(Cifar, ReadsAllFilesOfAPatternInTheirOrder) {
  WriteFile(ScratchPath("data_batch_2.bin"), CifarRecord("\x03", 'z'));
  WriteFile(ScratchPath("data_batch_1.bin"), CifarRecord("\x01", 'x') + CifarRecord("\x02", 'y'));
  const auto source = OpenCifar(ScratchPath("data_batch_*.bin"));
  ASSERT_EQ(source->size(), 3);
  Record record;
  for (int i = 0; i < 3; ++i) {
    source->Read(i, &record);
    EXPECT_EQ(record.labels, std::vector<float>{static_cast<float>(i + 1)});
    EXPECT_EQ(record.pixels.shape, (ImageShape{3, 32, 32}));
    EXPECT_EQ(record.pixels.bytes[0], "xyz"[i]);
    EXPECT_EQ(record.pixels.bytes[3071], 'b');
  }
  EXPECT_EQ(source->Name(2), "image 0 of '" + ScratchPath("data_batch_2.bin") + "'");
}

TEST(Cifar, TakesTheFilesOfThePhaseFromAFolder) {
  WriteFile(ScratchPath("data_batch_1.bin"), CifarRecord("\x01", 'x'));
  WriteFile(ScratchPath("test_batch.bin"), CifarRecord("\x02", 'x') + CifarRecord("\x02", 'x'));
  EXPECT_EQ(OpenCifar(ScratchPath(""), TRAIN)->size(), 1);
  EXPECT_EQ(OpenCifar(ScratchPath(""), TEST)->size(), 2);
}

TEST(Cifar, ReadsTheFineLabelOfCifar100) {
  WriteFile(ScratchPath("train.bin"), CifarRecord("\x04\x63", 'x'));
  Record record;
  OpenCifar(ScratchPath("train.bin"))->Read(0, &record);
  EXPECT_EQ(record.labels, std::vector<float>{99});
}

TEST(Cifar, SaysWhatIsWrongWithAFile) {
  const std::string path = ScratchPath("data_batch_1.bin");
  EXPECT_EQ(MessageOf([&] { OpenCifar(path); }),
            "4: cannot read '" + path + "': No such file or directory");
  EXPECT_EQ(MessageOf([&] { OpenCifar(ScratchPath("*.bin")); }),
            "4: no file matches '" + ScratchPath("*.bin") + "'");
  EXPECT_THAT(MessageOf([&] { OpenCifar(ScratchPath("")); }),
              HasSubstr("has none of CIFAR's binary files for training"));
  WriteFile(path, CifarRecord("\x01", 'x').substr(1));
  EXPECT_THAT(MessageOf([&] { OpenCifar(path); }),
              HasSubstr("'" + path + "' is not a whole CIFAR binary file: its 3072 bytes"));
  WriteFile(path, "");
  EXPECT_THAT(MessageOf([&] { OpenCifar(path); }), HasSubstr("its 0 bytes"));
  WriteFile(path, "\x80\x02}q");
  EXPECT_EQ(MessageOf([&] { OpenCifar(path); }),
            "4: '" + path +
                "' is not a whole CIFAR binary file: it is a Python pickle; Doppio reads CIFAR's "
                "binary version, which 'doppio get cifar10' downloads");
}

}  // namespace
}  // namespace doppio
