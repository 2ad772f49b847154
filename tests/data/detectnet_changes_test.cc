#include "data/augment/detectnet_changes.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "data/augment/mean_file.h"
#include "proto/data.pb.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

constexpr char kNever[] =
    "crop_prob: 0 scale_prob: 0 flip_prob: 0 rotation_prob: 0 hue_rotation_prob: 0 "
    "desaturation_prob: 0 ";

DetectNetChanges Changes(const std::string& fields, cv::Size size,
                         const std::string& transform = "") {
  DetectNetAugmentationParameter param;
  TransformationParameter mean;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kNever, &param));
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(fields, &param));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(transform, &mean));
  return DetectNetChanges(param, mean, size);
}

// An image whose pixels are 10 * y + x in all channels.
cv::Mat Numbered(int height, int width) {
  cv::Mat image(height, width, CV_32FC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      image.at<cv::Vec3f>(y, x) = cv::Vec3f::all(static_cast<float>(10 * y + x));
  }
  return image;
}

std::vector<float> Row(const cv::Mat& image, int y) {
  std::vector<float> row;
  for (int x = 0; x < image.cols; ++x) row.push_back(image.at<cv::Vec3f>(y, x)[0]);
  return row;
}

Draws NewDraws(uint64_t sample = 0) { return Draws(Random(3, 4), sample); }

TEST(DetectNetChanges, KeepImagesAndBoxesWithoutChanges) {
  std::vector<DetectNetObject> objects(1);
  objects[0].box = cv::Rect2d(1, 0, 1, 2);
  Draws draws = NewDraws();
  const cv::Mat image =
      Changes("", {3, 2}, "mean_value: 1").Augment(Numbered(2, 3), &draws, &objects);
  EXPECT_EQ(Row(image, 0), (std::vector<float>{-1, 0, 1}));
  EXPECT_EQ(Row(image, 1), (std::vector<float>{9, 10, 11}));
  EXPECT_EQ(objects[0].box, cv::Rect2d(1, 0, 1, 2));
}

TEST(DetectNetChanges, SubtractTheMeanOfEachChannel) {
  std::vector<DetectNetObject> objects;
  const cv::Mat image = Changes("", {3, 2}, "mean_value: [1, 2, 3]").Fit(Numbered(2, 3), &objects);
  EXPECT_EQ(image.at<cv::Vec3f>(0, 0), cv::Vec3f(-1, -2, -3));
}

TEST(DetectNetChanges, ScaleMeanImages) {
  const std::string file = ScratchPath("mean.binaryproto");
  const std::string transform = "mean_file: '" + file + "'";
  WriteMeanFile({{3, 1, 1}, {1, 2, 3}}, file);
  std::vector<DetectNetObject> objects;
  const cv::Mat image = Changes("", {3, 2}, transform).Fit(Numbered(2, 3), &objects);
  EXPECT_EQ(image.at<cv::Vec3f>(1, 2), cv::Vec3f(11, 10, 9));
  WriteMeanFile({{1, 1, 1}, {1}}, file);
  EXPECT_THROW(Changes("", {3, 2}, transform), UserError);
}

TEST(DetectNetChanges, MirrorImagesAndBoxes) {
  std::vector<DetectNetObject> objects(1);
  objects[0].box = cv::Rect2d(0, 0, 1, 2);
  Draws draws = NewDraws();
  const cv::Mat image = Changes("flip_prob: 1", {4, 2}).Augment(Numbered(2, 4), &draws, &objects);
  EXPECT_EQ(Row(image, 0), (std::vector<float>{3, 2, 1, 0}));
  EXPECT_EQ(objects[0].box, cv::Rect2d(2, 0, 1, 2));  // NVCaffe subtracts one pixel
}

TEST(DetectNetChanges, CutTheMiddleAndFillAroundSmallImages) {
  std::vector<DetectNetObject> objects(1);
  Draws draws = NewDraws();
  cv::Mat image = Changes("", {2, 1}).Augment(Numbered(3, 4), &draws, &objects);
  EXPECT_EQ(Row(image, 0), (std::vector<float>{11, 12}));
  EXPECT_EQ(objects[0].box.tl(), cv::Point2d(-1, -1));
  image = Changes("", {4, 1}).Augment(Numbered(1, 2), &draws, &objects);
  EXPECT_EQ(Row(image, 0), (std::vector<float>{-127.5f, 0, 1, -127.5f}));
  EXPECT_EQ(objects[0].box.tl(), cv::Point2d(0, -1));
}

