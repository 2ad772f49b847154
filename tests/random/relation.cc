#include "tests/random/relation.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "core/net/graph/storage.h"

namespace doppio {
namespace {

// Rounding of 16-bit activations is much larger than that of the sums, and is applied only once per
// layer.
constexpr double kNarrow = 1e-3;
// The allowed difference is this multiple of the difference that noise makes.
constexpr double kTimesNoise = 30, kTimesNarrowNoise = 4;
// The largest difference by noise of a number that still proves something.
constexpr double kProves = 1e-2, kProvesNarrow = 0.1;
constexpr int kFirstDraws = 2, kMoreDraws = 10;
// How much larger than the reference's rounding that of other kernels may be.
constexpr double kTimesRounding = 8;

// Returns the tolerance for a case whose file stores activations in 16 bits.
double ToleranceOf(const RandomCase& random_case, double tolerance) {
  switch (RequestedStorage(random_case.net, std::nullopt)) {
    case DType::kBFloat16:
      return std::max(tolerance, 0.05);
    case DType::kFloat16:
      return std::max(tolerance, 0.008);
    default:
      return tolerance;
  }
}

// What noise in the start weights makes of a case.
class Conditioning {
 public:
  Conditioning(const RandomCase& random_case, const Way& way, double tolerance,
               const std::string& folder)
      : case_(random_case), way_(Reference(way, folder)), narrow_(tolerance > kNarrow) {
    size_ = tolerance / times();
    base_ = Run(case_, way_);
    Measure(kFirstDraws);
    // Rounding happens everywhere, noise only in the weights.
    Way single = way_;
    single.dtype = DType::kFloat32;
    Add(Run(case_, single), kTimesRounding / times());
  }

  // Runs the case with `draws` further noises. Every second one is three times as large, for jumps
  // that few draws reach.
  void Measure(int draws) {
    for (int i = 0; i < draws; ++i) {
      Way noisy = way_;
      noisy.noise_draw = ++draws_;
      noisy.noise = size_ * (draws_ > kFirstDraws && i % 2 == 1 ? 3 : 1);
      Add(Run(case_, noisy), 1);
    }
  }

  double size() const { return size_; }
  double NoiseOf(const std::string& name) const {
    const auto found = noise_.find(name);
    return found == noise_.end() ? 0 : found->second;
  }
  double AllowedFor(const std::string& name, double tolerance) const {
    return std::max(tolerance, times() * NoiseOf(name));
  }
  bool Proves(const std::string& name) const {
    return NoiseOf(name) <= (narrow_ ? kProvesNarrow : kProves);
  }
  // Returns true if noise decides whether the case diverges.
  bool MayDiverge() const { return diverged_ > 0 && diverged_ < runs_; }

 private:
  static Way Reference(const Way& way, const std::string& folder) {
    Way reference;
    reference.threads = way.threads;
    reference.iterations = way.iterations;
    reference.shares = way.shares;
    reference.stop = way.stop;
    reference.weights = way.weights;
    reference.before = way.before;
    reference.dtype = DType::kFloat64;
    reference.engine = "reference";
    reference.folder = folder;
    return reference;
  }

  double times() const { return narrow_ ? kTimesNarrowNoise : kTimesNoise; }

  void Add(const Outcome& noisy, double factor) {
    runs_ += 1;
    diverged_ += Diverged(noisy);
    for (const auto& [name, difference] : DifferencesOf(noisy, base_)) {
      double& noise = noise_[name];
      noise = std::max(noise, factor * difference.relative);
    }
  }

