#include "core/net/graph/filler.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/registry.h"
#include "core/base/threads.h"

namespace doppio {
namespace {

constexpr int64_t kGrain = 1 << 14;

struct Filling {
  const FillerParameter& filler;
  const Shape& shape;  // of the part that is filled
  const Shape& whole;  // of the blob of which it is a part
  Random random;
  uint64_t first;  // index of the first element, counted from row 0 of the whole blob
};

struct FillerType {
  void (*check)(const FillerParameter& filler, const Shape& shape);
  void (*fill_float)(const Filling& filling, float* out);
  void (*fill_double)(const Filling& filling, double* out);
};
using FillerTypes = Registry<FillerType>;

template <class F>
FillerType MakeFillerType() {
  return {&F::Check, &F::template Run<float>, &F::template Run<double>};
}

[[noreturn]] void Mistake(const FillerParameter& filler, const std::string& text) {
  throw UserError(SourceLoc(), "filler '", filler.type(), "': ", text);
}

void CheckNotSparse(const FillerParameter& filler) {
  if (filler.sparse() != -1) Mistake(filler, "only 'gaussian' can be sparse; remove `sparse`");
}

// Sets out[i] to value(i). `value` returns float for both element types, so that float and double
// nets start with the same values.
template <class T, class F>
void Each(int64_t n, T* out, const F& value) {
  ParallelForEach(n, kGrain, [&](int64_t i) { out[i] = static_cast<T>(value(i)); });
}

// Fills with uniform numbers in [min, max).
template <class T>
void FillUniform(const Filling& f, float min, float max, T* out) {
  const int64_t n = f.shape.count();
  // One call of the generator makes four consecutive numbers. The first element may be in the
  // middle of such a block.
  const int64_t skipped = static_cast<int64_t>(f.first % 4);
  ParallelForEach((skipped + n + 3) / 4, kGrain / 4, [&](int64_t block) {
    const Random4 four = f.random.At(0, f.first / 4 + static_cast<uint64_t>(block));
    const int64_t start = block * 4 - skipped, last = std::min<int64_t>(n, start + 4);
    for (int64_t i = std::max<int64_t>(0, start); i < last; ++i) {
      // Rounding may make the sum equal to max.
      const float value = min + (max - min) * ToUnit(four.v[i - start]);
      out[i] = static_cast<T>(value < max ? value : min);
    }
  });
}

template <class T>
void FillGaussian(const Filling& f, float mean, float std, T* out) {
  Each(f.shape.count(), out, [&](int64_t i) {
    return mean + std * f.random.Normal(0, f.first + static_cast<uint64_t>(i));
  });
}

// Returns the number of inputs (or outputs) that each value is connected to: the n of xavier and
// msra.
float Fan(const FillerParameter& filler, const Shape& shape) {
  const auto share = [&](int axis) {
    return static_cast<float>(shape.count()) / static_cast<float>(shape.dim_or_1(axis));
  };
  switch (filler.variance_norm()) {
    case FillerParameter::FAN_OUT:
      return share(1);
    case FillerParameter::AVERAGE:
      return (share(0) + share(1)) / 2;
    default:
      return share(0);
  }
}

struct Constant {
  static void Check(const FillerParameter& filler, const Shape&) { CheckNotSparse(filler); }
  template <class T>
  static void Run(const Filling& f, T* out) {
    const float value = f.filler.value();
    Each(f.shape.count(), out, [value](int64_t) { return value; });
  }
};

struct Uniform {
  static void Check(const FillerParameter& filler, const Shape&) {
    CheckNotSparse(filler);
    if (!(filler.min() <= filler.max())) {
      Mistake(filler, StrCat("min ", filler.min(), " is greater than max ", filler.max()));
    }
  }
  template <class T>
  static void Run(const Filling& f, T* out) {
    FillUniform(f, f.filler.min(), f.filler.max(), out);
  }
};

struct Gaussian {
  static void Check(const FillerParameter& filler, const Shape& shape) {
    if (!(filler.std() >= 0)) Mistake(filler, "std must not be negative");
    if (filler.sparse() == -1) return;
    if (filler.sparse() < 0) Mistake(filler, "sparse must be -1 (off) or at least 0");
    if (shape.rank() < 1 || filler.sparse() > shape[0]) {
      Mistake(filler, StrCat("sparse ", filler.sparse(), " is more than the outputs of ",
                             shape.ToString()));
    }
  }
  template <class T>
  static void Run(const Filling& f, T* out) {
    FillGaussian(f, f.filler.mean(), f.filler.std(), out);
    if (f.filler.sparse() < 0) return;
    const float kept = static_cast<float>(f.filler.sparse()) / static_cast<float>(f.whole[0]);
    // These random numbers come from row 1 of the stream, so they are independent of the values,
    // which come from row 0.
    ParallelForEach(f.shape.count(), kGrain, [&](int64_t i) {
      if (f.random.Uniform(1, f.first + static_cast<uint64_t>(i)) >= kept) out[i] = 0;
    });
  }
};

// A normal number that is drawn again until it is within 2 standard deviations of the mean, as in
// TensorFlow. The standard deviation of the result is 0.88 `std`.
struct TruncatedNormal {
  static void Check(const FillerParameter& filler, const Shape&) {
    CheckNotSparse(filler);
    if (!(filler.std() >= 0)) Mistake(filler, "std must not be negative");
  }
  template <class T>
  static void Run(const Filling& f, T* out) {
    Each(f.shape.count(), out, [&](int64_t i) {
      uint64_t attempt = 0;
      float normal = 0;
      do {
        normal = f.random.Normal(attempt++, f.first + static_cast<uint64_t>(i));
      } while (std::fabs(normal) > 2);
      return f.filler.mean() + f.filler.std() * normal;
    });
  }
};

struct PositiveUnitball {
  static void Check(const FillerParameter& filler, const Shape& shape) {
    CheckNotSparse(filler);
    if (shape.rank() < 1) Mistake(filler, "needs a blob with at least one axis");
  }
  template <class T>
  static void Run(const Filling& f, T* out) {
    FillUniform(f, 0.0f, 1.0f, out);
    const int64_t row = f.shape.count(1);
    ParallelForEach(f.shape[0], std::max<int64_t>(1, kGrain / row), [&](int64_t r) {
      double sum = 0;
      for (int64_t i = r * row; i < (r + 1) * row; ++i) sum += static_cast<double>(out[i]);
      if (sum == 0) return;
      for (int64_t i = r * row; i < (r + 1) * row; ++i) {
        out[i] = static_cast<T>(static_cast<float>(static_cast<double>(out[i]) / sum));
      }
    });
  }
};

struct Xavier {
  static void Check(const FillerParameter& filler, const Shape&) { CheckNotSparse(filler); }
  template <class T>
  static void Run(const Filling& f, T* out) {
    const float bound = std::sqrt(3.0f / Fan(f.filler, f.whole));
    FillUniform(f, -bound, bound, out);
  }
};

// He, Zhang, Ren and Sun, "Delving Deep into Rectifiers", 2015, equations 10 and 15.
struct Msra {
  static void Check(const FillerParameter& filler, const Shape&) { CheckNotSparse(filler); }
  template <class T>
  static void Run(const Filling& f, T* out) {
    const float gain = 2.0f / (1 + f.filler.alpha() * f.filler.alpha());
    FillGaussian(f, 0.0f, std::sqrt(gain / Fan(f.filler, f.whole)), out);
  }
};

// Weights of an interpolating Deconvolution: the product of two triangle functions whose peak is
// the centre of the kernel. Caffe's kernels of 2, 3, 6, 7, 10, ... had another centre until 2017.
struct Bilinear {
  static void Check(const FillerParameter& filler, const Shape& shape) {
    CheckNotSparse(filler);
    if (shape.rank() != 4 || shape[2] != shape[3]) {
      Mistake(filler, "needs four axes and a square kernel, but the blob is " + shape.ToString());
    }
  }
  template <class T>
  static void Run(const Filling& f, T* out) {
    const int64_t size = f.shape[3], half_up = (size + 1) / 2;
    const float gain = f.filler.scale(), half = static_cast<float>(half_up);
    const float center = static_cast<float>(size - 1) / (2 * half);
    const auto triangle = [&](int64_t at) {
      return 1 - std::fabs(static_cast<float>(at) / half - center);
    };
    Each(f.shape.count(), out,
         [&](int64_t i) { return gain * triangle(i % size) * triangle(i / size % size); });
  }
};

// A convolution that copies its input: 1 at the centre of the kernel from input i to output i, as
// far as both exist, and 0 elsewhere. Each of `groups` groups of outputs has such an identity.
// Zagoruyko, Komodakis, "DiracNets", 2017; the values are those of torch.nn.init.dirac_.
struct Dirac {
  static void Check(const FillerParameter& filler, const Shape& shape) {
    CheckNotSparse(filler);
    if (shape.rank() < 3 || shape.rank() > 5) {
      Mistake(filler, "needs the weights of a convolution, with 3 to 5 axes, but the blob is " +
                          shape.ToString());
    }
    if (filler.groups() < 1 || shape[0] % filler.groups() != 0) {
      Mistake(filler, StrCat("groups ", filler.groups(), " do not divide the outputs of ",
                             shape.ToString()));
    }
  }
  template <class T>
  static void Run(const Filling& f, T* out) {
    const int64_t inputs = f.shape[1], kernel = f.shape.count(2);
    const int64_t outputs = f.whole[0] / f.filler.groups();  // of a group
    const int64_t first_row = static_cast<int64_t>(f.first) / f.shape.count(1);
    int64_t center = 0;
    for (int axis = 2; axis < f.shape.rank(); ++axis)
      center = center * f.shape[axis] + f.shape[axis] / 2;
    Each(f.shape.count(), out, [&](int64_t i) {
      const int64_t row = (first_row + i / (inputs * kernel)) % outputs;
      return i / kernel % inputs == row && i % kernel == center ? 1.0f : 0.0f;
    });
  }
};

// Plane waves under a bell, one for each output: Gabor filters, which the first convolution of a
// trained net resembles (Daugman, "Uncertainty relation for resolution in space, spatial frequency,
// and orientation", 1985). Direction, phase and wavelength (2 pixels to the kernel's larger size)
// are random for each output, and a normal number weighs each input. Every output's values have the
// root mean square `std`.
struct Gabor {
  static void Check(const FillerParameter& filler, const Shape& shape) {
    CheckNotSparse(filler);
    if (!(filler.std() >= 0)) Mistake(filler, "std must not be negative");
    if (shape.rank() != 4) {
      Mistake(filler, "needs four axes, but the blob is " + shape.ToString());
    }
  }
  template <class T>
  static void Run(const Filling& f, T* out) {
    const int64_t row = f.shape.count(1);
    ParallelFor(f.shape[0], std::max<int64_t>(1, kGrain / row), [&](int64_t begin, int64_t end) {
      std::vector<float> values(static_cast<size_t>(row));
      for (int64_t r = begin; r < end; ++r) {
        FillRow(f, f.first / static_cast<uint64_t>(row) + static_cast<uint64_t>(r), values.data());
        std::transform(values.begin(), values.end(), out + r * row,
                       [](float v) { return static_cast<T>(v); });
      }
    });
  }

