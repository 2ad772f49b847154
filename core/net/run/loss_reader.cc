#include "core/net/run/loss_reader.h"

#include <algorithm>
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

LossReader::LossReader(const std::vector<Device*>& devices, const std::vector<LossTerm>& terms)
    : terms_(&terms) {
  std::vector<int64_t> bytes(devices.size(), 0);
  for (const LossTerm& term : terms) {
    bytes[term.place] += TermBytes(term);
    reader_weights_.push_back(term.weight);
  }
  for (size_t i = 0; i < devices.size(); ++i)
    downloads_.push_back(bytes[i] > 0 ? devices[i]->MakeDownload(bytes[i]) : nullptr);
  offsets_.resize(devices.size());
  memory_.resize(devices.size());
}

void LossReader::Start(double scale) {
  scale_ = scale;
  std::fill(offsets_.begin(), offsets_.end(), 0);
  for (const LossTerm& term : *terms_) {
    Download& download = *downloads_[term.place];
    int64_t& offset = offsets_[term.place];
    download.Start(offset, term.value.raw, term.value.bytes());
    if (term.gradient) {
      download.Start(offset + WeightOffset(term), term.gradient.raw,
                     ElementBytes(term.gradient.dtype));
    }
    offset += TermBytes(term);
  }
}

double LossReader::Sum() {
  for (size_t i = 0; i < downloads_.size(); ++i)
    memory_[i] = downloads_[i] == nullptr ? nullptr : downloads_[i]->Wait();
  double loss = 0;
  for (size_t i = 0; i < terms_->size(); ++i) {
    const LossTerm& term = (*terms_)[i];
    const char*& memory = memory_[term.place];
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
