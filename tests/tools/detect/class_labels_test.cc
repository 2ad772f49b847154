#include "tools/detect/class_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::HasSubstr;

std::string LabelsFile(const std::string& content) {
  const std::string path = testing::TempDir() + "class_labels_test.txt";
  WriteFileAtomically(path, content);
  return path;
}

TEST(ClassLabels, CountFromOneUnlessTheFirstIsTheBackground) {
  EXPECT_EQ((ClassLabels{{1, "cat"}, {2, "a dog"}}), ReadClassLabels(LabelsFile("cat\na dog\n\n")));
  EXPECT_EQ((ClassLabels{{0, "__background__"}, {1, "cat"}}),
            ReadClassLabels(LabelsFile("__background__\ncat\n")));
  EXPECT_EQ(ClassLabels(), LabelsInOrder({}));
}

TEST(ClassLabels, ReadALabelMap) {
  EXPECT_EQ((ClassLabels{{0, "background"}, {7, "car"}}),
            ReadClassLabels(LabelsFile(
                "item { name: 'none_of_the_above' label: 0 display_name: 'background' }\n"
                "item { name: 'car' label: 7 }\n")));
}

TEST(ClassLabels, ExplainMistakes) {
  const auto mistake = [](const std::string& labels) {
    return Mistake<UserError>([&] { ReadClassLabels(LabelsFile(labels)); });
  };
  const std::string twice = mistake("item { name: 'a' label: 1 }\nitem { name: 'b' label: 1 }\n");
  EXPECT_THAT(twice, HasSubstr("class_labels_test.txt:2:"));
  EXPECT_THAT(twice, HasSubstr("a second item has label 1"));
  EXPECT_THAT(mistake("item { name: 'a' }\n"), HasSubstr("has no label"));
}

}  // namespace
}  // namespace doppio
