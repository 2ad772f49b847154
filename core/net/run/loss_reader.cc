#include "core/net/run/loss_reader.h"

#include <cmath>

namespace doppio {
namespace {

double SumOf(DType type, const char* memory, int64_t count) {
  return DispatchFloat(type, [&](auto zero) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += reinterpret_cast<const decltype(zero)*>(memory)[i];
    return sum;
  });
}

// The download stores a term's value, followed by the weight that the loss's reader has set.
int64_t WeightOffset(const LossTerm& term) { return term.value.bytes(); }
int64_t TermBytes(const LossTerm& term) {
  return term.value.bytes() + (term.gradient ? ElementBytes(term.gradient.dtype) : 0);
}

}  // namespace

LossReader::LossReader(Device* device, const std::vector<LossTerm>& terms) : terms_(&terms) {
  int64_t bytes = 0;
  for (const LossTerm& term : terms) {
    bytes += TermBytes(term);
    reader_weights_.push_back(term.weight);
  }
  if (bytes > 0) download_ = device->MakeDownload(bytes);
}

void LossReader::Start(double scale) {
  scale_ = scale;
  int64_t offset = 0;
  for (const LossTerm& term : *terms_) {
    download_->Start(offset, term.value.raw, term.value.bytes());
    if (term.gradient) {
      download_->Start(offset + WeightOffset(term), term.gradient.raw,
                       ElementBytes(term.gradient.dtype));
    }
    offset += TermBytes(term);
  }
}

double LossReader::Sum() {
  const char* memory = download_ == nullptr ? nullptr : download_->Wait();
  double loss = 0;
  for (size_t i = 0; i < terms_->size(); ++i) {
    const LossTerm& term = (*terms_)[i];
    loss += WeightOf(i, memory + WeightOffset(term)) *
            SumOf(term.value.dtype, memory, term.value.stored());  // padding is 0
    memory += TermBytes(term);
  }
  return loss;
}

double LossReader::WeightOf(size_t i, const char* memory) {
  const LossTerm& term = (*terms_)[i];
  if (!term.gradient) return term.weight;
  const double weight = SumOf(term.gradient.dtype, memory, 1) / scale_;
  // A gradient that overflowed its type has no information on the loss weight.
  if (scale_ == 1 || std::isfinite(weight)) reader_weights_[i] = weight;
  return reader_weights_[i];
}

}  // namespace doppio
