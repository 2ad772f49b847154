// Attention on a GPU, in plain layout, for every stored type. Only the gradients of biases need
// memory for all queries x keys of the heads, and samples, that have their own.
#include <algorithm>

#include "layers/common/room.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/inner_product/attention_tiles.cuh"

namespace doppio {
namespace {

constexpr char kAttention[] = "Attention";

// Launches a kernel whose blocks share `items` items.
template <class... Parameters, class... Args>
static void LaunchItems(const Gpu& gpu, int64_t items, void (*kernel)(Parameters...),
                        const Args&... args) {
  Launch(gpu, kAttention, kernel, static_cast<unsigned>(std::min(items, launch::kMaxBlocks)),
         args...);
}

template <class T>
static void DotTops(const Gpu& gpu, const attention::Task<T>& task, const T* top, float* dots) {
  const AttentionForm form = task.form;
  ForEachIndex(
      gpu, form.batch * form.heads * form.queries, kAttention, DOPPIO_BODY(int64_t row) {
        const int64_t pair = row / form.queries, i = row % form.queries;
        const int64_t n = pair / form.heads, head = pair % form.heads;
        const auto y = task.Tops(top, n, head), dy = task.Tops(task.top_gradient, n, head);
        float dot = 0;
        for (int64_t c = 0; c < form.values; ++c) dot += y(i, c) * dy(i, c);
        dots[row] = dot;
      });
}

// Sums up the gradients of scores that RunScoreGradient has computed for bottom 3.
template <class T>
static void SumMaskGradient(const Gpu& gpu, const AttentionForm& form, const float* scores, T* to) {
  ForEachIndex(
      gpu, form.mask_count, kAttention, DOPPIO_BODY(int64_t e) {
        const int64_t n = form.by_sample != 0 ? e / form.by_sample : 0;
        const int64_t head = form.by_head != 0 ? e / form.by_head % form.heads : 0;
        const int64_t own_heads = form.by_head != 0 ? form.heads : 1;
        const int64_t i0 = form.by_query != 0 ? e / form.by_query % form.queries : 0;
        const int64_t i1 = form.by_query != 0 ? i0 + 1 : form.queries;
        const int64_t j0 = form.by_key != 0 ? e % form.keys : 0;
        const int64_t j1 = form.by_key != 0 ? j0 + 1 : form.keys;
        double sum = 0;
        for (int64_t i = i0; i < i1; ++i) {
          for (int64_t j = j0; j < j1; ++j) {
            const int64_t row = (n * own_heads + head) * form.queries + i;
            sum += static_cast<double>(scores[row * form.keys + j]);
          }
        }
        to[e] = static_cast<T>(static_cast<float>(sum));
      });
}

// The same for the relative biases, from the gradients of the scores of each head.
static void SumRelativeGradient(const Gpu& gpu, const AttentionForm& form, const float* scores,
                                bool add, float* to) {
  ForEachIndex(
      gpu, form.heads * form.offsets(), kAttention, DOPPIO_BODY(int64_t e) {
        const int64_t head = e / form.offsets(), offset = e % form.offsets();
        const int64_t width = 2 * form.grid_columns - 1;
        const int64_t down = offset / width - (form.grid_rows - 1);
        const int64_t right = offset % width - (form.grid_columns - 1);
        double sum = add ? static_cast<double>(to[e]) : 0;
        for (int64_t i = 0; i < form.queries; ++i) {
          const int64_t row = i / form.grid_columns - down, column = i % form.grid_columns - right;
          if (row < 0 || row >= form.grid_rows || column < 0 || column >= form.grid_columns)
            continue;
          const int64_t j = row * form.grid_columns + column;
          sum += static_cast<double>(scores[(head * form.queries + i) * form.keys + j]);
        }
        to[e] = static_cast<float>(sum);
      });
}

class CudaAttention : public FormKernel<AttentionForm> {
 public:
  explicit CudaAttention(const KernelArgs& args)
      : FormKernel(args), type_(args.tops[0]), backward_(args.backward) {
    needs_.types.assign(args.bottoms.size(), type_);
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
  }

