// Tests that every reader of text files takes them as any editor writes them, and that paths in
// lists may contain spaces.
#include <hdf5.h>

#include <functional>

#include "data/annotation/voc.h"
#include "data/record/path_lines.h"
#include "data/source/class_names.h"
#include "data/source/hdf5.h"
#include "data/source/image_lines.h"
#include "data/source/open_source.h"
#include "data/source/window_file.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A kind of text file: two lines, the text between them, and what a reader finds in the file.
struct TextKind {
  std::string name;
  std::vector<std::string> lines;
  std::function<std::string(const std::string& path)> read;
};

void WriteRows(const std::string& path) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t rows = 1;
  const hid_t space = H5Screate_simple(1, &rows, nullptr);
  H5Dclose(H5Dcreate2(file, "d", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  H5Fclose(file);
}

std::string PairsIn(const std::string& list, const std::string& type) {
  const auto source =
      OpenImagePairs(Parse<ImageDataParameter>("source: '" + list + "' root_folder: '" +
                                               ScratchPath("") + "' label_type: " + type),
                     TransformationParameter(), false, Random(1, 1));
  std::string found;
  Record record;
  for (int64_t i = 0; i < source->size(); ++i) {
    source->Read(i, &record);
    found += source->Name(i).substr(0, source->Name(i).rfind(" (")) + " " +
             std::to_string(record.pixels.bytes[3]) + "; ";
  }
  return found;
}

// Writes the files that the lists name.
std::vector<TextKind> Kinds() {
  const std::string image = Png(1, 1, 3, {9, 9, 9}), root = ScratchPath("");
  for (const char* name : {"é.png", "b.png", "my é.png"}) WriteFile(root + name, image);
  for (const char* name : {"ü.png", "my l.png"}) WriteFile(root + name, Png(1, 1, 1, {5}));
  for (const char* name : {"é.xml", "my a.xml"})
    WriteFile(root + name, "<annotation></annotation>");
  for (const char* name : {"é.h5", "my b.h5"}) WriteRows(root + name);
  const auto voc = [root](const std::string& list) {
    std::string found;
    for (const ImageAnnotation& of : ReadVocList(list, root)) found += of.image + "; ";
    return found;
  };
  const auto lines = [](const std::string& list) {
    std::string found;
    for (const ImageLine& line : ReadImageLines(list))
      found += line.path + " " + std::to_string(line.labels[0]) + "; ";
    return found;
  };
  const auto rows = [](const std::string& list) {
    const Hdf5Rows read(list, {"d"}, {});
    return read.NameOf(0) + "; " + read.NameOf(1);
  };
  const auto names = [](const std::string& list) {
    std::string found;
    for (const std::string& name : ReadLabels(list)) found += name + "; ";
    return found;
  };
  const auto windows = [](const std::string& list) {
    const WindowFile file = ReadWindowFile(list, 0.5f, 0.5f);
    return file.paths.at(0) + "; " + file.paths.at(1) + std::to_string(file.objects.size());
  };
  return {
      {"an image list", {"é.png 1", "my é.png 2"}, lines},
      {"class names", {"가 나", "b"}, names},
      {"a list of HDF5 files", {root + "é.h5", root + "my b.h5"}, rows},
      {"a window file",
       {"# 0 é.png 3 1 1 1", "1 0.9 0 0 0 0", "# 1", "my é.png", "3 1 1 0"},
       windows},
      {"a VOC list", {"é.png é.xml", "my é.png my a.xml"}, voc},
      {"labelled images",
       {"é.png 7", "my é.png 8"},
       [](const std::string& list) { return PairsIn(list, "IMAGE"); }},
      {"images without labels",
       {"é.png", "my é.png"},
       [](const std::string& list) { return PairsIn(list, "NONE"); }},
      {"pairs",
       {"é.png ü.png", "my é.png my l.png"},
       [](const std::string& list) { return PairsIn(list, "PIXEL"); }},
  };
}

TEST(TextLists, MayComeFromAnyEditorAndSystem) {
  for (const TextKind& kind : Kinds()) {
    const auto read = [&](const std::string& start, const std::string& end, bool last) {
      std::string text = start;
      for (size_t i = 0; i < kind.lines.size(); ++i)
        text += kind.lines[i] + (last || i + 1 < kind.lines.size() ? end : "");
      WriteFile(ScratchPath("list.txt"), text);
      return kind.read(ScratchPath("list.txt"));
    };
    const std::string expected = read("", "\n", true), mark = "\xef\xbb\xbf";
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(read("", "\n", false), expected) << kind.name;
    EXPECT_EQ(read(mark, "\n", true), expected) << kind.name;
    EXPECT_EQ(read(mark, "\r\n", false), expected) << kind.name;
    EXPECT_EQ(read("", " \t\r\n", true), expected) << kind.name;
    EXPECT_EQ(read("", "\r", true), expected) << kind.name;
    if (kind.name != "class names") {
      EXPECT_EQ(read("\n \t\n", "\n\n", true), expected) << kind.name;
    }
    WriteFile(ScratchPath("list.txt"), std::string("\xff\xfe"
                                                   "a\0\n\0",
                                                   6));
    EXPECT_THAT(MessageOf([&] { kind.read(ScratchPath("list.txt")); }),
                HasSubstr("is text in UTF-16"))
        << kind.name;
  }
}

std::string TwoPaths(const std::string& line) {
  const auto [first, second] = TwoPathsIn(line, ScratchPath(""), {"list.txt", 3, 0}, "two paths");
  return first + "|" + second;
}

TEST(TwoPathsIn, AreSeparatedByATabOrByTheSpaceThatGivesTwoFiles) {
  for (const char* name : {"a.png", "a b.png", "b.png c.png", "c.png", "a", "b c"})
    WriteFile(ScratchPath(name), "");
  EXPECT_EQ(TwoPaths("x.png y.png"), "x.png|y.png");  // need not exist
  EXPECT_EQ(TwoPaths("  x.png \t y.png"), "x.png|y.png");
  EXPECT_EQ(TwoPaths("x y.png\ty z.png"), "x y.png|y z.png");
  EXPECT_EQ(TwoPaths("a b.png  c.png"), "a b.png|c.png");
  EXPECT_EQ(TwoPaths("a.png a b.png"), "a.png|a b.png");
  EXPECT_THAT(
      MessageOf([] { TwoPaths("a b.png c.png d"); }),
      HasSubstr("4: list.txt:3: each line is two paths; no space of this line separates two "
                "files that exist; if paths contain spaces, put a tab between the two"));
  EXPECT_EQ(TwoPaths("a b c"), "a|b c");
  WriteFile(ScratchPath("a b"), "");
  WriteFile(ScratchPath("c"), "");
  EXPECT_THAT(MessageOf([] { TwoPaths("a b c"); }),
              HasSubstr("; more than one space of this line"));
  for (const char* line : {"a.png", "a.png\tb\tc", "a.png\t"})
    EXPECT_EQ(MessageOf([&] { TwoPaths(line); }), "4: list.txt:3: each line is two paths") << line;
}

TEST(PathsIn, AreTheLineOrItsWords) {
  const std::string a = ScratchPath("a.h5"), b = ScratchPath("b c.h5");
  for (const std::string& path : {a, b}) WriteFile(path, "");
  EXPECT_THAT(PathsIn(a), ElementsAre(a));
  EXPECT_THAT(PathsIn("  " + b), ElementsAre(b));
  EXPECT_THAT(PathsIn(a + "  " + a), ElementsAre(a, a));
  EXPECT_THAT(PathsIn(a + "\t" + b), ElementsAre(a, b));
  EXPECT_THAT(PathsIn("no such.h5"), ElementsAre("no such.h5"));
  EXPECT_THAT(PathsIn(""), ElementsAre());
}

TEST(WindowPaths, EndBeforeTheNumbersOfTheirLine) {
  const auto paths = [](const std::string& text) {
    WriteFile(ScratchPath("windows.txt"), text);
    const WindowFile file = ReadWindowFile(ScratchPath("windows.txt"), 0.5f, 0.5f);
    std::string found = std::to_string(file.objects.size()) + " objects in";
    for (const std::string& path : file.paths) found += " '" + path + "'";
    return found;
  };
  EXPECT_EQ(paths("# 0\na 1 b.jpg\n3\n5 6 0\n"), "0 objects in 'a 1 b.jpg'");
  EXPECT_EQ(paths("# 0 a 1 b.jpg 3 5 6 1 1 0.9 0 0 1 1 # 1 c.jpg 3 5 6 0"),
            "1 objects in 'a 1 b.jpg' 'c.jpg'");
}

}  // namespace
}  // namespace doppio
