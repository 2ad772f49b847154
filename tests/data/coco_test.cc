#include "data/annotation/coco.h"

#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Coco(const std::string& images, const std::string& annotations,
                 const std::string& categories = R"({"id": 9, "name": "dog"})") {
  return R"({"info": {}, "images": [)" + images + R"(], "annotations": [)" + annotations +
         R"(], "categories": [)" + categories + "]}";
}

constexpr char kImage[] = R"({"id": 70, "file_name": "a.jpg", "height": 10, "width": 20})";

TEST(Coco, ReadsObjectsOfEachImage) {
  const CocoAnnotations read =
      ParseCoco(Coco(std::string(kImage) + R"(, {"id": 3, "file_name": "b.jpg"})",
                     R"({"image_id": 3, "category_id": 9, "bbox": [1, 2, 10, 5.5], "iscrowd": 1,
                         "segmentation": [[1, 2, 3], {"counts": "x"}]},
                        {"image_id": 70, "category_id": 2, "bbox": [0, 0, 0.5, 3]})",
                     R"({"id": 9, "name": "dog"}, {"id": 2, "name": "cat"})"),
                "c.json", "images/");
  EXPECT_THAT(read.class_names, ElementsAre("cat", "dog"));
  ASSERT_EQ(2u, read.images.size());
  EXPECT_EQ("images/a.jpg", read.images[0].image);
  EXPECT_EQ(std::make_pair(10, 20), std::make_pair(read.images[0].height, read.images[0].width));
  EXPECT_EQ(0, read.images[1].height);
  ASSERT_EQ(1u, read.images[0].objects.size());
  EXPECT_EQ("cat", read.images[0].objects[0].name);
  EXPECT_EQ(0, read.images[0].objects[0].right);
  const AnnotatedObject& dog = read.images[1].objects.at(0);
  EXPECT_EQ((std::vector<double>{1, 2, 10, 6.5}),
            (std::vector<double>{dog.left, dog.top, dog.right, dog.bottom}));
  EXPECT_TRUE(dog.difficult);
}

std::string CocoMistake(const std::string& text) {
  return MessageOf([&] { ParseCoco(text, "c.json", ""); });
}

TEST(Coco, ExplainsMistakesWithTheirPlace) {
  EXPECT_THAT(CocoMistake("{\"images\": [],\n  \"x\": ]"),
              HasSubstr("4: c.json:2:8: the JSON is damaged here"));
  EXPECT_THAT(CocoMistake(""), HasSubstr("c.json:1:1: the JSON is damaged here"));
  EXPECT_THAT(CocoMistake("[]"), HasSubstr("c.json: the file has no list 'categories'"));
  EXPECT_THAT(CocoMistake(Coco(kImage, "7")), HasSubstr("annotations[0] has no 'image_id'"));
  EXPECT_THAT(CocoMistake(Coco(kImage, "", R"({"id": 1, "name": 2})")),
              HasSubstr("categories[0] has no 'name', a text"));
  EXPECT_THAT(CocoMistake(Coco("", "")), HasSubstr("the list 'images' is empty"));
  EXPECT_THAT(CocoMistake(Coco(std::string(kImage) + "," + kImage, "")),
              HasSubstr("images[1] has the id 70 of another image"));
  EXPECT_THAT(CocoMistake(Coco(R"({"id": 1, "file_name": "a", "height": -4})", "")),
              HasSubstr("images[0] has the height -4"));
  EXPECT_THAT(CocoMistake(Coco(kImage, R"({"image_id": 1, "category_id": 9})")),
              HasSubstr("annotations[0] names image 1, which 'images' lacks"));
  EXPECT_THAT(CocoMistake(Coco(kImage, R"({"image_id": 70, "category_id": 1})")),
              HasSubstr("names category 1, which 'categories' lacks"));
  for (const char* box : {"[1, 2, 3]", "7", "[1, 2, 3, \"4\"]"}) {
    EXPECT_THAT(CocoMistake(Coco(kImage, R"({"image_id": 70, "category_id": 9, "bbox": )" +
                                             std::string(box) + "}")),
                HasSubstr("annotations[0] has no 'bbox' of four numbers"));
  }
}

TEST(Coco, RefusesNumbersBeyondDouble) {
  const std::string annotation = R"({"image_id": 70, "category_id": 9, "bbox": [1e999, 1, 2, 3]})";
  EXPECT_EQ(CocoMistake("\n" + annotation),
            "4: c.json:2:49: the number that ends here is too large");
  EXPECT_LT(CocoMistake("[" + std::string(1'000'000, '9') + "]").size(), 1000u);
}

// Filtering values while they are parsed took minutes for so many.
TEST(Coco, ReadsManyCategories) {
  std::string categories = R"({"id": 0, "name": "a", "segmentation": {"x": [[1]]}})";
  for (int i = 1; i < 100'000; ++i)
    categories += R"(, {"id": )" + std::to_string(i) + R"(, "name": "a"})";
  EXPECT_EQ(ParseCoco(Coco(kImage, "", categories), "c.json", "").class_names.size(), 100'000u);
}

TEST(Coco, RefusesANameWithAZero) {
  EXPECT_EQ(CocoMistake(Coco(R"({"id": 1, "file_name": "a.jpg\u0000.png"})", "")),
            "4: c.json: images[0] has a 'file_name' with the character 0, which no path has");
}

TEST(Coco, EndsBoxesWithoutAreaBeforeTheyBegin) {
  const CocoAnnotations read = ParseCoco(
      Coco(kImage, R"({"image_id": 70, "category_id": 9, "bbox": [1, 2, -3, 0]})"), "c.json", "");
  const AnnotatedObject& object = read.images[0].objects.at(0);
  EXPECT_EQ(object.right, -2);
  EXPECT_EQ(object.bottom, 1);
}

}  // namespace
}  // namespace doppio
