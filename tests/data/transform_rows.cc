#include "tests/data/transform_rows.h"

#include <algorithm>
#include <vector>

#include "tests/data/transform_fields.h"
#include "tests/random/field_text.h"

namespace doppio {
namespace {

constexpr int kMostSide = 20;  // of stored images

int IntOf(int64_t value) { return static_cast<int>(value); }

// Draws the transformations of images. Each step of the way from a stored image to a sample either
// has a result of known size or one that the crop fits into.
class TransformDraft {
 public:
  TransformDraft(Draw* draw, const ImageWish& wish)
      : draw_(draw),
        wish_(wish),
        channels_(wish.sample[0]),
        out_{IntOf(wish.sample[1]), IntOf(wish.sample[2])},
        free_(wish.stored == PixelSize()) {}

  std::optional<DrawnImages> Make() {
    using Way = void (TransformDraft::*)();
    const bool changes = wish_.layer != ImageWish::kPlain;
    const bool covers =
        free_ || (wish_.stored.height >= out_.height && wish_.stored.width >= out_.width);
    std::vector<Way> ways;
    if (covers && !wish_.windows) ways.push_back(&TransformDraft::KeepSizes);
    if (changes) ways.push_back(&TransformDraft::ResizeExactly);
    if (changes && (covers || wish_.windows)) ways.push_back(&TransformDraft::CoverCrop);
    if (ways.empty()) return std::nullopt;
    (this->*draw_->Of(ways))();
    ChangePixels();
    FinishSample();
    if (!free_) result_.stored = wish_.stored;
    return result_;
  }

 private:
  bool OfImages() const { return wish_.layer == ImageWish::kImages; }
  void Add(const std::string& text) { result_.transform += text; }
  PixelSize Larger(const PixelSize& size, int64_t most) {
    const int64_t rows = draw_->Int(0, most), columns = draw_->Int(0, most);
    return {size.height + IntOf(rows), size.width + IntOf(columns)};
  }
  PixelSize AnySize() {
    const int64_t height = draw_->Extent(kMostSide), width = draw_->Extent(kMostSide);
    return {IntOf(height), IntOf(width)};
  }

  // Draws the crop and `pad`, if all images have one size before them. Returns this size.
  PixelSize DrawCropAndPad() {
    crop_ = draw_->Chance(0.5);
    before_crop_ = crop_ ? Larger(out_, 5) : out_;
    const int most = (std::min(before_crop_.height, before_crop_.width) - 1) / 2;
    const int pad = OfImages() && draw_->Chance(0.25) ? std::min(most, IntOf(draw_->Int(1, 2))) : 0;
    if (pad > 0) Add(FieldText("pad", pad));
    return {before_crop_.height - 2 * pad, before_crop_.width - 2 * pad};
  }

  // No step but crop and pad changes the size.
  void KeepSizes() {
    if (free_) {
      result_.stored = DrawCropAndPad();
      return;
    }
    const int pad = OfImages() && draw_->Chance(0.25) ? IntOf(draw_->Int(1, 2)) : 0;
    if (pad > 0) Add(FieldText("pad", pad));
    before_crop_ = {wish_.stored.height + 2 * pad, wish_.stored.width + 2 * pad};
    crop_ = before_crop_ != out_ || draw_->Chance(0.3);
  }

  // A step gives all images one size.
  void ResizeExactly() {
    result_.stored = AnySize();
    result_.any_size = true;
    const PixelSize size = DrawCropAndPad();
    if (OfImages() && draw_->Chance(0.25)) {
      // Without height and width, the size is that of the crop.
      const bool as_crop = crop_ && size == out_ && draw_->Chance(0.5);
      std::string text = DrawAspectFields(draw_);
      if (as_crop) {
        text += Maybe(draw_, 0.5, MessageText("resize_param", DrawInterpolations(draw_)));
      } else {
        text += MessageText("resize_param", DrawResizeFields(draw_, size));
      }
      Add(MessageText("random_aspect_ratio_param", text));
      return;
    }
    if (OfImages() && draw_->Chance(0.3)) DrawSizeBeforeResize();
    if (draw_->Chance(0.2)) Expand();
    std::string text = Maybe(draw_, 0.3, FieldText("prob", 1));
    text += WordText(draw_, "resize_mode", {"WARP", "FIT_LARGE_SIZE_AND_PAD"});
    Add(MessageText("resize_param", text + DrawResizeFields(draw_, size)));
  }

  // The first step, if a later one gives all images one size.
  void DrawSizeBeforeResize() {
    const int64_t kind = draw_->Int(0, 2);
    if (kind == 0) {
      std::string text = DrawAspectFields(draw_);
      text += MessageText("resize_param", DrawResizeFields(draw_, AnySize()));
      Add(MessageText("random_aspect_ratio_param", text));
    } else if (kind == 1) {
      DrawShortSide(1);
    } else {
      DrawSizeAsNvidia(1);
    }
  }

