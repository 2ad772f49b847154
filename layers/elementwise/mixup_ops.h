// Mixup, the same on every device: which samples are mixed and how. H. Zhang, M. Cisse, Y. Dauphin,
// D. Lopez-Paz, "mixup: Beyond Empirical Risk Minimization", ICLR 2018. Samples 2k and 2k + 1 of
// the run are mixed with each other, by a share that depends on the seed, the layer's name and k
// only.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_MIXUP_OPS_H_
#define DOPPIO_LAYERS_ELEMENTWISE_MIXUP_OPS_H_

#include <cmath>
#include <sstream>

#include "core/base/error.h"
#include "layers/elementwise/beta_share.h"

namespace doppio {

struct MixupForm {
  Random random;
  double alpha;
  bool mixes;  // otherwise each sample stays as it is
  int64_t samples, per_sample, classes;

  // What is left of sample `sample` of the run in itself; the rest is its neighbour's.
  DOPPIO_HD double Share(uint64_t sample) const {
    return mixes ? BetaShare(random, sample / 2, alpha) : 1;
  }
  // The other one of a row's pair.
  DOPPIO_HD int64_t Partner(int64_t row) const { return mixes ? row ^ 1 : row; }
  // The class of a label, or -1.
  template <class T>
  DOPPIO_HD int64_t Class(T label) const {
    const T cut = std::trunc(label);
    return cut >= 0 && cut < static_cast<T>(classes) ? static_cast<int64_t>(cut) : -1;
  }
  // Throws at `at`, the layer's place, for a label without a class; called by WrongLabel, too.
  [[noreturn]] void Fail(const SourceLoc& at, double label, int64_t row, int64_t) const {
    std::ostringstream text;
    text << "label " << label << " at sample " << row << " is outside 0.." << classes - 1
         << "; mixup_param.classes says how many classes there are";
    throw UserError(at, text.str());
  }
};

template <class T>
DOPPIO_HD T Mixed(double share, T own, T other) {
  return static_cast<T>(share * static_cast<double>(own) +
                        (1 - share) * static_cast<double>(other));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_MIXUP_OPS_H_
