#include "parallel/meeting/rank_identity.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

TEST(RankIdentity, IsTheSameOnAllRanksOfOneInstallation) {
  EXPECT_EQ(DifferenceAmong({IdentityOf("a", "doppio 1", "Open MPI v4"),
                             IdentityOf("b", "doppio 1", "Open MPI v4")}),
            "");
  EXPECT_EQ(DifferenceAmong({}), "");
}

TEST(RankIdentity, SaysWhichRanksRunWhichProgram) {
  EXPECT_EQ(
      DifferenceAmong({IdentityOf("node1", "doppio 1", "x"), IdentityOf("node1", "doppio 1", "x"),
                       IdentityOf("node2", "doppio 2", "y"), IdentityOf("node3", "doppio 1", "x"),
                       IdentityOf("node4", "doppio 3", "x")}),
      "the ranks run different builds of Doppio: ranks 0-1, 3 on node1, node3: doppio 1; "
      "rank 2 on node2: doppio 2; rank 4 on node4: doppio 3. Install the same build on all "
      "machines");
}

TEST(RankIdentity, SaysWhichRanksHaveWhichLibrary) {
  EXPECT_EQ(DifferenceAmong({IdentityOf("node1", "doppio 1", "Open MPI v4.1.4"),
                             IdentityOf("node2", "doppio 1", "Open MPI v5.0.7")}),
            "the ranks have opened different MPI libraries: rank 0 on node1: Open MPI v4.1.4; "
            "rank 1 on node2: Open MPI v5.0.7. Load the same MPI on all machines, or name its "
            "library with --mpi_library");
}

TEST(RankIdentity, NamesAFewOfManyHosts) {
  std::vector<RankIdentity> ranks = {IdentityOf("first", "doppio 1", "x")};
  for (int i = 1; i <= 11; ++i) ranks.push_back(IdentityOf("n" + std::to_string(i), "old", "x"));
  EXPECT_EQ(
      DifferenceAmong(ranks),
      "the ranks run different builds of Doppio: rank 0 on first: doppio 1; ranks 1-11 on "
      "n1, n2, n3, n4, n5, n6, n7, n8 and 3 more: old. Install the same build on all machines");
}

TEST(RankIdentity, CutsTextsThatAreTooLong) {
  const std::string text(1000, 'x');
  EXPECT_EQ(DifferenceAmong({IdentityOf(text, text, text), IdentityOf("b", text, text)}), "");
  const std::string difference =
      DifferenceAmong({IdentityOf(text, text, text), IdentityOf(text, "y", text)});
  EXPECT_NE(difference.find("rank 0 on " + std::string(63, 'x') + ": " + std::string(191, 'x') +
                            "; rank 1 on " + std::string(63, 'x') + ": y."),
            std::string::npos)
      << difference;
}

// Ranks with other versions of Doppio must exchange the same layout.
TEST(RankIdentity, KeepsItsLayout) {
  EXPECT_EQ(sizeof(RankIdentity), 512u);
  const RankIdentity identity = IdentityOf("h", "p", "l");
  const char* const bytes = reinterpret_cast<const char*>(&identity);
  EXPECT_EQ(std::string(bytes), "h");
  EXPECT_EQ(std::string(bytes + 64), "p");
  EXPECT_EQ(std::string(bytes + 256), "l");
}

}  // namespace
}  // namespace doppio