  // Sizes vary, but the crop fits into all of them.
  void CoverCrop() {
    crop_ = true;
    before_crop_ = Larger(out_, 3);  // of the mean image
    result_.stored = Larger(out_, 5);
    result_.any_size = true;
    const int64_t kind = wish_.windows ? 0 : draw_->Int(0, OfImages() ? 4 : 2);
    if (kind == 0) {
      result_.stored = AnySize();
      const PixelSize size = Larger(out_, 4);
      Add(MessageText("resize_param",
                      FieldText("resize_mode", "FIT_SMALL_SIZE") + DrawResizeFields(draw_, size)));
    } else if (kind == 1) {
      const PixelSize size = Larger(out_, 4);
      std::string text = RealText(draw_, "prob", 0, 1);
      Add(MessageText("resize_param", text + DrawResizeFields(draw_, size)));
    } else if (kind == 2) {
      Expand();
    } else if (kind == 3) {
      result_.stored = AnySize();
      DrawShortSide(std::max(out_.height, out_.width));
    } else {
      DrawSizeAsNvidia(std::max(out_.height, out_.width));
    }
    if (OfImages() && draw_->Chance(0.2)) Add(IntText(draw_, "pad", 0, 2));
  }

  // A mean image and the fill of the canvas exclude each other.
  void Expand() {
    expands_ = true;
    Add(DrawExpansion(draw_));
  }

  void DrawShortSide(int least) {
    const int64_t min = draw_->Int(least, least + 4), max = draw_->Int(min, min + 4);
    std::string text = FieldText("min_size", min) + FieldText("max_size", max);
    text += Maybe(draw_, 0.6, MessageText("resize_param", DrawResizeFields(draw_, AnySize())));
    Add(MessageText("random_resize_param", text));
  }

  // Draws NVCaffe's random sizes, at least one of its three changes.
  void DrawSizeAsNvidia(int least) {
    const int64_t which = draw_->Int(1, 7);
    if (which & 1) {
      const int64_t min = draw_->Int(least, least + 4), max = draw_->Int(min, min + 4);
      Add(FieldText("img_rand_resize_lower", min) + FieldText("img_rand_resize_upper", max));
    }
    if (which & 2) {
      Add(RealText(draw_, "rand_resize_ratio_lower", 1, 1.3));
      Add(RealText(draw_, "rand_resize_ratio_upper", 1.3, 2));
    }
    if (which & 4) {
      for (const char* axis : {"vertical", "horizontal"}) {
        const std::string name = axis;
        Add(RealText(draw_, name + "_stretch_lower", 0.7, 1));
        Add(RealText(draw_, name + "_stretch_upper", 1, 1.5));
      }
    }
    const std::vector<std::string> algorithms = {"INTER_NEAREST", "INTER_LINEAR", "INTER_CUBIC",
                                                 "INTER_AREA"};
    Add(Maybe(draw_, 0.5, FieldText("allow_upscale", true)));
    Add(Maybe(draw_, 0.5, WordText(draw_, "interpolation_algo_down", algorithms)));
    Add(Maybe(draw_, 0.5, WordText(draw_, "interpolation_algo_up", algorithms)));
  }

  // Draws changes that keep the size.
  void ChangePixels() {
    if (wish_.layer == ImageWish::kPlain) return;
    if (channels_ == 3 && draw_->Chance(0.2)) Add(DrawDistortion(draw_));
    if (draw_->Chance(0.2)) Add(DrawNoise(draw_, channels_ == 3));
    if (!OfImages()) return;
    if (draw_->Chance(0.2)) Add(DrawRotation(draw_));
    if (draw_->Chance(0.2)) Add(DrawShift(draw_));
    if (draw_->Chance(0.2)) Add(DrawCutout(draw_));
    if (draw_->Chance(0.2)) Add(DrawAutoAugment(draw_));
    if (draw_->Chance(0.2)) Add(DrawErasing(draw_));
  }

  void FinishSample() {
    if (crop_) Add(CropText(draw_, out_));
    const bool mirror = draw_->Chance(0.5);
    if (mirror || draw_->Chance(0.2)) Add(FieldText("mirror", mirror));
    std::string turns;
    if (wish_.layer != ImageWish::kPlain) {
      turns = Maybe(draw_, 0.2, FieldText("flip", true));
      if (out_.height == out_.width) turns += Maybe(draw_, 0.2, FieldText("quarter_turns", true));
      Add(turns);
    }
    Add(DrawMean(draw_, channels_, before_crop_, wish_.floats, !expands_, wish_.folder));
    Add(DrawScale(draw_, wish_.floats));
    Add(DrawDeviations(draw_, channels_));
    Add(DrawUnusedTransforms(draw_, mirror || !turns.empty()));
  }

  Draw* const draw_;
  const ImageWish& wish_;
  const int64_t channels_;
  const PixelSize out_;
  const bool free_;  // the size of the stored images is to be drawn
  bool crop_ = false, expands_ = false;
  PixelSize before_crop_;  // size of the images; if it varies, that of the mean image
  DrawnImages result_;
};

}  // namespace

std::optional<DrawnImages> DrawImages(Draw* draw, const ImageWish& wish) {
  if (wish.sample.rank() != 3) return std::nullopt;
  return TransformDraft(draw, wish).Make();
}

}  // namespace doppio
