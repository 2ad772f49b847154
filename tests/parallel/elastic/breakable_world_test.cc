#include "parallel/elastic/breakable_world.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace doppio {
namespace {

// Writes down why it was broken, and that it was destroyed.
class NotedWorld : public ProcessWorld {
 public:
  explicit NotedWorld(std::vector<std::string>* notes) : notes_(notes) {}
  ~NotedWorld() override { notes_->push_back("destroyed"); }
  void Break(const std::string& why) override { notes_->push_back(why); }

  void Connect(const ProcessExchange&) override {}
  void Disconnect() override {}
  void Fail(ExitCode, const std::string&) override {}
  std::string how_summed() const override { return ""; }
  Communicator& control() const override { std::abort(); }
  Communicator& bulk() const override { std::abort(); }
  std::unique_ptr<GradientExchange> MakeExchange(ParamStore*, const Sharding&) const override {
    return nullptr;
  }

 private:
  std::vector<std::string>* const notes_;
};

using Notes = std::vector<std::string>;

TEST(BreakableWorld, BreaksOnceAndBeforeItIsDestroyed) {
  Notes notes;
  {
    BreakableWorld world;
    world.Expect();
    world.Use(std::make_unique<NotedWorld>(&notes));
    world.Break("a rank is lost");
    world.Break("another rank is lost");
    EXPECT_EQ(notes, Notes({"a rank is lost"}));
  }
  EXPECT_EQ(notes, Notes({"a rank is lost", "this rank leaves", "destroyed"}));
}

TEST(BreakableWorld, BreaksAWorldThatWasStillBeingMade) {
  Notes notes;
  BreakableWorld world;
  world.Expect();
  world.Break("a rank is lost");
  world.Use(std::make_unique<NotedWorld>(&notes));
  EXPECT_EQ(notes, Notes({"a rank is lost"}));
}

TEST(BreakableWorld, SparesTheNextWorld) {
  Notes first, second;
  BreakableWorld world;
  world.Expect();
  world.Use(std::make_unique<NotedWorld>(&first));
  world.Leave();
  world.Break("too late");
  world.Expect();
  ProcessWorld* const used = world.Use(std::make_unique<NotedWorld>(&second));
  EXPECT_NE(used, nullptr);
  EXPECT_EQ(first, Notes({"this rank leaves", "destroyed"}));
  EXPECT_EQ(second, Notes());
}

}  // namespace
}  // namespace doppio
