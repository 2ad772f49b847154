#include "solvers/update/matrix_update.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/base/threads.h"
#include "core/math/blas.h"

namespace doppio {
namespace {

// The five iterations X <- a X + (b G + c G G) X with G = X X^T, and Jordan's coefficients.
constexpr int kIterations = 5;
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr double kLeastNorm = 1e-7;  // added to the norm, so that a matrix of zeros stays one

// Rows and columns of a parameter; 0 if it is not a matrix.
struct Sides {
  explicit Sides(const TensorSpec& value) {
    const int64_t first = value.shape.rank() < 2 ? 1 : value.shape[0];
    const int64_t others = value.shape.count() / std::max<int64_t>(1, first);
    if (first < 2 || others < 2) return;
    rows = first;
    columns = others;
  }
  int64_t rows = 0, columns = 0;
};

// Elements of the scratch memory: room for the largest matrix.
struct Room {
  void Add(const TensorSpec& value) {
    const Sides sides(value);
    if (sides.rows == 0) return;
    stored = std::max(stored, value.stored());
    count = std::max(count, sides.rows * sides.columns);
    const int64_t side = std::min(sides.rows, sides.columns);
    square = std::max(square, side * side);
    if (!value.layout.plain()) converted = std::max(converted, sides.rows * sides.columns);
  }
  int64_t stored = 0, converted = 0, count = 0, square = 0;
};

// The sum does not depend on the number of threads.
template <class T>
double NormOf(const T* x, int64_t count) {
  const int64_t chunks = (count + kUpdateChunk - 1) / kUpdateChunk;
  std::vector<double> sums(static_cast<size_t>(chunks));
  ParallelForEach(chunks, 1, [x, count, sum = sums.data()](int64_t chunk) {
    const int64_t end = std::min(count, (chunk + 1) * kUpdateChunk);
    for (int64_t i = chunk * kUpdateChunk; i < end; ++i)
      sum[chunk] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

}  // namespace

template <class T>
T* Orthogonalize(int64_t rows, int64_t columns, T* x, T* next, T* gram, T* square) {
  const int64_t count = rows * columns, side = std::min(rows, columns);
  const bool wide = rows <= columns;
  const T factor = static_cast<T>(1 / (NormOf(x, count) + kLeastNorm));
  ParallelForEach(count, kUpdateChunk, [x, factor](int64_t i) { x[i] *= factor; });
  for (int i = 0; i < kIterations; ++i) {
    Gemm(!wide, wide, side, side, std::max(rows, columns), T(1), x, x, T(0), gram);
    std::copy(gram, gram + side * side, square);
    Gemm(false, false, side, side, side, static_cast<T>(kC), gram, gram, static_cast<T>(kB),
         square);
    std::copy(x, x + count, next);
    Gemm(false, false, rows, columns, side, T(1), wide ? square : x, wide ? x : square,
         static_cast<T>(kA), next);
    std::swap(x, next);
  }
  return x;
}

template float* Orthogonalize(int64_t, int64_t, float*, float*, float*, float*);
template double* Orthogonalize(int64_t, int64_t, double*, double*, double*, double*);

int64_t MatrixUpdateBytes(const std::vector<Param>& params) {
  Room room;
  for (const Param& param : params)
    if (param.gradient) room.Add(param.value);
  const int64_t elements = room.stored + room.converted + room.count + 2 * room.square;
  return params.empty() ? 0 : elements * ElementBytes(params[0].value.dtype);
}

MatrixUpdates::MatrixUpdates(Device* device, const std::vector<UpdateSlice>& slices) {
  Room room;
  for (const UpdateSlice& slice : slices) {
    Matrix& matrix = matrices_.emplace_back();
    const TensorSpec& value = slice.value;
    if (!slice.gradient) continue;
    room.Add(value);
    const Sides sides(value);
    matrix.rows = sides.rows;
    matrix.columns = sides.columns;
    matrix.stored = value.stored();
    if (sides.rows == 0 || value.layout.plain()) continue;
    const TensorSpec plain{value.shape, value.dtype, Layout()};
    matrix.to_plain = OpsOf(device).Convert(value, plain);
    matrix.to_stored = OpsOf(device).Convert(plain, value);
  }
  const int64_t bytes = slices.empty() ? 0 : ElementBytes(slices[0].value.dtype);
  directions_ = Buffer(device, room.stored * bytes);
  plain_ = Buffer(device, room.converted * bytes);
  next_ = Buffer(device, room.count * bytes);
  gram_ = Buffer(device, room.square * bytes);
  square_ = Buffer(device, room.square * bytes);
}

template <class T>
bool MatrixUpdates::Run(size_t slice, const MatrixStep<T>& step) {
  const Matrix& matrix = matrices_[slice];
  const UpdateScalars<T>& s = step.scalars;
  const T momentum = s.rule.momentum;
  T* const directions = static_cast<T*>(directions_.data());
  ParallelFor(matrix.stored, kUpdateChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T g = step.gradients[i] * s.scale;
      const T h = momentum * step.history[i] + (T(1) - momentum) * g;
      step.history[i] = h;
      directions[i] = momentum * h + (T(1) - momentum) * g;
    }
  });
  T* x = directions;
  if (matrix.to_plain != nullptr) {
    x = static_cast<T*>(plain_.data());
    matrix.to_plain->Run(directions, x);
  }
  x = Orthogonalize(matrix.rows, matrix.columns, x, static_cast<T*>(next_.data()),
                    static_cast<T*>(gram_.data()), static_cast<T*>(square_.data()));
  if (matrix.to_stored != nullptr) {
    matrix.to_stored->Run(x, directions);
    x = directions;
  }
  const double longer = static_cast<double>(std::max(matrix.rows, matrix.columns));
  const T length = static_cast<T>(0.2 * std::sqrt(longer));
  std::atomic<bool> finite{true};
  ParallelFor(matrix.stored, kUpdateChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T w = step.values[i];
      // The step is stored in each case. Otherwise the compiler would round the difference in one
      // operation where steps are not kept, and the weights would have other bits.
      directions[i] = step.rate * (length * x[i] + step.decay * Pull(s, w));
      step.values[i] = w - directions[i];
    }
    if (step.keep_steps) std::copy(directions + begin, directions + end, step.gradients + begin);
    if (!AllFinite(step.values + begin, end - begin)) finite = false;
  });
  return finite;
}

template bool MatrixUpdates::Run(size_t, const MatrixStep<float>&);
template bool MatrixUpdates::Run(size_t, const MatrixStep<double>&);

}  // namespace doppio
