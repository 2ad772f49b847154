// The update rules. Each rule is written once for CPU and GPU, with Caffe's arithmetic. g is the
// gradient of one element after clipping, division by iter_size and weight decay. Step updates the
// history and returns the amount to subtract from the value.
//
// Rules with decoupled weight decay (kDecoupled) receive g without weight decay. Instead of Step
// they have Take, which adds g to the history and returns the direction of the update. The update
// is w <- w - rate (direction + decay w). With kTrustRatio, the rate is the parameter's rate times
// the norm of w over the norm of this sum. Such a rule also has Direction, which computes the
// direction that Take returned from the history again.
//
// To add a rule, write its struct, with all that the program knows about the rule, and append it to
// Rules. Checks of the solver, updates on all devices, snapshots and resume follow. Tests demand
// its row in docs/solvers.md.
#ifndef DOPPIO_SOLVERS_UPDATE_RULES_H_
#define DOPPIO_SOLVERS_UPDATE_RULES_H_

#include <cmath>
#include <cstdint>
#include <tuple>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// The solver's hyperparameters, in the type of the parameters.
template <class T>
struct RuleScalars {
  T momentum = 0, momentum2 = 0, delta = 0, rms_decay = 0;
  T unbias = 1, unbias2 = 1;  // 1 / (1 - momentum^t) and 1 / (1 - momentum2^t)
};

// Maximum number of history slots of a rule.
constexpr int kMaxSlots = 2;

// Defaults for the constants of a rule. Each rule also defines kName, its name in solver files.
struct RuleDefaults {
  static constexpr int kSlots = 1;  // history arenas, from 1 to kMaxSlots
  // The first slot that holds sums of squares, which are never negative; so do all slots after it.
  static constexpr int kSquares = kMaxSlots;
  // Fields of the solver that the rule uses. A nonzero momentum is an error for a rule without
  // kMomentum. With kMomentum2, momentum and momentum2 must be at least 0 and below 1, and with
  // kRmsDecay, so must rms_decay. With kDelta, delta must be above 0.
  static constexpr bool kMomentum = true, kMomentum2 = false, kDelta = false, kRmsDecay = false;
  static constexpr bool kMomentumPolicy = false;  // momentum_policy may change the momentum
  static constexpr bool kWarmupMomentum = false;  // WarmupMomentumFactor changes the momentum
  static constexpr bool kLocalRate = false;       // larc and local_lr_auto may set the rates
  static constexpr bool kDecoupled = false, kTrustRatio = false;  // see the file comment
  static constexpr bool kMatrices = false;  // matrices are updated as a whole (matrix_update.h)
  // Returns the factor on the learning rate of update t = 1, 2, ...
  static double RateFactor(const RuleScalars<double>&, int64_t) { return 1; }
};

// h <- momentum h + rate g;  w <- w - h.
// Polyak, "Some methods of speeding up the convergence of iteration methods", 1964. The rate inside
// h follows Caffe.
struct Sgd : RuleDefaults {
  static constexpr const char* kName = "SGD";
  static constexpr bool kMomentumPolicy = true;
  static constexpr bool kWarmupMomentum = true;
  static constexpr bool kLocalRate = true;
  template <class T>
  DOPPIO_HD static T Step(const RuleScalars<T>& a, T rate, T g, T* h) {
    return h[0] = a.momentum * h[0] + rate * g;
  }
};

// h' = momentum h + rate g;  w <- w - ((1 + momentum) h' - momentum h).
// Nesterov, "A method of solving a convex programming problem with convergence rate O(1/k^2)",
// 1983, as in Sutskever et al., "On the importance of initialization and momentum in deep
// learning", ICML 2013.
struct Nesterov : RuleDefaults {
  static constexpr const char* kName = "Nesterov";
  static constexpr bool kMomentumPolicy = true;
  static constexpr bool kLocalRate = true;
  template <class T>
  DOPPIO_HD static T Step(const RuleScalars<T>& a, T rate, T g, T* h) {
    const T before = h[0];
    h[0] = a.momentum * before + rate * g;
    return (T(1) + a.momentum) * h[0] - a.momentum * before;
  }
};

