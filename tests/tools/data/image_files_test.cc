// Tests the search for images in folders.
#include "tools/data/image_files.h"

#include <sys/stat.h>

#include <filesystem>

#include "core/base/file.h"
#include "tests/data/tiny_data.h"
#include "tests/testing/log_lines.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

using Paths = std::vector<std::string>;

class ImageFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void Write(const std::string& name, const std::string& content = "") {
    fs::create_directories(DirName(folder_ + "/" + name));
    WriteFileAtomically(folder_ + "/" + name, content);
  }

  // Returns the images of `paths`, without the folder of the test, in parts of `at_once`.
  Paths Found(const Paths& paths, size_t at_once = 100, const std::string& left_out = "") {
    ImageMistakes mistakes;
    ImageFiles files(paths, left_out, &mistakes);
    Paths found;
    for (;;) {
      const Paths part = files.Take(at_once);
      for (const std::string& path : part)
        found.push_back(path.rfind(folder_ + "/", 0) == 0 ? path.substr(folder_.size() + 1) : path);
      if (part.size() < at_once) break;
    }
    mistakes_ = mistakes.count() == 0 ? "" : MessageOf([&] { mistakes.ThrowIfAny(); });
    return found;
  }

  const std::string folder_ = ScratchPath("photos");
  std::string mistakes_;  // of the last call of Found
};

TEST_F(ImageFilesTest, FilesOfAFolderComeBeforeItsSubfoldersEachByName) {
  for (const char* name : {"b.JPG", "a.png", "notes.txt", "b/x.png", "a/z.jpeg", "a/k/y.bmp",
                           "a/j/고양이 1.jpg", "empty/readme"})
    Write(name);
  const Paths all = {"a.png", "b.JPG", "a/z.jpeg", "a/j/고양이 1.jpg", "a/k/y.bmp", "b/x.png"};
  for (const size_t at_once : {size_t{1}, size_t{4}, size_t{6}, size_t{100}})
    EXPECT_EQ(Found({folder_}, at_once), all) << at_once;
  EXPECT_EQ(Found({"x.gif", folder_ + "/b", folder_ + "/a.png"}),
            (Paths{"x.gif", "b/x.png", "a.png"}));
}

TEST_F(ImageFilesTest, HiddenFilesAndFoldersAreLeftOut) {
  for (const char* name : {"a.png", ".b.png", ".thumbs/c.png"}) Write(name);
  EXPECT_EQ(Found({folder_}), Paths{"a.png"});
  EXPECT_EQ(Found({folder_ + "/.thumbs", folder_ + "/.b.png"}), (Paths{".thumbs/c.png", ".b.png"}));
}

TEST_F(ImageFilesTest, LinksAreFollowedWithoutLoops) {
  Write("a/x.png");
  fs::create_directory_symlink("..", folder_ + "/a/up");
  fs::create_directory_symlink("a", folder_ + "/z");
  fs::create_symlink("a/x.png", folder_ + "/link.png");
  fs::create_symlink("nowhere.png", folder_ + "/broken.png");
  EXPECT_EQ(Found({folder_}), (Paths{"broken.png", "link.png", "a/x.png"}));
}

TEST_F(ImageFilesTest, PipesAreNoImages) {
  Write("a.png");
  ASSERT_EQ(mkfifo((folder_ + "/b.png").c_str(), 0600), 0);
  EXPECT_EQ(Found({folder_}), Paths{"a.png"});
}

TEST_F(ImageFilesTest, TheFolderOfResultsIsLeftOutEvenIfItIsMadeMeanwhile) {
  Write("a/x.png");
  Write("b/y.png");
  ImageMistakes mistakes;
  ImageFiles files({folder_}, folder_ + "/b/sorted", &mistakes);
  EXPECT_EQ(files.Take(1).size(), 1u);
  Write("b/sorted/cat/x.png");
  EXPECT_EQ(files.Take(9), Paths{folder_ + "/b/y.png"});
  EXPECT_EQ(MessageOf([&] { ImageFiles({folder_}, folder_ + "/.", &mistakes); }),
            "2: '" + folder_ + "/.' is the folder of the images; name another one for results");
}

TEST_F(ImageFilesTest, AFolderWithoutImagesIsAMistakeAfterTheOthers) {
  Write("full/a.png");
  Write("none/b.TIFX");
  EXPECT_EQ(Found({folder_ + "/none", folder_ + "/full"}), Paths{"full/a.png"});
  EXPECT_THAT(mistakes_, testing::HasSubstr("4: folder '" + folder_ + "/none' has no image file"));
  Found({folder_});
  EXPECT_EQ(mistakes_, "");
}

TEST_F(ImageFilesTest, TheFirstBytesDecide) {
  const std::string jpeg("\xff\xd8\xff", 3), heic(
                                                 "\0\0\0\x18"
                                                 "ftypheic",
                                                 12);
  Write("without ending", jpeg);
  Write("사진.old", "GIF89a");
  Write("heic.jpg", heic);
  Write("BMW.txt", "BMW P5 ");
  Write("b.TIF");
  Write("c.webp", jpeg);
  const LogLines log;
  EXPECT_EQ(Found({folder_}), (Paths{"b.TIF", "c.webp", "without ending", "사진.old"}));
  EXPECT_EQ(log.Count("these are left out: 1 in formats that Doppio does not read, such as '" +
                      folder_ + "/heic.jpg', a HEIC image; convert them to PNG or JPEG"),
            1);
}

TEST_F(ImageFilesTest, ImagesInOtherFormatsAreCounted) {
  const std::string avif(
      "\0\0\0\x18"
      "ftypavif",
      12);
  Write("b.TIF", avif);
  Write("a/c.webp", avif);
  const std::string others = "2 in formats that Doppio does not read, such as '" + folder_ +
                             "/a/c.webp', an AVIF image; convert them to PNG or JPEG";
  EXPECT_EQ(Found({folder_}), Paths());
  EXPECT_THAT(mistakes_, testing::HasSubstr("images: " + others));
  Write("c.jfif");
  const LogLines log;
  EXPECT_EQ(Found({folder_}), Paths{"c.jfif"});
  EXPECT_EQ(log.Count("these are left out: " + others), 1);
}

TEST(ImageMistakes, KeepsTheFirstAndCountsTheRest) {
  ImageMistakes mistakes;
  for (int i = 0; i < 1234; ++i) mistakes.AddImage("a.png", "cannot read 'a.png': gone");
  EXPECT_EQ(mistakes.count(), 1234);
  const std::string text = MessageOf([&] { mistakes.ThrowIfAny(); });
  EXPECT_THAT(text, testing::HasSubstr("image 'a.png': cannot read it: gone\n"));
  EXPECT_THAT(text, testing::EndsWith("1134 more errors of images"));
}

}  // namespace
}  // namespace doppio
