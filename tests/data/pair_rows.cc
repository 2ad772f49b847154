// Rows of the layers ImageSegData, DenseImageData and ImageLabelmapData.
#include "tests/data/source_text.h"
#include "tests/data/transform_fields.h"
#include "tests/random/layer_row.h"

namespace doppio {
namespace {

constexpr int64_t kMostPixelLabels = 256;  // labels travel in bytes

// A layer type that reads pairs, its parameter message, and the most tops that it may have.
struct PairLayer {
  const char* type;
  const char* message;
  int most_tops;
};

// Draws the files of a layer and the fields of how they become samples.
class PairDraft {
 public:
  PairDraft(Draw* draw, const SourceWish& wish, const PairLayer& layer)
      : draw_(draw),
        wish_(wish),
        layer_(layer),
        out_{static_cast<int>(wish.sample[1]), static_cast<int>(wish.sample[2])} {}

  std::string Text() {
    const PixelSize size = draw_->Chance(0.5) ? Crop() : KeepOrResize();
    const bool mirror = draw_->Chance(0.5);
    transform_ += FieldText("mirror", mirror);
    std::string turns = Maybe(draw_, 0.2, FieldText("flip", true));
    if (out_.height == out_.width) turns += Maybe(draw_, 0.2, FieldText("quarter_turns", true));
    transform_ += turns;
    transform_ += DrawMean(draw_, wish_.sample[0], size, false, false, "");
    transform_ += DrawScale(draw_, false) + DrawDeviations(draw_, wish_.sample[0]);
    transform_ += DrawUnusedTransforms(draw_, mirror || !turns.empty());
    const bool colour = wish_.sample[0] == 3;
    if (!colour || draw_->Chance(0.3)) fields_ += FieldText("is_color", colour);
    AddLabels();
    SourceWish file = wish_;
    file.classes = std::min(wish_.classes, kMostPixelLabels);
    const ImageShape shape = ShapeOfImages(draw_->Of<int64_t>({1, 3}), size);
    const std::string list = DrawDataPath(draw_, kind_, file, shape);
    fields_ += QuotedText("source", list + ".txt") + QuotedText("root_folder", list + "/");
    fields_ += DrawReading(draw_, wish_);
    return SourceText(draw_, wish_, layer_.type,
                      WithTransform(draw_, layer_.message, fields_, transform_));
  }

 private:
  bool Is(const std::string& type) const { return layer_.type == type; }
  PixelSize AnySize() {
    constexpr int kMostSide = 20;
    const int64_t height = draw_->Extent(kMostSide), width = draw_->Extent(kMostSide);
    return {static_cast<int>(height), static_cast<int>(width)};
  }
  void SetNewSize(const PixelSize& size) {
    fields_ += FieldText("new_height", size.height) + FieldText("new_width", size.width);
  }

  // Images of any size are extended or cropped. Returns the size of the files.
  PixelSize Crop() {
    transform_ += CropText(draw_, out_);
    any_size_ = fills_ = true;
    if (draw_->Chance(0.4)) {
      for (int64_t left = draw_->Int(1, 3); left > 0; --left)
        transform_ += RealText(draw_, "scale_factors", 0.5, 2);
    }
    if (draw_->Chance(0.3)) SetNewSize(AnySize());
    return AnySize();
  }

  PixelSize KeepOrResize() {
    if (draw_->Chance(0.5)) return out_;
    any_size_ = true;
    SetNewSize(out_);
    return AnySize();
  }

  // Draws what the labels are. ignore_label fills images, so it must be a label.
  void AddLabels() {
    if (Is("ImageLabelmapData")) {
      kind_ = "edges";
      transform_ += Maybe(draw_, 0.3, IntText(draw_, "ignore_label", 0, kMostPixelLabels - 1));
      return;
    }
    const std::string type =
        Is("ImageSegData") ? draw_->Of<std::string>({"", "PIXEL", "IMAGE", "NONE"}) : "";
    if (!type.empty()) fields_ += FieldText("label_type", type);
    if (fills_ || type == "NONE" || draw_->Chance(0.2)) {
      transform_ +=
          IntText(draw_, "ignore_label", 0, std::min(wish_.classes, kMostPixelLabels) - 1);
    }
    if (Is("DenseImageData") && draw_->Chance(0.4)) {
      // A top of labels would become smaller than the sample.
      const int most = wish_.tops.size() > 1 ? 1 : std::min(out_.height, out_.width);
      fields_ += IntText(draw_, "label_divide_factor", 1, most);
    }
    if (type == "NONE") {
      kind_ = "paths";
    } else if (type == "IMAGE") {
      kind_ = any_size_ ? "listsizes" : "list";
    } else {
      kind_ = any_size_ && draw_->Chance(0.5) ? "pairsizes" : "pairs";
    }
  }

  Draw* const draw_;
  const SourceWish& wish_;
  const PairLayer& layer_;
  const PixelSize out_;
  bool any_size_ = false;  // the files may have any sizes
  bool fills_ = false;     // images may be smaller than the crop
  std::string fields_, transform_, kind_;
};

std::string DrawPairsOf(Draw* draw, const SourceWish& wish, const PairLayer& layer) {
  const bool fits = WantsImage(wish) && wish.classes >= 2 &&
                    static_cast<int>(wish.tops.size()) <= layer.most_tops;
  return fits ? PairDraft(draw, wish, layer).Text() : "";
}

std::string DrawImageSegData(Draw* draw, const SourceWish& wish) {
  return DrawPairsOf(draw, wish, {"ImageSegData", "image_data_param", 3});
}
std::string DrawDenseImageData(Draw* draw, const SourceWish& wish) {
  return DrawPairsOf(draw, wish, {"DenseImageData", "dense_image_data_param", 2});
}
std::string DrawImageLabelmapData(Draw* draw, const SourceWish& wish) {
  return DrawPairsOf(draw, wish, {"ImageLabelmapData", "image_data_param", 2});
}

DOPPIO_REGISTER(SourceRows, "ImageSegData", {&DrawImageSegData, 0, SourceRow::kPerPixel, 1, 3});
DOPPIO_REGISTER(SourceRows, "DenseImageData", {&DrawDenseImageData, 0, SourceRow::kPerPixel});
DOPPIO_REGISTER(SourceRows, "ImageLabelmapData", {&DrawImageLabelmapData, 0, SourceRow::kPerPixel});

}  // namespace
}  // namespace doppio
