// The CPU kernel of ROIPooling, PSROIPooling, ROIAlign and PSROIAlign.
#ifndef DOPPIO_LAYERS_DETECTION_ROI_KERNEL_H_
#define DOPPIO_LAYERS_DETECTION_ROI_KERNEL_H_

#include <vector>

#include "core/base/threads.h"
#include "core/net/contract/kernel.h"
#include "layers/common/host_loops.h"
#include "layers/detection/roi_pooling_form.h"

namespace doppio {

// Ops<T> names the functors: MaxOfRois, MeanOfRois (roi_pooling_ops.h), or one of the structs at
// the end of roi_align_ops.h.
template <class T, template <class> class Ops>
class RoiKernel : public FormKernel<RoiPoolingForm> {
 public:
  explicit RoiKernel(const KernelArgs& args) : FormKernel(args) {
    if (args.backward && Ops<T>::kKeepsPositions)
      needs_.saved_bytes = form_.rois.top_count() * kBytesOf<int32_t>;
  }

  void Forward(const Pass&) override {
    const T* rois = BottomValues<T>(1);
    CheckRois(form_, rois);
    HostLoops(device_).Run(form_.rois.top_count(),
                           typename Ops<T>::Forward{form_.rois, BottomValues<T>(0), rois,
                                                    TopValues<T>(0), From(), nullptr});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    ParallelForEach(
        form_.rois.images * form_.rois.channels, 1,
        typename Ops<T>::PlaneGradient{form_.rois, BottomValues<T>(1), TopGradient<T>(0), From(),
                                       BottomGradient<T>(0)});
  }

 private:
  // Returns the positions of the maxima, or null if Backward is never called.
  int32_t* From() const { return static_cast<int32_t*>(t_.saved); }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_ROI_KERNEL_H_
