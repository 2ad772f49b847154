// The CPU kernel of ROIAlign and PSROIAlign.
#ifndef DOPPIO_LAYERS_DETECTION_ROI_ALIGN_KERNEL_H_
#define DOPPIO_LAYERS_DETECTION_ROI_ALIGN_KERNEL_H_

#include <vector>

#include "core/base/threads.h"
#include "core/net/contract/kernel.h"
#include "layers/common/host_loops.h"
#include "layers/detection/roi_align_ops.h"
#include "layers/detection/roi_pooling_form.h"

namespace doppio {

// Points<T> is a class of points of roi_align_ops.h.
template <class T, template <class> class Points>
class RoiPointKernel : public FormKernel<RoiPoolingForm> {
 public:
  explicit RoiPointKernel(const KernelArgs& args) : FormKernel(args), loops_(args.device) {}

  void Forward(const Pass&) override {
    const T* rois = BottomValues<T>(1);
    CheckRois(form_, rois);
    loops_.Run(form_.rois.top_count(), RoiPointMean<T, Points>{form_.rois, BottomValues<T>(0), rois,
                                                               TopValues<T>(0), nullptr});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const RoiPointMeanPlaneGradient<T, Points> body{form_.rois, BottomValues<T>(1),
                                                    TopGradient<T>(0), BottomGradient<T>(0)};
    ParallelFor(form_.rois.images * form_.rois.channels, 1, [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) body(n);
    });
  }

 private:
  const HostLoops loops_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_ROI_ALIGN_KERNEL_H_
