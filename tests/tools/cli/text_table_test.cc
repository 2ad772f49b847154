// Tests tables and numbers in text for people.
#include "tools/cli/text_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include <sstream>

namespace doppio {
namespace {

TEST(TextTable, AlignsByWhatIsSeenNotByBytes) {
  TextTable table({"layer", "output", ">params"});
  table.Add({"conv1", "20×24×24", "520"});
  table.Add({"pool", "20×12×12", "–"});
  std::ostringstream out;
  table.Print(out);
  EXPECT_EQ(out.str(),
            " layer  output    params\n"
            " conv1  20×24×24     520\n"
            " pool   20×12×12       –\n");
}

TEST(TextTable, LeavesNoSpaceAtTheEndOfALine) {
  TextTable table({"a", "note"});
  table.Add({"x", ""});
  std::ostringstream out;
  table.Print(out);
  EXPECT_EQ(out.str(), " a  note\n x\n");
}

TEST(TextTable, KeepsACellOnItsLineWhateverItHolds) {
  TextTable table({"run", "loss"});
  table.Add({"a\nb\x1b[31m\t\x7f", "1"});
  std::ostringstream out;
  table.Print(out);
  EXPECT_EQ(out.str(), " run         loss\n a?b?[31m??  1\n");
}

TEST(Numbers, AreGroupedByThousands) {
  EXPECT_EQ(Thousands(0), "0");
  EXPECT_EQ(Thousands(999), "999");
  EXPECT_EQ(Thousands(25050), "25 050");
  EXPECT_EQ(Thousands(-431080), "-431 080");
  EXPECT_EQ(Thousands(138357544), "138 357 544");
}

TEST(Numbers, HaveTheDigitsThatMatter) {
  EXPECT_EQ(Significant(0.000123456789), "0.000123457");
  EXPECT_EQ(Significant(1234567), "1.23457e+06");
  EXPECT_EQ(Significant(2.5, 4), "2.5");
}

TEST(Numbers, OfRatesHaveThreeDigitsOrAllBeforeThePoint) {
  EXPECT_EQ(Rate(32787.4), "32787");
  EXPECT_EQ(Rate(12.345), "12.3");
  EXPECT_EQ(Rate(std::nan("")), "–");
}

TEST(Numbers, OfSecondsReadLikeAClock) {
  EXPECT_EQ(Duration(0.25), "250 ms");
  EXPECT_EQ(Duration(59), "59 s");
  EXPECT_EQ(Duration(61), "1 m 01 s");
  EXPECT_EQ(Duration(47163), "13 h 06 m");
  EXPECT_EQ(Duration(47 * 3600), "47 h 00 m");
  EXPECT_EQ(Duration(48 * 3600), "2 days 0 h");
  EXPECT_EQ(Duration(1273 * 3600 + 46 * 60), "53 days 1 h");
}

}  // namespace
}  // namespace doppio