TEST(DetectNetChanges, ShiftWindowsToAllPlaces) {
  const DetectNetChanges changes = Changes("crop_prob: 1 shift_x: 2", {2, 1});
  std::set<std::vector<float>> seen;
  for (uint64_t sample = 0; sample < 100; ++sample) {
    std::vector<DetectNetObject> objects(1);
    Draws draws = NewDraws(sample);
    const cv::Mat image = changes.Augment(Numbered(1, 3), &draws, &objects);
    seen.insert(Row(image, 0));
    const cv::Mat again = [&] {
      Draws same = NewDraws(sample);
      return changes.Augment(Numbered(1, 3), &same, &objects);
    }();
    EXPECT_EQ(Row(again, 0), Row(image, 0));
  }
  const float beyond = -127.5f;
  EXPECT_EQ(seen, (std::set<std::vector<float>>{{beyond, 0}, {0, 1}, {1, 2}, {2, beyond}}));
}

TEST(DetectNetChanges, ScaleBoxesWithTheImage) {
  std::vector<DetectNetObject> objects(1);
  objects[0].box = cv::Rect2d(1, 0, 1, 2);
  Draws draws = NewDraws();
  const cv::Mat image = Changes("scale_prob: 1 scale_min: 2 scale_max: 2", {6, 4})
                            .Augment(cv::Mat(2, 3, CV_32FC3, cv::Scalar::all(5)), &draws, &objects);
  EXPECT_EQ(Row(image, 3), std::vector<float>(6, 5));
  EXPECT_EQ(objects[0].box, cv::Rect2d(2, 0, 2, 4));
  Changes("", {3, 4}).Fit(image, &objects);
  EXPECT_EQ(objects[0].box, cv::Rect2d(1, 0, 1, 4));
}

TEST(DetectNetChanges, RotateAroundTheCenter) {
  std::vector<DetectNetObject> objects(1);
  objects[0].box = cv::Rect2d(18, 8, 4, 4);
  Draws draws = NewDraws();
  const cv::Mat image =
      Changes("rotation_prob: 1 max_rotate_degree: 20", {60, 40})
          .Augment(cv::Mat(20, 40, CV_32FC3, cv::Scalar::all(5)), &draws, &objects);
  const cv::Rect2d box = objects[0].box;
  EXPECT_NEAR(box.x + box.width / 2, 30, 1);
  EXPECT_NEAR(box.y + box.height / 2, 20, 1);
  EXPECT_EQ(image.at<cv::Vec3f>(20, 30)[0], 5);
  EXPECT_EQ(image.at<cv::Vec3f>(0, 0)[0], -127.5f);
}

TEST(DetectNetChanges, ChangeColoursButNotGray) {
  const DetectNetChanges changes = Changes(
      "hue_rotation_prob: 1 hue_rotation: 90 desaturation_prob: 1 desaturation_max: 1", {1, 1});
  std::vector<DetectNetObject> objects;
  Draws draws = NewDraws(), same = NewDraws();
  const cv::Mat gray =
      changes.Augment(cv::Mat(1, 1, CV_32FC3, cv::Scalar::all(100)), &draws, &objects);
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(gray.at<cv::Vec3f>(0, 0)[c], 100, 1e-3);
  const cv::Vec3f red =
      changes.Augment(cv::Mat(1, 1, CV_32FC3, cv::Scalar(0, 0, 200)), &same, &objects)
          .at<cv::Vec3f>(0, 0);
  EXPECT_NEAR(std::max({red[0], red[1], red[2]}), 200, 1e-2);  // its value stays
  EXPECT_GT(std::max(red[0], red[1]), 1);
}

TEST(DetectNetChanges, RejectParametersWithoutMeaning) {
  for (const char* fields : {"scale_min: 0", "scale_max: 1e9", "max_rotate_degree: 1e20",
                             "hue_rotation: -1", "shift_x: 3000000000"}) {
    EXPECT_THROW(Changes(fields, {1, 1}), UserError) << fields;
  }
  EXPECT_THROW(Changes("", {1, 1}, "mean_value: [1, 2]"), UserError);
  EXPECT_THROW(Changes("", {1, 1}, "mean_file: 'none'"), FileError);
}

}  // namespace
}  // namespace doppio
