#include "core/base/version.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "core/base/library_version.h"

namespace doppio {
namespace {

TEST(Version, IsThatOfItsFile) {
  std::ifstream file("core/base/version.txt");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(line, Version());
}

TEST(Version, IdentityBeginsWithTheVersionAndNamesTheCommitInShort) {
  const std::string commit = Commit();
  if (commit.empty()) {
    EXPECT_EQ(Version(), BuildIdentity());
  } else {
    EXPECT_EQ(Version() + " (" + commit.substr(0, 7) + commit.substr(40) + ")", BuildIdentity());
  }
}

TEST(Version, NamesTheCompilerAndTheKindOfBuild) {
  const BuildFacts facts = HowBuilt();
  EXPECT_NE(std::string::npos, facts.compiler.find('.')) << facts.compiler;
  EXPECT_FALSE(facts.instructions.empty());
  EXPECT_TRUE(facts.kind == "native" || facts.kind == "generic" || facts.kind == "portable")
      << facts.kind;
}

TEST(Libraries, ListWhatIsLinkedIn) {
  const LibraryVersion* glog = Libraries::Get().Find("glog");
  ASSERT_NE(nullptr, glog);
  EXPECT_NE("", glog->compiled);
  EXPECT_EQ(nullptr, glog->running);  // glog does not report its version
}

}  // namespace
}  // namespace doppio
