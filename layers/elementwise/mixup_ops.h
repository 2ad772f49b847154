// Mixup, for all devices: which samples are mixed, and how. H. Zhang, M. Cisse, Y. Dauphin, D.
// Lopez-Paz, "mixup: Beyond Empirical Risk Minimization", ICLR 2018. CutMix: S. Yun et al.,
// "CutMix: Regularization Strategy to Train Strong Classifiers with Localizable Features", ICCV
// 2019.
//
// The samples with global indices 2k and 2k + 1 are mixed with each other. How depends only on the
// seed, the layer's name and k.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_MIXUP_OPS_H_
#define DOPPIO_LAYERS_ELEMENTWISE_MIXUP_OPS_H_

#include <cmath>
#include <sstream>

#include "core/base/error.h"
#include "layers/elementwise/beta_share.h"

namespace doppio {

// How a pair is mixed.
struct Mixture {
  double share;  // weight of a sample in its own labels; its partner has the remaining weight
  bool pastes;   // CutMix: the data are the sample's, but those of the partner in the box
  int64_t top, left, bottom, right;  // the box; the last row and column are outside

  DOPPIO_HD bool InBox(int64_t y, int64_t x) const {
    return y >= top && y < bottom && x >= left && x < right;
  }
};

struct MixupForm {
  Random random;      // of shares
  Random cut_random;  // of the kinds of mixtures, and of the places of boxes
  double alpha, cutmix_alpha, switch_prob;
  bool mixes;  // if false, each sample keeps its value
  int64_t samples, per_sample, classes;
  int64_t height, width;        // of images; 1 x 1 without CutMix
  double smoothing, threshold;  // of labels; 0 outside of training

  // Returns the mixture of `sample`, a global index.
  DOPPIO_HD Mixture Of(uint64_t sample) const {
    const uint64_t pair = sample / 2;
    if (!mixes) return {1, false, 0, 0, 0, 0};
    const bool pastes =
        cutmix_alpha > 0 &&
        (alpha <= 0 || static_cast<double>(cut_random.Uniform(pair, 0)) < switch_prob);
    if (!pastes) return {BetaShare(random, pair, alpha), false, 0, 0, 0, 0};
    // The box has a beta-distributed share of the image, before the image's edges cut it.
    const double side = std::sqrt(1 - BetaShare(random, pair, cutmix_alpha));
    const int64_t rows = static_cast<int64_t>(side * static_cast<double>(height));
    const int64_t columns = static_cast<int64_t>(side * static_cast<double>(width));
    const int64_t top = Draw(height, pair, 1) - rows / 2;
    const int64_t left = Draw(width, pair, 2) - columns / 2;
    Mixture made = {1, true, top > 0 ? top : 0, left > 0 ? left : 0, top + rows, left + columns};
    if (made.bottom > height) made.bottom = height;
    if (made.right > width) made.right = width;
    const int64_t pasted = (made.bottom - made.top) * (made.right - made.left);
    made.share = 1 - static_cast<double>(pasted) / static_cast<double>(height * width);
    return made;
  }
  // Returns what the layer writes for a class that has this share of a sample's labels.
  template <class T>
  DOPPIO_HD T Label(T share) const {
    if (threshold > 0) return static_cast<double>(share) > threshold ? T(1) : T(0);
    return static_cast<T>(static_cast<double>(share) * (1 - smoothing) +
                          smoothing / static_cast<double>(classes));
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

 private:
  DOPPIO_HD int64_t Draw(int64_t below, uint64_t pair, uint64_t element) const {
    return static_cast<int64_t>(cut_random.Below(static_cast<uint32_t>(below), pair, element));
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