  void Forward(const Pass& pass) override {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      LaunchItems(GpuOf(device_), Items(form_.queries, form_.values), &attention::RunForward<T>,
                  TaskOf<T>(pass), TopValues<T>(0));
    });
  }

  void Backward(const Pass& pass, const std::vector<bool>& add) override {
    DispatchStored(type_, [&](auto zero) {
      using T = decltype(zero);
      const Gpu gpu = GpuOf(device_);
      attention::Task<T> task = TaskOf<T>(pass);
      task.top_gradient = TopGradient<T>(0);
      task.dots = dots_;
      DotTops(gpu, task, TopValues<T>(0), dots_);
      if (t_.bottom_grads[0]) {
        LaunchItems(gpu, Items(form_.queries, form_.depth), &attention::RunGradient<0, T>, task,
                    BottomGradient<T>(0));
      }
      if (t_.bottom_grads[1]) {
        LaunchItems(gpu, Items(form_.keys, form_.depth), &attention::RunGradient<1, T>, task,
                    BottomGradient<T>(1));
      }
      if (t_.bottom_grads[2]) {
        LaunchItems(gpu, Items(form_.keys, form_.values), &attention::RunGradient<2, T>, task,
                    BottomGradient<T>(2));
      }
      BiasGradients(gpu, task, add);
    });
  }
  bool same_every_pass() const override { return form_.ratio == 0; }

 private:
  // Returns the number of items of RunForward and its gradients, or an upper bound.
  int64_t Items(int64_t positions, int64_t width) const {
    return form_.batch * form_.heads * attention::TilesOf(positions) * attention::TilesOf(width);
  }

  template <class T>
  attention::Task<T> TaskOf(const Pass& pass) const {
    return {form_,
            BottomValues<T>(0),
            BottomValues<T>(1),
            BottomValues<T>(2),
            form_.mask != AttentionForm::kNoMask ? BottomValues<T>(3) : nullptr,
            form_.relative ? ParamValues<float>(0) : nullptr,
            pass.FirstSample(form_.batch),
            log_sums_};
  }

  template <class T>
  void BiasGradients(const Gpu& gpu, const attention::Task<T>& task, const std::vector<bool>& add) {
    if (form_.mask == AttentionForm::kAdd && t_.bottom_grads[3]) {
      LaunchItems(gpu, Items(form_.queries, form_.keys), &attention::RunScoreGradient<T>, task,
                  form_.by_sample != 0, form_.by_head != 0, scores_);
      SumMaskGradient(gpu, form_, scores_, BottomGradient<T>(3));
    }
    if (form_.relative && t_.param_grads[0]) {
      LaunchItems(gpu, Items(form_.queries, form_.keys), &attention::RunScoreGradient<T>, task,
                  false, true, scores_);
      SumRelativeGradient(gpu, form_, scores_, add[0], ParamGradient<float>(0));
    }
  }

  // Assigns the memory, or only counts its bytes if both arguments are null.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    if (backward_) {
      const int64_t rows = form_.batch * form_.heads * form_.queries;
      log_sums_ = kept.Take<float>(rows);
      dots_ = passing.Take<float>(rows);
      int64_t matrices = form_.relative ? form_.heads : 0;
      if (form_.mask == AttentionForm::kAdd) {
        matrices = std::max(matrices, (form_.by_sample != 0 ? form_.batch : 1) *
                                          (form_.by_head != 0 ? form_.heads : 1));
      }
      scores_ = passing.Take<float>(matrices * form_.queries * form_.keys);
    }
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  const DType type_;
  const bool backward_;
  float *log_sums_ = nullptr, *dots_ = nullptr;
  float* scores_ = nullptr;  // gradients of scores, for those of biases
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaAttention>("Attention").Narrow());

}  // namespace
}  // namespace doppio