// h <- h + g^2;  w <- w - rate g / (sqrt(h) + delta).
// Duchi, Hazan, Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic
// Optimization", JMLR 2011.
struct AdaGrad : RuleDefaults {
  static constexpr const char* kName = "AdaGrad";
  static constexpr int kSquares = 0;
  static constexpr bool kMomentum = false, kDelta = true;
  template <class T>
  DOPPIO_HD static T Step(const RuleScalars<T>& a, T rate, T g, T* h) {
    h[0] += g * g;
    return rate * g / (std::sqrt(h[0]) + a.delta);
  }
};

// h <- rms_decay h + (1 - rms_decay) g^2;  w <- w - rate g / (sqrt(h) + delta).
// Tieleman, Hinton, "Lecture 6.5 - RMSProp", COURSERA: Neural Networks for Machine Learning, 2012.
struct RmsProp : RuleDefaults {
  static constexpr const char* kName = "RMSProp";
  static constexpr int kSquares = 0;
  static constexpr bool kMomentum = false, kDelta = true, kRmsDecay = true;
  template <class T>
  DOPPIO_HD static T Step(const RuleScalars<T>& a, T rate, T g, T* h) {
    h[0] = a.rms_decay * h[0] + (T(1) - a.rms_decay) * (g * g);
    return rate * g / (std::sqrt(h[0]) + a.delta);
  }
};

// h <- momentum h + (1 - momentum) g^2;  d = g sqrt((delta + u) / (delta + h));
// u <- momentum u + (1 - momentum) d^2;  w <- w - rate d.
// Zeiler, "ADADELTA: An Adaptive Learning Rate Method", arXiv 1212.5701, 2012. Our momentum is the
// paper's rho.
struct AdaDelta : RuleDefaults {
  static constexpr const char* kName = "AdaDelta";
  static constexpr int kSquares = 0;
  static constexpr int kSlots = 2;
  static constexpr bool kDelta = true;
  template <class T>
  DOPPIO_HD static T Step(const RuleScalars<T>& a, T rate, T g, T* h) {
    h[0] = a.momentum * h[0] + (T(1) - a.momentum) * (g * g);
    const T d = g * std::sqrt((a.delta + h[1]) / (a.delta + h[0]));
    h[1] = a.momentum * h[1] + (T(1) - a.momentum) * (d * d);
    return rate * d;
  }
};

// m <- momentum m + (1 - momentum) g;  v <- momentum2 v + (1 - momentum2) g^2;
// w <- w - rate sqrt(1 - momentum2^t) / (1 - momentum^t) m / (sqrt(v) + delta).
// Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, the efficient form at the
// end of section 2.
struct Adam : RuleDefaults {
  static constexpr const char* kName = "Adam";
  static constexpr int kSlots = 2, kSquares = 1;
  static constexpr bool kMomentum2 = true, kDelta = true;
  static double RateFactor(const RuleScalars<double>& a, int64_t t) {
    const double n = static_cast<double>(t);
    return std::sqrt(1 - std::pow(a.momentum2, n)) / (1 - std::pow(a.momentum, n));
  }
  template <class T>
  DOPPIO_HD static T Step(const RuleScalars<T>& a, T rate, T g, T* h) {
    h[0] = a.momentum * h[0] + (T(1) - a.momentum) * g;
    h[1] = a.momentum2 * h[1] + (T(1) - a.momentum2) * (g * g);
    return rate * h[0] / (std::sqrt(h[1]) + a.delta);
  }
};