  const RandomCase& case_;
  const Way way_;
  const bool narrow_;
  double size_ = 0;
  Outcome base_;
  std::map<std::string, double> noise_;
  int draws_ = 0, runs_ = 0, diverged_ = 0;
};

std::vector<Difference> Over(const Outcome& a, const Outcome& b, double tolerance) {
  std::vector<Difference> over;
  for (const auto& [name, difference] : DifferencesOf(a, b)) {
    if (difference.relative > tolerance) over.push_back(difference);
  }
  // The first loss says more than what follows from it.
  std::stable_sort(over.begin(), over.end(), [](const Difference& x, const Difference& y) {
    return (x.name == "loss 1") > (y.name == "loss 1");
  });
  return over;
}

// Removes the differences that the noise explains.
std::vector<Difference> Unexplained(const std::vector<Difference>& over,
                                    const Conditioning& conditioning, double tolerance) {
  std::vector<Difference> left;
  if (conditioning.MayDiverge()) return left;
  for (const Difference& difference : over) {
    if (!conditioning.Proves(difference.name)) continue;
    if (difference.relative > conditioning.AllowedFor(difference.name, tolerance))
      left.push_back(difference);
  }
  return left;
}

std::string Report(const std::vector<Difference>& left, const Conditioning& conditioning,
                   double tolerance) {
  const std::string& name = left[0].name;
  std::ostringstream text;
  text.precision(3);
  text << left[0].ToString() << ", allowed " << conditioning.AllowedFor(name, tolerance)
       << "; noise of " << conditioning.size() << " in the start weights changes it by "
       << conditioning.NoiseOf(name);
  if (left.size() > 1)
    text << "; " << left.size() - 1 << " other numbers differ, too, such as " << left[1].ToString();
  return text.str();
}

// Returns true if one of the outcomes is a refusal; `*why` then says how they differ, or "".
bool Refused(const Outcome& a, const Outcome& b, std::string* why) {
  if (a.refused.empty() && b.refused.empty()) return false;
  if (a.refused.empty() || b.refused.empty()) {
    *why = "only one of two ways is refused: " + a.refused + b.refused;
  } else if (a.code != b.code) {
    *why = "refused with different exit codes: " + a.refused + " (" + std::to_string(a.code) +
           "), " + b.refused + " (" + std::to_string(b.code) + ")";
  } else {
    ++ProcessTally().refusals[a.refused];
  }
  return true;
}

}  // namespace

bool Agree(const RandomCase& random_case, const Outcome& a, const Outcome& b, double tolerance,
           const std::string& folder, std::string* why, const Way& way) {
  why->clear();
  if (Refused(a, b, why)) return why->empty();
  if (Diverged(a) && Diverged(b)) {
    ++ProcessTally().diverged;
    return true;
  }
  const double allowed = ToleranceOf(random_case, tolerance);
  const std::vector<Difference> over = Over(a, b, allowed);
  if (over.empty()) return true;
  Conditioning conditioning(random_case, way, allowed, folder);
  std::vector<Difference> left = Unexplained(over, conditioning, allowed);
  if (!left.empty()) {
    conditioning.Measure(kMoreDraws);
    left = Unexplained(over, conditioning, allowed);
  }
  const bool unproven = conditioning.MayDiverge() ||
                        std::any_of(over.begin(), over.end(), [&](const Difference& difference) {
                          return !conditioning.Proves(difference.name);
                        });
  ProcessTally().unproven += unproven;
  if (left.empty()) return true;
  *why = Report(left, conditioning, allowed);
  return false;
}

std::string Compared(const RandomCase& random_case, const Outcome& a, const Outcome& b,
                     double tolerance, const std::string& folder, const Way& way) {
  std::string why;
  Agree(random_case, a, b, tolerance, folder, &why, way);
  return why;
}

std::string Same(const Outcome& a, const Outcome& b) {
  std::string why;
  if (Refused(a, b, &why)) return why;
  const Difference largest = LargestDifference(a, b);
  return largest.relative > 0 ? largest.ToString() : "";
}

RandomCase StartOf(RandomCase random_case) {
  SolverParameter& solver = random_case.solver;
  solver.clear_max_epoch();
  solver.clear_test_interval();
  solver.clear_test_epoch();
  solver.clear_test_iter();
  solver.set_max_iter(1);
  solver.set_lr_policy("fixed");  // others may need more iterations
  solver.clear_momentum_policy();
  if (!solver.has_base_lr()) solver.set_base_lr(0.01f);
  return random_case;
}

bool RefusedByTable(const Outcome& outcome, std::string* why) {
  why->clear();
  if (outcome.combination.empty()) return false;
  const std::string first = outcome.combination.substr(0, outcome.combination.find('\n'));
  if (outcome.refused.find(first) == std::string::npos)
    *why = "the table refuses '" + first + "', but the run says '" + outcome.refused + "'";
  ++ProcessTally().refusals[first];
  return true;
}

bool Declined(const Outcome& changed) {
  const auto code = static_cast<ExitCode>(changed.code);
  if (code != ExitCode::kConfig && code != ExitCode::kUsage) return false;
  ++ProcessTally().refusals[changed.refused];
  return true;
}

}  // namespace doppio
