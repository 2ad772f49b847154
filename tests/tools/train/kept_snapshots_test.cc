// Tests which snapshots are kept.
#include "tools/train/kept_snapshots.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/file.h"

namespace doppio {
namespace {

class KeptSnapshotsCase : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/keptXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TakenSnapshot Take(int64_t iteration, bool hdf5 = false) {
    const SnapshotNames names = NamesOfSnapshot(folder_ + "/net", iteration, hdf5);
    std::ofstream(names.model) << "m";
    std::ofstream(names.state) << "s";
    return {iteration, names};
  }
  // Returns the iterations of the snapshots in the folder, with "?" for a snapshot that lacks a
  // file.
  std::string Left() {
    std::string left;
    for (int i = 0; i <= 100; i += 10) {
      for (bool hdf5 : {false, true}) {
        const SnapshotNames names = NamesOfSnapshot(folder_ + "/net", i, hdf5);
        if (FileExists(names.model) != FileExists(names.state)) left += "? ";
        if (FileExists(names.model) && FileExists(names.state)) left += std::to_string(i) + " ";
      }
    }
    return left;
  }

  std::string folder_;
};

TEST_F(KeptSnapshotsCase, AllStayByDefault) {
  KeptSnapshots kept(0, false);
  for (int i = 10; i <= 40; i += 10) kept.Add(Take(i));
  EXPECT_EQ(Left(), "10 20 30 40 ");
  EXPECT_EQ(kept.last()->state, folder_ + "/net_iter_40.solverstate");
  EXPECT_EQ(kept.best(), nullptr);
}

TEST_F(KeptSnapshotsCase, TheNewestStay) {
  KeptSnapshots kept(2, false);
  for (int i = 10; i <= 50; i += 10) kept.Add(Take(i, i == 20));
  EXPECT_EQ(Left(), "40 50 ");
}

TEST_F(KeptSnapshotsCase, TheBestStaysHoweverOldUntilThereIsABetterOne) {
  KeptSnapshots kept(1, true);
  kept.SetBest(10);
  for (int i = 10; i <= 40; i += 10) kept.Add(Take(i));
  EXPECT_EQ(Left(), "10 40 ");
  EXPECT_EQ(kept.best()->model, folder_ + "/net_iter_10.caffemodel");
  kept.SetBest(50);
  kept.Add(Take(50));
  EXPECT_EQ(Left(), "50 ");
}

TEST_F(KeptSnapshotsCase, EarlierOnesOfAResumedRunAreOlder) {
  Take(10);
  Take(20, true);
  Take(30);
  Take(80);  // later than the iteration that is resumed
  std::ofstream(folder_ + "/other_iter_5.solverstate") << "s";
  KeptSnapshots kept(2, true);
  kept.AddEarlier(folder_ + "/net", 30);
  kept.SetBest(10);
  kept.Add(Take(40));
  EXPECT_EQ(Left(), "10 30 40 80 ");
  EXPECT_TRUE(FileExists(folder_ + "/other_iter_5.solverstate"));
}

}  // namespace
}  // namespace doppio
