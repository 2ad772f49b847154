// Tests the folders into which `classify` sorts images.
#include "tools/classify/sorted_files.h"

#include <filesystem>
#include <set>

#include "core/base/file.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

TEST(FolderNames, AreLabelsOrNumbersAndUnique) {
  EXPECT_EQ(FolderNames({"cat", "", "고양 이", "cat", "unsure", "1"}, "unsure"),
            (Names{"cat", "1", "고양 이", "cat (class 3)", "unsure (class 4)", "1 (class 5)"}));
}

TEST(FolderNames, AreFileNamesWhateverTheLabel) {
  EXPECT_EQ(FolderNames({"a/b", "..", ".git", "x\ny", "100%", "a\\b"}, ""),
            (Names{"a%2Fb", "%2E%2E", "%2Egit", "x%0Ay", "100%25", "a%5Cb"}));
  std::string name;
  for (int i = 0; i < 100; ++i) name += "이";
  EXPECT_EQ(FolderNames({name}, "")[0], name.substr(0, 198)) << "66 whole letters of 3 bytes";
}

class SortedFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    for (const char* name : {"a/x.jpg", "b/x.jpg", "c/x.jpg"}) {
      fs::create_directories(DirName(folder_ + "/" + name));
      WriteFileAtomically(folder_ + "/" + name, name);
    }
  }
  std::set<std::string> Sorted() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(out_)) {
      if (!entry.is_directory())
        names.insert(entry.path().string().substr(out_.size()) + " " +
                     ReadFile(entry.path().string()));
    }
    return names;
  }

  const std::string folder_ = ScratchPath("to_sort"), out_ = folder_ + "/out/";
};

TEST_F(SortedFilesTest, CopiesGetNumbersAndReplaceNothing) {
  for (int run = 0; run < 2; ++run) {
    SortedFiles sorted(out_, SortedFiles::By::kCopy);
    for (const char* name : {"a/x.jpg", "b/x.jpg"}) sorted.Add(folder_ + "/" + name, "cat");
    sorted.Add(folder_ + "/c/x.jpg", "dog");
  }
  EXPECT_EQ(Sorted(), (std::set<std::string>{"cat/x.jpg a/x.jpg", "cat/x_2.jpg b/x.jpg",
                                             "cat/x_3.jpg a/x.jpg", "cat/x_4.jpg b/x.jpg",
                                             "dog/x.jpg c/x.jpg", "dog/x_2.jpg c/x.jpg"}));
}

TEST_F(SortedFilesTest, LinksLeadToTheFilesFromAnywhere) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  SortedFiles sorted(out_, SortedFiles::By::kLink);
  sorted.Add("a/x.jpg", "cat");
  sorted.Add("b/x.jpg", "cat");
  fs::current_path(before);
  EXPECT_EQ(Sorted(), (std::set<std::string>{"cat/x.jpg a/x.jpg", "cat/x_2.jpg b/x.jpg"}));
  EXPECT_TRUE(fs::is_symlink(out_ + "cat/x.jpg"));
}

TEST_F(SortedFilesTest, SaysWhatCannotBeWritten) {
  WriteFileAtomically(folder_ + "/file", "");
  SortedFiles sorted(folder_ + "/file", SortedFiles::By::kCopy);
  EXPECT_THAT(MessageOf([&] { sorted.Add(folder_ + "/a/x.jpg", "cat"); }),
              testing::HasSubstr("4: cannot make folder '" + folder_ + "/file/cat'"));
}

}  // namespace
}  // namespace doppio
