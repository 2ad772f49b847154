#include "core/base/text/nearest.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(EditDistance("relu", "relu"), 0);
  EXPECT_EQ(EditDistance("ReLU", "relu"), 0);
  EXPECT_EQ(EditDistance("kernal_size", "kernel_size"), 1);
  EXPECT_EQ(EditDistance("Convolutoin", "Convolution"), 1);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(EditDistance, StopsAboveALimit) {
  EXPECT_EQ(EditDistance("kitten", "sitting", 3), 3);
  EXPECT_GT(EditDistance("kitten", "sitting", 2), 2);
  EXPECT_GT(EditDistance("", "abc", 2), 2);
  EXPECT_EQ(EditDistance("ab", "ba", 1), 1);
  EXPECT_EQ(EditDistance("Convolutoin", "Convolution", 1), 1);
}

TEST(Nearest, TakesTheClosestWithinAThirdOfTheName) {
  EXPECT_EQ(Nearest("Convolutoin", {"Pooling", "Convolution", "Deconvolution"}), "Convolution");
  EXPECT_EQ(Nearest("xyz", {"Pooling", "Convolution"}), "");
  EXPECT_EQ(Nearest("ip_1", {"ip1", "ip2", "conv1"}), "ip1");
}

TEST(Nearest, DoesNotCompareNamesOfVeryDifferentLengths) {
  EXPECT_EQ(Nearest(std::string(10'000'000, 'x'), std::vector<std::string>(100, "Pooling")), "");
}

TEST(AllNearest, HasAllAtTheLeastDistanceInTheirOrder) {
  EXPECT_TRUE(AllNearest("xyz", {"ip2", "conv1", "ip1"}).empty());
  EXPECT_EQ(AllNearest("ip3", {"ip2", "conv1", "ip1"}), (std::vector<std::string>{"ip2", "ip1"}));
  EXPECT_EQ(AllNearest("ip1", {"ip2", "IP1", "ip1"}), (std::vector<std::string>{"IP1", "ip1"}));
}

TEST(AllNearest, HasNoneForNamesOfAMegabyte) {
  const std::string name(1 << 20, 'a');
  EXPECT_TRUE(AllNearest(name, {name + "b", "relu"}).empty());
  EXPECT_TRUE(AllNearest("relu", {name}).empty());
}

TEST(AllNearest, HasNamesThatAreLongerOrShorterByAThird) {
  EXPECT_EQ(AllNearest("abcdef", {"abcdefgh", "abcdefghi"}),
            (std::vector<std::string>{"abcdefgh"}));
  EXPECT_EQ(AllNearest("abcdef", {"abc", "abcd"}), (std::vector<std::string>{"abcd"}));
}

TEST(DidYouMean, IsEmptyWithoutACandidate) {
  EXPECT_EQ(DidYouMean("MAXX", {"MAX", "AVE"}), "; did you mean 'MAX'?");
  EXPECT_EQ(DidYouMean("zzzz", {"MAX", "AVE"}), "");
}

TEST(DidYouMean, ListsTheCandidatesIfNoneIsClose) {
  EXPECT_EQ(DidYouMeanOneOf("MAXX", {"MAX", "AVE"}), "; did you mean 'MAX'?");
  EXPECT_EQ(DidYouMeanOneOf("zzzz", {"MAX", "AVE"}), "; there are MAX, AVE");
  EXPECT_EQ(DidYouMeanOneOf("zzzz", {}), "; there are none");
  EXPECT_EQ(DidYouMeanOneOf("zzzz", std::vector<std::string>(52, "a")).substr(150),
            "a, a, a, a and 2 more");
}

}  // namespace
}  // namespace doppio
