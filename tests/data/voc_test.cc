#include "data/annotation/voc.h"

#include <cmath>

#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::HasSubstr;

constexpr char kTwoObjects[] = R"(<annotation>
  <folder>VOC2007</folder>
  <size><width>20</width><height>10</height><depth>3</depth></size>
  <object>
    <name>dog</name><difficult>0</difficult>
    <bndbox><xmin>3</xmin><ymin>2</ymin><xmax>12</xmax><ymax>9</ymax></bndbox>
    <part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part>
  </object>
  <object><difficult> 1 </difficult><name> a &amp; b </name>
    <bndbox><ymax>10</ymax><xmax>20.5</xmax><ymin>1</ymin><xmin>1</xmin></bndbox></object>
</annotation>
)";

TEST(Voc, ReadsObjectsWithPixelsFromZero) {
  const ImageAnnotation read = ParseVoc(kTwoObjects, "a.xml");
  EXPECT_EQ(std::make_pair(10, 20), std::make_pair(read.height, read.width));
  ASSERT_EQ(2u, read.objects.size());
  const AnnotatedObject& dog = read.objects[0];
  EXPECT_EQ("dog", dog.name);
  EXPECT_EQ((std::vector<double>{2, 1, 11, 8}),
            (std::vector<double>{dog.left, dog.top, dog.right, dog.bottom}));
  EXPECT_FALSE(dog.difficult);
  const AnnotatedObject& other = read.objects[1];
  EXPECT_EQ("a & b", other.name);
  EXPECT_EQ(19.5, other.right);
  EXPECT_TRUE(other.difficult);
}

// Returns the error for an annotation with the content `inside`.
std::string VocMistake(const std::string& inside) {
  return MessageOf([&] { ParseVoc("<annotation>\n" + inside + "</annotation>", "a.xml"); });
}

TEST(Voc, ExplainsMistakesWithTheirPlace) {
  EXPECT_THAT(VocMistake("<object><name>x</object>"),
              HasSubstr("4: a.xml:2:18: the XML is damaged: mismatched tag"));
  EXPECT_THAT(MessageOf([] { ParseVoc("", "a.xml"); }), HasSubstr("no element found"));
  EXPECT_THAT(MessageOf([] { ParseVoc("<html></html>", "a.xml"); }),
              HasSubstr("a.xml:1:1: the outermost tag is <html>"));
  EXPECT_THAT(VocMistake("\n <object></object>"), HasSubstr("a.xml:3:2: the object has no <name>"));
  EXPECT_THAT(VocMistake("<object><name>x</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>1</xmax>"
                         "</bndbox></object>"),
              HasSubstr("a.xml:2:1: the object 'x' has no <ymax> in its <bndbox>"));
  EXPECT_THAT(VocMistake("<object><bndbox><xmin>one</xmin></bndbox></object>"),
              HasSubstr("a.xml:2:26: <xmin> is 'one'; a number is expected here"));
  EXPECT_THAT(VocMistake("<size><width>nan</width></size>"), HasSubstr("<width> is 'nan'"));
}

TEST(Voc, KeepsUnusableBoxesForTheirReader) {
  const ImageAnnotation read = ParseVoc(
      "<annotation><object><name>x</name><bndbox><xmin>9</xmin><ymin>nan</ymin><xmax>1</xmax>"
      "<ymax>-inf</ymax></bndbox></object></annotation>",
      "a.xml");
  ASSERT_EQ(read.objects.size(), 1u);
  EXPECT_EQ(read.objects[0].left, 8);
  EXPECT_EQ(read.objects[0].right, 0);
  EXPECT_TRUE(std::isnan(read.objects[0].top));
  EXPECT_TRUE(std::isinf(read.objects[0].bottom));
}

TEST(Voc, RefusesDeepNesting) {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += "<a>";
  EXPECT_EQ(VocMistake(deep), "4: a.xml:2:298: the tags are nested more than 100 deep");
}

TEST(Voc, ReadsTheListAndReportsAllMistakes) {
  WriteFile(ScratchPath("a.xml"), kTwoObjects);
  WriteFile(ScratchPath("list.txt"), "a.jpg a.xml\n\nb.jpg a.xml\n");
  const auto read = ReadVocList(ScratchPath("list.txt"), ScratchPath(""));
  ASSERT_EQ(2u, read.size());
  EXPECT_EQ(ScratchPath("b.jpg"), read[1].image);
  EXPECT_EQ(3, read[1].at.line);
  WriteFile(ScratchPath("list.txt"), "a.jpg\nb.jpg nowhere.xml\n");
  try {
    ReadVocList(ScratchPath("list.txt"), ScratchPath(""));
    FAIL();
  } catch (const ErrorList& e) {
    ASSERT_EQ(2u, e.errors().size());
    EXPECT_THAT(std::string(e.what()), HasSubstr("list.txt:1"));
    EXPECT_THAT(std::string(e.what()), HasSubstr("that of its annotation"));
    EXPECT_THAT(std::string(e.what()), HasSubstr("nowhere.xml"));
  }
  WriteFile(ScratchPath("list.txt"), "\n");
  EXPECT_THAT(MessageOf([] { ReadVocList(ScratchPath("list.txt"), ""); }), HasSubstr("is empty"));
}

}  // namespace
}  // namespace doppio
