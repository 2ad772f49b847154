#include "data/augment/settle.h"

#include "proto/data.pb.h"

namespace doppio {
namespace {

// The size that phase TEST takes of a range (data/augment/random_size.cc).
uint32_t Middle(uint32_t lower, uint32_t upper) { return lower + (upper - lower) / 2; }

}  // namespace

void SettleAspectRatio(const cv::Size& size, TransformationParameter* transform) {
  ResizeParameter resize = transform->random_aspect_ratio_param().resize_param();
  resize.set_height(static_cast<uint32_t>(size.height));
  resize.set_width(static_cast<uint32_t>(size.width));
  SettleResize(&resize);
  transform->clear_random_aspect_ratio_param();
  *(transform->has_resize_param()
        ? transform->mutable_random_aspect_ratio_param()->mutable_resize_param()
        : transform->mutable_resize_param()) = resize;
}

void SettleRandomSize(TransformationParameter* t) {
  if (t->has_random_resize_param()) {
    RandomResizeParameter* sizes = t->mutable_random_resize_param();
    const uint32_t side = Middle(sizes->min_size(), sizes->max_size());
    sizes->set_min_size(side);
    sizes->set_max_size(side);
    if (sizes->has_resize_param()) SettleResize(sizes->mutable_resize_param());
    return;
  }
  for (const char* name :
       {"rand_resize_ratio_lower", "rand_resize_ratio_upper", "vertical_stretch_lower",
        "vertical_stretch_upper", "horizontal_stretch_lower", "horizontal_stretch_upper"}) {
    t->GetReflection()->ClearField(t, t->GetDescriptor()->FindFieldByName(name));
  }
  if (t->has_img_rand_resize_lower() || t->has_img_rand_resize_upper()) {
    const uint32_t side = Middle(t->img_rand_resize_lower(), t->img_rand_resize_upper());
    t->set_img_rand_resize_lower(side);
    t->set_img_rand_resize_upper(side);
  } else if (t->allow_upscale()) {
    // In phase TEST, the transform only enlarges images that are smaller than the crop.
    t->set_vertical_stretch_lower(1);
  }
}

void SettleResize(ResizeParameter* resize) {
  resize->clear_prob();
  resize->clear_height_scale();
  resize->clear_width_scale();
  if (resize->interp_mode_size() > 1) resize->mutable_interp_mode()->Truncate(1);
  if (resize->interp_mode_size() == 1 && resize->interp_mode(0) == ResizeParameter::LINEAR) {
    resize->clear_interp_mode();  // the default
  }
}

void SettleNoise(TransformationParameter* transform) {
  NoiseParameter* noise = transform->mutable_noise_param();
  const bool random = noise->has_prob() && noise->prob() < 1;
  noise->clear_prob();
  noise->clear_saltpepper();
  noise->clear_saltpepper_param();
  if (random || noise->ByteSizeLong() == 0) transform->clear_noise_param();
}

}  // namespace doppio
