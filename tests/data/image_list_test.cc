#include <sys/stat.h>
#include <unistd.h>

#include "data/source/open_source.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::HasSubstr;

class ImageListTest : public testing::Test {
 protected:
  std::unique_ptr<Source> Open(const std::string& lines, const std::string& more = "") {
    WriteFile(list_, lines);
    return OpenImageList(Parse<ImageDataParameter>("source: '" + list_ + "' " + more));
  }
  const std::string list_ = ScratchPath("list.txt");
  const std::string root_ = ScratchPath("");
};

TEST_F(ImageListTest, ReadsPathsWithSpacesSeveralLabelsAndBlankLines) {
  WriteFile(ScratchPath("a.jpg"), "first");
  WriteFile(ScratchPath("my photo 3.jpg"), "second");
  const auto source =
      Open("a.jpg 1 -2.5e-1\n\n  \nmy photo 3.jpg\t7  .5 \r\n", "root_folder: '" + root_ + "'");
  ASSERT_EQ(source->size(), 2);
  Record record;
  source->Read(0, &record);
  EXPECT_EQ(record.labels, (std::vector<float>{1, -0.25f}));
  source->Read(1, &record);
  EXPECT_EQ(record.labels, (std::vector<float>{7, 0.5f}));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(record.encoded), record.encoded_bytes),
            "second");
  EXPECT_EQ(source->Name(1), "image '" + root_ + "my photo 3.jpg' (" + list_ + ":4)");
}

TEST_F(ImageListTest, TakesTimeInProportionToTheLabelsOfALine) {
  constexpr size_t kLabels = 2'000'000;
  std::string line = "a.jpg 7";
  for (size_t i = 1; i < kLabels; ++i) line += " 1";
  const auto source = Open(line, "root_folder: '" + root_ + "'");
  WriteFile(ScratchPath("a.jpg"), "x");
  Record record;
  source->Read(0, &record);
  ASSERT_EQ(record.labels.size(), kLabels);
  EXPECT_EQ(record.labels[0], 7);
  EXPECT_EQ(record.labels[1], 1);
}

TEST_F(ImageListTest, RefusesAnImageFileOfMoreThanTwoGigabytes) {
  WriteFile(ScratchPath("a.jpg"), "x");
  ASSERT_EQ(truncate(ScratchPath("a.jpg").c_str(), int64_t{1} << 31),
            0);  // sparse: takes no space on disk
  const auto source = Open("a.jpg 1", "root_folder: '" + root_ + "'");
  Record record;
  EXPECT_EQ(MessageOf([&] { source->Read(0, &record); }),
            "4: '" + root_ +
                "a.jpg' has 2147483648 bytes, more than the limit of "
                "2147483647");
}

TEST_F(ImageListTest, RefusesPipesAndDevices) {
  const std::string pipe = ScratchPath("pipe.jpg");
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto source = Open(pipe + " 1\n/dev/zero 1", "");
  Record record;
  EXPECT_EQ(MessageOf([&] { source->Read(0, &record); }),
            "4: '" + pipe +
                "' is a pipe, and a file of a folder or list cannot be read from a "
                "pipe; write it to a file first");
  EXPECT_EQ(MessageOf([&] { source->Read(1, &record); }),
            "4: cannot read '/dev/zero': it is a device; a file is needed here");
}

TEST_F(ImageListTest, PassesOnHowToDecode) {
  WriteFile(ScratchPath("a"), "x");
  Record record;
  Open("a 1", "root_folder: '" + root_ + "' new_height: 4 new_width: 6")->Read(0, &record);
  EXPECT_EQ(record.decode.color, DecodeOptions::Color::kColor);
  EXPECT_EQ(record.decode.height, 4);
  EXPECT_EQ(record.decode.width, 6);
  EXPECT_FALSE(record.decode.scaled);
  Open("a 1", "root_folder: '" + root_ + "' new_height: 4 new_width: 6 scaled_decode: true")
      ->Read(0, &record);
  EXPECT_TRUE(record.decode.scaled);
  Open("a 1", "root_folder: '" + root_ + "' is_color: false")->Read(0, &record);
  EXPECT_EQ(record.decode.color, DecodeOptions::Color::kGray);
}

