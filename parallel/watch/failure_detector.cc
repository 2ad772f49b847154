#include "parallel/watch/failure_detector.h"

#include <algorithm>
#include <utility>

#include "core/base/text/str_cat.h"

namespace doppio {
namespace {

// How late a thread may wake until the delay counts for no member.
constexpr double kLateSeconds = 0.5;

bool Exceeds(double seconds, const Timeout& timeout) {
  return seconds >= timeout.seconds + timeout.margin;
}

}  // namespace

int FailureDetector::Add(const std::string& name) {
  Member one;
  one.name = name;
  one.heard_at = one.moved_at = clock_->Now();
  members_.push_back(std::move(one));
  return static_cast<int>(members_.size()) - 1;
}

void FailureDetector::Heard(int member) {
  Member& one = members_[member];
  one.heard_at = clock_->Now();
  if (one.declared > Health::kStalled) one.declared = Health::kAlive;
}

void FailureDetector::Heard(int member, int64_t progress, int64_t bucket) {
  Heard(member);
  Member& one = members_[member];
  one.bucket = bucket;
  if (progress == one.progress) return;
  one.progress = progress;
  one.moved_at = one.heard_at;
  one.declared = Health::kAlive;
}

void FailureDetector::Declare(int member, Health health, const std::string& cause) {
  members_[member].declared = health;
  members_[member].cause = cause;
}

void FailureDetector::Leave(int member) { members_[member].left = true; }

void FailureDetector::Woke(double due) {
  const double late = clock_->Now() - due;
  if (late < kLateSeconds) return;
  for (Member& one : members_) {
    one.heard_at += late;
    one.moved_at += late;
  }
}

Health FailureDetector::HealthOf(int member) const {
  const Member& one = members_[member];
  if (one.left) return Health::kAlive;
  const double now = clock_->Now();
  const Health by_time = Exceeds(now - one.heard_at, silence_) ? Health::kSilent
                         : Exceeds(now - one.moved_at, stall_) ? Health::kStalled
                                                               : Health::kAlive;
  return std::max(one.declared, by_time);
}

std::string FailureDetector::Summary(int member) const {
  const Health health = HealthOf(member);
  const std::string& name = members_[member].name;
  if (health == Health::kGone) return name + " is gone";
  const bool silent = health == Health::kSilent;
  const Timeout& timeout = silent ? silence_ : stall_;
  return StrCat(name, " has ", silent ? "not answered" : "made no progress", " for ",
                static_cast<int>(timeout.seconds), " s (limit ", RowOf(timeout.limit).label(), ")");
}

FailureDetector::Failure FailureDetector::Describe(int member) const {
  const Member& one = members_[member];
  const Health health = HealthOf(member);
  const std::string why = health == Health::kGone ? one.cause
                          : health == Health::kSilent
                              ? "it is stopped, its machine is lost, or the network between "
                                "them is cut"
                              : "no rank has, and it is behind the others";
  return {health,
          StrCat(Summary(member), ": ", why,
                 one.bucket < 0 ? "" : "; last seen at bucket " + std::to_string(one.bucket))};
}

std::optional<FailureDetector::Failure> FailureDetector::FirstFailure() const {
  const int count = static_cast<int>(members_.size());
  int behind = -1;
  bool all_stalled = true;
  for (int m = 0; m < count; ++m) {
    const Health health = HealthOf(m);
    if (health > Health::kStalled) return Describe(m);
    if (members_[m].left) continue;
    all_stalled = all_stalled && health == Health::kStalled;
    if (behind < 0 || members_[m].progress < members_[behind].progress) behind = m;
  }
  if (behind < 0 || !all_stalled) return std::nullopt;
  return Describe(behind);
}

}  // namespace doppio
