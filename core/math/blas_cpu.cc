#include "core/math/blas.h"

#include <cblas.h>
#include <dnnl.h>

#include "core/base/error.h"
#include "core/base/library_version.h"

namespace doppio {
namespace {

// Extracts the version: "OpenBLAS 0.3.21 NO_AFFINITY ..." -> "0.3.21".
std::string VersionIn(const std::string& config) {
  const size_t name = config.find("OpenBLAS ");
  if (name == std::string::npos) return config;
  const size_t begin = name + std::string("OpenBLAS ").size();
  return config.substr(begin, config.find(' ', begin) - begin);
}

DOPPIO_REGISTER(Libraries, "OpenBLAS",
                {VersionIn(OPENBLAS_VERSION), [] { return VersionIn(openblas_get_config()); }});

}  // namespace

void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
          const GemmRows<const float>& a, const GemmRows<const float>& b, float beta,
          const GemmRows<float>& c) {
  const dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k,
                                          alpha, a.data, a.row, b.data, b.row, beta, c.data, c.row);
  DOPPIO_CHECK(status == dnnl_success, "sgemm refused its arguments");
}

void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
          const GemmRows<const double>& a, const GemmRows<const double>& b, double beta,
          const GemmRows<double>& c) {
  // Otherwise OpenBLAS's own threads would compete with the compute pool.
  static const bool single = (openblas_set_num_threads(1), true);
  (void)single;
  cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
              transpose_b ? CblasTrans : CblasNoTrans, static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), alpha, a.data, static_cast<int>(a.row), b.data,
              static_cast<int>(b.row), beta, c.data, static_cast<int>(c.row));
}

}  // namespace doppio
