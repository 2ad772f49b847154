// Upsample enlarges images. With one bottom it repeats pixels. With a mask as its second bottom it
// writes each value to the position from which MAX pooling took it, and zeros to all other
// positions.
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/host_loops.h"
#include "layers/shape/upsample_ops.h"

namespace doppio {
namespace {

// Reads the scale factors and the size of the top into `g`, which must contain the size of the
// bottom. Throws UserError.
void ReadUpsampledSize(const LayerSpec& spec, bool masked, UpsampleGrid* g) {
  const UpsampleParameter& p = spec.param.upsample_param();
  const std::string path = "upsample_param.";
  UpsampleGrid& grid = *g;
  auto pair = [&](const char* name, bool has_h, bool has_w) {
    if (has_h == has_w) return has_h;
    throw spec.Mistake(path + name + (has_h ? "_h" : "_w"),
                       std::string(name) + "_h and " + name + "_w are both needed");
  };
  const bool size = pair("upsample", p.has_upsample_h(), p.has_upsample_w());
  const bool factors = pair("scale", p.has_scale_h(), p.has_scale_w());
  // SegNet's own files give a scale beside the size, and SegNet uses the size.
  spec.RefuseIf(factors && (size || p.has_scale()), size ? path + "upsample_h" : path + "scale",
                "give one of scale, scale_h and scale_w, upsample_h and upsample_w");
  spec.RefuseIf(!masked && (size || p.pad_out_h() || p.pad_out_w()),
                path + (size            ? "upsample_h"
                        : p.pad_out_h() ? "pad_out_h"
                                        : "pad_out_w"),
                "this field is for Upsample with a mask, the second top of a MAX Pooling, as its "
                "second bottom");
  if (size) {
    spec.RefuseIf(p.pad_out_h() || p.pad_out_w(),
                  path + (p.pad_out_h() ? "pad_out_h" : "pad_out_w"),
                  "this field is for scale factors; upsample_h and upsample_w are the top's size");
    grid.top_height = p.upsample_h();
    grid.top_width = p.upsample_w();
  } else {
    // The defaults: 2 with a mask (SegNet), 1 without (the YOLO forks).
    const int64_t scale = p.has_scale() ? p.scale() : masked ? 2 : 1;
    grid.scale_h = factors ? p.scale_h() : scale;
    grid.scale_w = factors ? p.scale_w() : scale;
    spec.RefuseIf(grid.scale_h < 1 || grid.scale_w < 1,
                  path + (!factors           ? "scale"
                          : grid.scale_h < 1 ? "scale_h"
                                             : "scale_w"),
                  "it must be positive, found 0");
    grid.top_height = grid.height * grid.scale_h - (p.pad_out_h() ? 1 : 0);
    grid.top_width = grid.width * grid.scale_w - (p.pad_out_w() ? 1 : 0);
  }
  spec.RefuseIf(grid.top_height < 1 || grid.top_width < 1,
                size ? path + "upsample_h" : "upsample_param", "the top would be ", grid.top_height,
                "x", grid.top_width);
}

// Returns how bottom 0 gets the mask's size. It usually comes from another Upsample, whose scale
// gives only even sides, while pooling has rounded odd ones.
std::string HowToFit(const Shape& bottom, const Shape& mask) {
  if (mask.rank() != 4 || mask[0] != bottom[0] || mask[1] != bottom[1]) return "";
  return StrCat("; an Upsample before this one gives bottom 0 the mask's size with upsample_h: ",
                mask[2], " and upsample_w: ", mask[3]);
}

UpsampleForm ReadUpsample(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const bool masked = bottoms.size() > 1;
  CheckImages(spec, bottom);
  if (masked) {
    spec.RefuseIf(bottoms[1] != bottom, {"bottom", 1}, "the mask must have the shape of bottom 0, ",
                  bottom.ToString(), "; found ", bottoms[1].ToString(),
                  HowToFit(bottom, bottoms[1]));
  }
  UpsampleForm form;
  UpsampleGrid& grid = form.grid;
  form.masked = masked;
  if (masked) form.mask_at = spec.At("bottom", 1);
  grid.planes = bottom[0] * bottom[1];
  grid.height = bottom[2];
  grid.width = bottom[3];
  ReadUpsampledSize(spec, masked, &grid);
  spec.RefuseIf(grid.planes * grid.height * grid.width > INT32_MAX, "bottom",
                "Upsample counts the elements of its bottom in 32 bits; found ", bottom.ToString());
  return form;
}

LayerShape InferUpsample(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const UpsampleForm form = ReadUpsample(spec, bottoms);
  LayerShape shape;
  shape.form = form;
  shape.tops = {{bottoms[0][0], bottoms[0][1], form.grid.top_height, form.grid.top_width}};
  shape.backward_reads_bottoms = form.masked;
  shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, true};
  shape.no_gradient_bottoms_may_learn = true;
  if (!form.masked && shape.tops[0] == bottoms[0]) shape.view = View::kSame;
  return shape;
}

template <class T>
class Upsample : public FormKernel<UpsampleForm> {
 public:
  explicit Upsample(const KernelArgs& args)
      : FormKernel(args), layer_(args.layer), grid_(form_.grid), loops_(args.device) {}

  void Forward(const Pass&) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    if (!form_.masked) return loops_.Run(grid_.top_count(), RepeatPixels<T>{grid_, x, y});
    std::fill(y, y + grid_.top_count(), T(0));
    const T* mask = BottomValues<T>(1);
    for (int64_t n = 0; n < grid_.bottom_count(); ++n) {
      const int64_t place = PlaceByMask(grid_, mask, n);
      if (place < 0) throw form_.BadMask(layer_);
      y[place] = x[n];
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* dy = TopGradient<T>(0);
    T* dx = BottomGradient<T>(0);
    if (!form_.masked) return loops_.Run(grid_.bottom_count(), SumPixels<T>{grid_, dy, dx});
    const T* mask = BottomValues<T>(1);
    loops_.Run(grid_.bottom_count(), ReadByMask<T>{grid_, mask, dy, dx});
  }

 private:
  const std::string layer_;
  const UpsampleGrid grid_;
  const HostLoops loops_;
};

DOPPIO_REGISTER_LAYER("Upsample", LayerType(&InferUpsample).Bottoms(1, 2).Tops(1));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Upsample>("Upsample"));

}  // namespace
}  // namespace doppio
