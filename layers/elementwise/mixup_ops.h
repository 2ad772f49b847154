// Mixup, for all devices: which samples are mixed, and how. H. Zhang, M. Cisse, Y. Dauphin, D.
// Lopez-Paz, "mixup: Beyond Empirical Risk Minimization", ICLR 2018.
//
// The samples with global indices 2k and 2k + 1 are mixed with each other. The share depends only
// on the seed, the layer's name and k.
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
  bool mixes;  // if false, each sample keeps its value
  int64_t samples, per_sample, classes;

  // Returns the weight of `sample`, a global index, in its own mixture. Its partner has the
  // remaining weight.
  DOPPIO_HD double Share(uint64_t sample) const {
    return mixes ? BetaShare(random, sample / 2, alpha) : 1;
  }
  // Returns the other row of the pair.
  DOPPIO_HD int64_t Partner(int64_t row) const { return mixes ? row ^ 1 : row; }
  // Returns the class of a label, or -1 if the label is out of range or NaN.
  template <class T>
  DOPPIO_HD int64_t Class(T label) const {
    const T cut = std::trunc(label);
    return cut >= 0 && cut < static_cast<T>(classes) ? static_cast<int64_t>(cut) : -1;
  }
  // Throws UserError at `at`, the layer's place in its file, for a label without a class.
  // WrongLabel calls it, too, with a fourth argument that Mixup ignores.
  [[noreturn]] void Fail(const SourceLoc& at, double label, int64_t row, int64_t) const {
    std::ostringstream text;
    text << "label " << label << " at sample " << row << " is outside 0.." << classes - 1
         << "; mixup_param.classes gives the number of classes";
    throw UserError(at, text.str());
  }
};

// Returns share * own + (1 - share) * other, computed in double.
template <class T>
DOPPIO_HD T Mixed(double share, T own, T other) {
  return static_cast<T>(share * static_cast<double>(own) +
                        (1 - share) * static_cast<double>(other));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_MIXUP_OPS_H_