// h <- momentum h + (1 - momentum) g;  w <- w - rate h.
// This is NVCaffe's "SAG" on GPUs. Despite its name, the rule is not that of Schmidt, Le Roux,
// Bach, "Minimizing Finite Sums with the Stochastic Average Gradient", 2013. It is SGD with
// momentum, but the history does not contain the rate.
struct Sag : RuleDefaults {
  static constexpr const char* kName = "SAG";
  static constexpr bool kMomentumPolicy = true;
  template <class T>
  DOPPIO_HD static T Step(const RuleScalars<T>& a, T rate, T g, T* h) {
    h[0] = a.momentum * h[0] + (T(1) - a.momentum) * g;
    return rate * h[0];
  }
};

// m <- momentum m + (1 - momentum) g;  v <- momentum2 v + (1 - momentum2) g^2;
// w <- w - rate (m / (1 - momentum^t) / (sqrt(v / (1 - momentum2^t)) + delta) + decay w).
// Loshchilov, Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2. As in
// PyTorch, one rate replaces the paper's alpha and eta, and it multiplies the decay too.
struct AdamW : RuleDefaults {
  static constexpr const char* kName = "AdamW";
  static constexpr int kSlots = 2, kSquares = 1;
  static constexpr bool kMomentum2 = true, kDelta = true;
  static constexpr bool kDecoupled = true;
  template <class T>
  DOPPIO_HD static T Take(const RuleScalars<T>& a, T g, T* h) {
    h[0] = a.momentum * h[0] + (T(1) - a.momentum) * g;
    h[1] = a.momentum2 * h[1] + (T(1) - a.momentum2) * (g * g);
    return Direction(a, h);
  }
  template <class T>
  DOPPIO_HD static T Direction(const RuleScalars<T>& a, const T* h) {
    return h[0] * a.unbias / (std::sqrt(h[1] * a.unbias2) + a.delta);
  }
};

// w <- w - rate ||w|| / ||d|| d, where d is AdamW's sum of direction and decay, and the norms are
// taken per parameter. The ratio is 1 if a norm is 0.
// You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", ICLR 2020,
// algorithm 2 with phi(x) = x.
struct Lamb : AdamW {
  static constexpr const char* kName = "LAMB";
  static constexpr bool kTrustRatio = true;
};

// w <- w - rate (sign(momentum m + (1 - momentum) g) + decay w);
// m <- momentum2 m + (1 - momentum2) g.
// Chen et al., "Symbolic Discovery of Optimization Algorithms", NeurIPS 2023, program 1. sign(0) is
// 0.
struct Lion : RuleDefaults {
  static constexpr const char* kName = "Lion";
  static constexpr bool kMomentum2 = true;
  static constexpr bool kDecoupled = true;
  template <class T>
  DOPPIO_HD static T Take(const RuleScalars<T>& a, T g, T* h) {
    const T c = a.momentum * h[0] + (T(1) - a.momentum) * g;
    h[0] = a.momentum2 * h[0] + (T(1) - a.momentum2) * g;
    return T((c > T(0)) - (c < T(0))) + (c - c);  // NaN unless c is finite
  }
};

// For matrices: m' = momentum m + (1 - momentum) g;  u = momentum m' + (1 - momentum) g;
// w <- w - rate (0.2 sqrt(max(rows, columns)) o(u) + decay w);  m <- m', where o(u) is orthogonal
// (matrix_update.h has the sources). For all other parameters, AdamW. On the CPU only.
struct Muon : AdamW {
  static constexpr const char* kName = "Muon";
  static constexpr bool kMatrices = true;
};

// All rules. A rule's index in this list identifies it.
using Rules =
    std::tuple<Sgd, Nesterov, AdaGrad, RmsProp, AdaDelta, Adam, Sag, AdamW, Lamb, Lion, Muon>;

// Calls f(rule) with an instance of each rule, in the order of Rules.
template <class F>
void ForEachRule(const F& f) {
  std::apply([&](auto... rule) { (f(rule), ...); }, Rules());
}

// Calls f(rule) with an instance of the rule at `index` in Rules.
template <class F>
void VisitRule(size_t index, const F& f) {
  size_t i = 0;
  ForEachRule([&](auto rule) {
    if (i++ == index) f(rule);
  });
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_RULES_H_
