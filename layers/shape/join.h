// Concat and Slice: parts that are adjacent along one axis of a whole.
//
// In any dense layout the whole consists of `rows` rows, each of which holds one contiguous run of
// every part in order. Every part is the sequence of its runs. So both layers copy runs of bytes,
// for all element types and also for blocked layouts.
#ifndef DOPPIO_LAYERS_SHAPE_JOIN_H_
#define DOPPIO_LAYERS_SHAPE_JOIN_H_

#include <cstring>
#include <utility>
#include <vector>

#include "core/base/threads.h"
#include "core/net/contract/kernel.h"

namespace doppio {

// The form of Concat and Slice: what their kernels need from the net file and the bottoms' shapes.
struct JoinForm {
  // True (Concat): the parts are the bottoms, and the whole is the top. False (Slice): the parts
  // are the tops, and the whole is the bottom.
  bool concat = false;
  // The axis along which the parts are adjacent; never negative.
  int axis = 0;
  Shape whole;
  std::vector<Shape> parts;
};

// The layouts of the whole and the parts, and the runs to copy.
struct JoinRuns {
  Layout whole;  // plain unless set
  std::vector<Layout> parts;
  int64_t rows = 1;
  std::vector<int64_t> run_bytes;  // bytes of one run of each part
  int64_t row_bytes = 0;           // the sum of run_bytes
};

// Returns the runs for a layout. `order` lists the axes of the layout, outermost first. `block` is
// the number of channels (axis 1) in an innermost block. If parts are adjacent along the channels,
// all parts but the last must consist of whole blocks. The caller sets the layouts of the result.
inline JoinRuns MakeJoin(const JoinForm& form, DType dtype, const std::vector<int>& order,
                         int64_t block = 1) {
  JoinRuns join;
  join.parts.resize(form.parts.size());
  for (const Shape& part : form.parts) {
    int64_t rows = 1, run = block * ElementBytes(dtype);
    bool inside = false;
    for (int a : order) {
      inside = inside || a == form.axis;
      (inside ? run : rows) *= a == 1 ? (part[a] + block - 1) / block : part[a];
    }
    join.rows = rows;
    join.run_bytes.push_back(run);
    join.row_bytes += run;
  }
  return join;
}

// Returns the runs for the plain layout.
inline JoinRuns MakePlainJoin(const JoinForm& form, DType dtype) {
  std::vector<int> order;
  for (int a = 0; a < form.whole.rank(); ++a) order.push_back(a);
  return MakeJoin(form, dtype, order);
}

// The base class of the kernels. Derived classes implement the copies of a device.
class JoinKernelBase : public Kernel {
 public:
  JoinKernelBase(const KernelArgs& args, JoinRuns join)
      : join_(std::move(join)), concat_(args.Form<JoinForm>().concat) {
    needs_.bottoms = concat_ ? join_.parts : std::vector<Layout>{join_.whole};
    needs_.tops = concat_ ? std::vector<Layout>{join_.whole} : join_.parts;
  }

  void Forward(const Pass&) override {
    if (concat_) {
      Gather(t_.bottoms, t_.tops[0]);
    } else {
      Scatter(t_.bottoms[0], t_.tops);
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (concat_) {
      Scatter(t_.top_grads[0], t_.bottom_grads);
    } else if (t_.bottom_grads[0]) {
      Gather(t_.top_grads, t_.bottom_grads[0]);
    }
  }

 protected:
  // Copies the parts to the whole. Writes zeros for absent parts, which are tops without a
  // gradient.
  virtual void Gather(const std::vector<Tensor>& parts, const Tensor& whole) const = 0;
  // Copies the whole to the parts. Skips absent parts, which are bottoms that need no gradient.
  virtual void Scatter(const Tensor& whole, const std::vector<Tensor>& parts) const = 0;

  const JoinRuns join_;

 private:
  const bool concat_;
};

// The kernel of the CPU.
class JoinKernel : public JoinKernelBase {
 public:
  using JoinKernelBase::JoinKernelBase;

 private:
  // Calls f(part, in_part, in_whole) for all runs, from several threads. in_part and in_whole are
  // the byte offsets of the run in the part and in the whole.
  template <class F>
  void ForEachRun(const F& f) const {
    const int64_t grain = 1 + 65536 / (join_.row_bytes + 1);
    ParallelForEach(join_.rows, grain, [&](int64_t r) {
      int64_t in_whole = r * join_.row_bytes;
      for (size_t p = 0; p < join_.parts.size(); ++p) {
        f(p, r * join_.run_bytes[p], in_whole);
        in_whole += join_.run_bytes[p];
      }
    });
  }

  void Gather(const std::vector<Tensor>& parts, const Tensor& whole) const override {
    ForEachRun([&](size_t p, int64_t in_part, int64_t in_whole) {
      const size_t bytes = join_.run_bytes[p];
      char* to = whole.data<char>() + in_whole;
      if (parts[p]) {
        std::memcpy(to, parts[p].data<char>() + in_part, bytes);
      } else {
        std::memset(to, 0, bytes);
      }
    });
  }

  void Scatter(const Tensor& whole, const std::vector<Tensor>& parts) const override {
    ForEachRun([&](size_t p, int64_t in_part, int64_t in_whole) {
      if (!parts[p]) return;
      std::memcpy(parts[p].data<char>() + in_part, whole.data<char>() + in_whole,
                  join_.run_bytes[p]);
    });
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_JOIN_H_
