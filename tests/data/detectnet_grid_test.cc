#include "data/augment/detectnet_grid.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace doppio {
namespace {

// A grid of 3 x 4 cells of 2 x 2 pixels.
DetectNetGrid SmallGrid(const std::string& fields) {
  DetectNetGroundTruthParameter param;
  for (const std::string& text : {std::string("stride: 2 image_size_x: 8 image_size_y: 6"), fields})
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(text, &param));
  return DetectNetGrid(param);
}

// Returns the labels, which begin as numbers that Write must replace.
std::vector<float> LabelsOf(const DetectNetGrid& grid,
                            const std::vector<DetectNetObject>& objects) {
  std::vector<float> values(grid.channels() * grid.height() * grid.width(), -7.0f);
  grid.Write(objects, values.data());
  return values;
}

// Returns the values of a cell in all channels.
std::vector<float> CellOf(const std::vector<float>& labels, int y, int x) {
  std::vector<float> cell;
  for (size_t at = y * 4 + x; at < labels.size(); at += 12) cell.push_back(labels[at]);
  return cell;
}

DetectNetObject ObjectAt(double x, double y, double width, double height, int source = 1) {
  DetectNetObject object;
  object.box = cv::Rect2d(x, y, width, height);
  object.source = source;
  return object;
}

TEST(DetectNetGrid, DescribesTheObjectInTheCellsOfItsCenter) {
  const DetectNetGrid grid = SmallGrid(
      "scale_cvg: 0.5 gridbox_type: GRIDBOX_MIN min_cvg_len: 1 obj_norm: true "
      "object_class { src: 1 dst: 0 } object_class { src: 7 dst: 1 }");
  EXPECT_EQ(grid.channels(), 10);
  EXPECT_EQ(grid.height(), 3);
  EXPECT_EQ(grid.width(), 4);
  // The object's center is (4, 3). Its coverage reaches from 3 to 5 in x and from 2 to 4 in y.
  const std::vector<float> labels = LabelsOf(grid, {ObjectAt(2, 1, 4, 4, 7)});
  const std::vector<float> left = {1, 0, -1, 4, 3, 0.25f, 0.25f, 1, 0, 1};
  const std::vector<float> right = {1, -2, -1, 2, 3, 0.25f, 0.25f, 1, 0, 1};
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) {
      const bool covered = y == 1 && (x == 1 || x == 2);
      const std::vector<float> expected =
          !covered ? std::vector<float>(10, 0) : (x == 1 ? left : right);
      EXPECT_EQ(CellOf(labels, y, x), expected) << y << " " << x;
    }
  }
}

TEST(DetectNetGrid, CoversAtLeastTheMinimumAndAtMostTheMaximum) {
  const auto cells = [](const std::string& fields) {
    const std::vector<float> labels = LabelsOf(SmallGrid(fields), {ObjectAt(0, 0, 8, 6)});
    return std::count(labels.begin(), labels.begin() + 12, 1.0f);
  };
  EXPECT_EQ(cells("gridbox_type: GRIDBOX_MIN scale_cvg: 1 min_cvg_len: 2"), 12);
  EXPECT_EQ(cells("gridbox_type: GRIDBOX_MIN scale_cvg: 0.1 min_cvg_len: 4"), 6);
  EXPECT_EQ(cells("gridbox_type: GRIDBOX_MIN scale_cvg: 0.1 min_cvg_len: 100"), 12);
  EXPECT_EQ(cells("gridbox_type: GRIDBOX_MAX scale_cvg: 1 max_cvg_len: 4"), 6);
}

TEST(DetectNetGrid, DividesTheCellByTheCoverage) {
  const auto norm = [](const std::string& fields, double side) {
    const std::string all = "scale_cvg: 1 gridbox_type: GRIDBOX_MIN min_cvg_len: 1 " + fields;
    return CellOf(LabelsOf(SmallGrid(all), {ObjectAt(0, 0, side, side)}), 0, 0)[7];
  };
  EXPECT_EQ(norm("obj_norm: true", 4), 0.25f);
  EXPECT_EQ(norm("obj_norm: true", 1), 4);
  EXPECT_EQ(norm("", 4), 1);
  EXPECT_EQ(norm("", 1), 4);
}

TEST(DetectNetGrid, CutsObjectsAtTheImageOnRequest) {
  const auto right_of = [](const std::string& fields) {
    const std::string all = "scale_cvg: 1 gridbox_type: GRIDBOX_MIN min_cvg_len: 1 " + fields;
    return CellOf(LabelsOf(SmallGrid(all), {ObjectAt(6, 0, 4, 2)}), 0, 3)[3];
  };
  EXPECT_EQ(right_of("crop_bboxes: true"), 2);
  EXPECT_EQ(right_of("crop_bboxes: false"), 4);
}

TEST(DetectNetGrid, TakesTheLastObjectAndKnownClasses) {
  const DetectNetGrid grid = SmallGrid("scale_cvg: 1 gridbox_type: GRIDBOX_MIN min_cvg_len: 1");
  const std::vector<float> labels =
      LabelsOf(grid, {ObjectAt(0, 0, 4, 2), ObjectAt(0, 0, 2, 2), ObjectAt(4, 4, 2, 2, 0),
                      ObjectAt(20, 20, 2, 2), ObjectAt(2, 2, 0, 2)});
  EXPECT_EQ(CellOf(labels, 0, 0)[3], 2);
  EXPECT_EQ(CellOf(labels, 0, 1)[3], 2);  // 4 - 2, of the first object
  EXPECT_EQ(std::count(labels.begin(), labels.begin() + 12, 1.0f), 2);
}

TEST(DetectNetGrid, ReadsTheRowsOfDigits) {
  std::vector<float> rows(3 * 16, 0.0f);
  rows[0] = 1;
  rows[1] = 16;
  const std::vector<float> object = {1.5f, 2, 3, 4, 0, 7};
  std::copy(object.begin(), object.end(), rows.begin() + 16);
  const std::vector<DetectNetObject> objects = ReadDetectNetObjects(rows.data(), 48);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0].box, cv::Rect2d(1.5, 2, 3, 4));
  EXPECT_EQ(objects[0].source, 7);
  rows[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(ReadDetectNetObjects(rows.data(), 48), UserError);
  rows[0] = 3;
  EXPECT_THROW(ReadDetectNetObjects(rows.data(), 48), UserError);
  rows[0] = 1;
  rows[1] = 5;
  EXPECT_THROW(ReadDetectNetObjects(rows.data(), 48), UserError);
  EXPECT_THROW(ReadDetectNetObjects(rows.data(), 3), UserError);
}

TEST(DetectNetGrid, RejectsParametersWithoutMeaning) {
  EXPECT_THROW(SmallGrid("stride: 0"), UserError);
  EXPECT_THROW(SmallGrid("stride: 20"), UserError);
  EXPECT_THROW(SmallGrid("scale_cvg: -1"), UserError);
  EXPECT_THROW(SmallGrid("image_size_x: 3000000000"), UserError);
}

}  // namespace
}  // namespace doppio