 private:
  static void FillRow(const Filling& f, uint64_t row, float* values) {
    constexpr float kTau = 6.28318530718f;
    const int64_t channels = f.shape[1], height = f.shape[2], width = f.shape[3];
    const auto size = static_cast<float>(std::max<int64_t>(2, std::max(height, width)));
    const Random4 draw = f.random.At(0, row);
    const float direction = kTau * ToUnit(draw.v[0]), phase = kTau * ToUnit(draw.v[1]);
    const float wavelength = 2 * std::pow(size / 2, ToUnit(draw.v[2]));
    const float across = kTau / wavelength * std::cos(direction),
                down = kTau / wavelength * std::sin(direction);
    const float bell = -8 / (size * size);  // -1 / (2 s^2), where s is a quarter of the size
    double squares = 0;
    for (int64_t c = 0; c < channels; ++c) {
      const float weight =
          f.random.Normal(1, row * static_cast<uint64_t>(channels) + static_cast<uint64_t>(c));
      for (int64_t i = 0; i < height * width; ++i) {
        const int64_t row_of_pixel = i / width, column = i % width;
        const float y = static_cast<float>(row_of_pixel) - static_cast<float>(height - 1) / 2;
        const float x = static_cast<float>(column) - static_cast<float>(width - 1) / 2;
        const float value =
            weight * std::exp(bell * (x * x + y * y)) * std::cos(across * x + down * y + phase);
        values[c * height * width + i] = value;
        squares += static_cast<double>(value) * static_cast<double>(value);
      }
    }
    const int64_t count = channels * height * width;
    const double rms = std::sqrt(squares / static_cast<double>(count));
    const float factor =
        rms > 0 ? static_cast<float>(static_cast<double>(f.filler.std()) / rms) : 0.0f;
    for (int64_t i = 0; i < count; ++i) values[i] *= factor;
  }
};

DOPPIO_REGISTER(FillerTypes, "constant", MakeFillerType<Constant>());
DOPPIO_REGISTER(FillerTypes, "uniform", MakeFillerType<Uniform>());
DOPPIO_REGISTER(FillerTypes, "gaussian", MakeFillerType<Gaussian>());
DOPPIO_REGISTER(FillerTypes, "truncated_normal", MakeFillerType<TruncatedNormal>());
DOPPIO_REGISTER(FillerTypes, "positive_unitball", MakeFillerType<PositiveUnitball>());
DOPPIO_REGISTER(FillerTypes, "xavier", MakeFillerType<Xavier>());
DOPPIO_REGISTER(FillerTypes, "msra", MakeFillerType<Msra>());
DOPPIO_REGISTER(FillerTypes, "bilinear", MakeFillerType<Bilinear>());
DOPPIO_REGISTER(FillerTypes, "dirac", MakeFillerType<Dirac>());
DOPPIO_REGISTER(FillerTypes, "gabor", MakeFillerType<Gabor>());

// Returns the shape of a blob of which `part` is one of `parts` parts.
Shape WholeOf(Shape part, int parts) {
  if (part.rank() > 0) part[0] *= parts;
  return part;
}

const FillerType& FindChecked(const FillerParameter& filler, const Shape& shape) {
  const FillerType* type = FillerTypes::Get().Find(filler.type());
  if (type == nullptr) {
    std::string known;
    for (const std::string& name : FillerTypes::Get().Names()) known += " " + name;
    throw UserError(SourceLoc(), "unknown filler type '", filler.type(), "'",
                    DidYouMean(filler.type(), FillerTypes::Get().Names()), " (known:", known, ")");
  }
  type->check(filler, shape);
  return *type;
}

}  // namespace

void CheckFiller(const FillerParameter& filler, const Shape& shape, int parts) {
  FindChecked(filler, WholeOf(shape, parts));
}

void Fill(const FillerParameter& filler, const Shape& shape, uint64_t seed, uint64_t stream,
          const Tensor& out, uint64_t first_row, int parts) {
  const Shape whole = WholeOf(shape, parts);
  const FillerType& type = FindChecked(filler, whole);
  DOPPIO_CHECK(out.layout.plain() && out.count() == shape.count(), "fillers write plain tensors");
  if (shape.count() == 0) return;
  const uint64_t row = static_cast<uint64_t>(shape.count() / shape.dim_or_1(0));
  const Filling filling{filler, shape, whole, Random(seed, stream), first_row * row};
  if (out.dtype == DType::kFloat64) {
    type.fill_double(filling, out.data<double>());
  } else {
    DOPPIO_CHECK(out.dtype == DType::kFloat32, Name(out.dtype));
    type.fill_float(filling, out.data<float>());
  }
}

}  // namespace doppio
