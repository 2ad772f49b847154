// The factor on the gradients of an update: it undoes the loss scale, divides by iter_size, and
// clips by the norm of all gradients (clip_gradients).
#ifndef DOPPIO_SOLVERS_UPDATE_GRADIENT_SCALE_H_
#define DOPPIO_SOLVERS_UPDATE_GRADIENT_SCALE_H_

#include <cmath>

namespace doppio {

class GradientScale {
 public:
  // `clip` is the maximum L2 norm of all gradients; negative: no clipping.
  explicit GradientScale(double clip) : clip_(clip) {}

  // Sets the factor by which the gradients in the store exceed those of the loss
  // (Net::SetLossScale). Initially 1.
  void set_loss_scale(double scale) { loss_scale_ = scale; }
  double loss_scale() const { return loss_scale_; }
  double clip() const { return clip_; }
  bool clips() const { return clip_ >= 0; }

  // Begins an update, whose norm is not known yet.
  void Reset() {
    norm_ = 0;
    clip_scale_ = 1;
  }
  // Sets the norm from the sum of the squares of all gradients in the store.
  void SetSumSquares(double sum) {
    norm_ = std::sqrt(sum) / loss_scale_;
    if (norm_ > clip_) clip_scale_ = clip_ / norm_;
  }
  // Returns the factor on gradients that are sums over iter_size passes.
  double Factor(int iter_size) const { return clip_scale_ / iter_size / loss_scale_; }

  // Norm in the last update, before clipping and without the loss scale; 0 without clipping.
  double norm() const { return norm_; }
  // Part of the factor that is due to clipping; 1 if the gradients of the last update were not
  // clipped.
  double clip_scale() const { return clip_scale_; }

 private:
  const double clip_;
  double loss_scale_ = 1;
  double norm_ = 0, clip_scale_ = 1;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_GRADIENT_SCALE_H_