TEST_F(ImageListTest, SaysWhichLineHasNoLabel) {
  EXPECT_EQ(MessageOf([&] { Open("a.jpg 1\nb.jpg\n"); }),
            "4: " + list_ + ":2: no label after 'b.jpg'; each line is: path label [label...]");
  // A single number is a path, and names that strtof would parse are names.
  EXPECT_THAT(MessageOf([&] { Open("12\n"); }), HasSubstr("no label after '12'"));
  EXPECT_THAT(MessageOf([&] { Open("a nan\n"); }), HasSubstr("no label after 'a nan'"));
}

TEST_F(ImageListTest, SaysThatALabelIsTooLarge) {
  EXPECT_EQ(MessageOf([&] { Open("a.jpg 1\nb.jpg -1e39\n"); }),
            "4: " + list_ + ":2: label '-1e39' is too large for a float");
}

TEST_F(ImageListTest, SaysWhichLineHasAnotherNumberOfLabels) {
  EXPECT_EQ(MessageOf([&] { Open("a.jpg 1 2\nb.jpg 3\n"); }),
            "4: " + list_ + ":2: 1 labels, but line 1 has 2");
}

TEST_F(ImageListTest, SaysThatTheListIsMissingOrEmpty) {
  EXPECT_EQ(MessageOf([&] { OpenImageList(Parse<ImageDataParameter>("source: 'none.txt'")); }),
            "4: cannot read 'none.txt': No such file or directory");
  EXPECT_EQ(MessageOf([&] { Open("\n\n"); }), "4: the image list '" + list_ + "' is empty");
  EXPECT_EQ(MessageOf([] { OpenImageList(ImageDataParameter()); }),
            "3: image_data_param needs a source");
}

TEST_F(ImageListTest, SaysWhatAFileOfAnotherKindIs) {
  EXPECT_EQ(MessageOf([&] { Open(Idx({1}, {7})); }),
            "4: '" + list_ +
                "' is an IDX file (MNIST's format), but a list of images, one 'path label' line "
                "per image, is needed; layer Data reads it with backend: IDX, and 'doppio data "
                "convert' converts it to a database");
}

TEST_F(ImageListTest, SaysThatAnImageIsMissing) {
  const auto source = Open("gone.jpg 1", "root_folder: '" + root_ + "'");
  Record record;
  EXPECT_EQ(MessageOf([&] { source->Read(0, &record); }),
            "4: cannot read '" + root_ + "gone.jpg': No such file or directory");
}

TEST_F(ImageListTest, ReadsIntoOneBufferFilesThatGrowShrinkAndAreEmpty) {
  const std::string contents[] = {"longer than the next", "", "b", std::string(100000, 'c')};
  std::string lines;
  for (int i = 0; i < 4; ++i) {
    WriteFile(ScratchPath(std::to_string(i)), contents[i]);
    lines += std::to_string(i) + " 0\n";
  }
  const auto source = Open(lines, "root_folder: '" + root_ + "'");
  Record record;
  for (const int i : {0, 1, 2, 3, 2, 0}) {
    source->Read(i, &record);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(record.encoded), record.encoded_bytes),
              contents[i]);
  }
}

TEST_F(ImageListTest, SaysThatScaledDecodingNeedsASize) {
  EXPECT_EQ(MessageOf([&] { Open("a 1", "scaled_decode: true"); }),
            "3: image_data_param: scaled_decode needs new_height and new_width");
}

TEST_F(ImageListTest, WantsBothNewExtents) {
  EXPECT_EQ(MessageOf([&] { Open("a 1", "new_height: 3"); }),
            "3: image_data_param: set both new_height and new_width, or neither");
}

}  // namespace
}  // namespace doppio
