#include "data/decode/decoding.h"

#include <utility>

#include "core/base/error.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

class DecodedSource : public Source {
 public:
  DecodedSource(std::unique_ptr<Source> files, const DecodeOptions& options)
      : files_(std::move(files)), options_(options) {}

  int64_t size() const override { return files_->size(); }
  bool decodes() const override { return files_->decodes(); }
  void Read(int64_t index, Record* record) const override {
    files_->Read(index, record);
    SetOptions(record);
  }
  void ReadSample(int64_t index, uint64_t sample, Record* record) const override {
    files_->ReadSample(index, sample, record);
    SetOptions(record);
  }
  void Join(const Random& random) override { files_->Join(random); }
  std::string kind() const override { return files_->kind(); }
  std::string Name(int64_t index) const override { return files_->Name(index); }
  SourceFacts facts() const override { return files_->facts(); }

 private:
  void SetOptions(Record* record) const {
    record->decode.upright = options_.upright;
    record->decode.sixteen_bit_range = options_.sixteen_bit_range;
  }

  const std::unique_ptr<Source> files_;
  const DecodeOptions options_;
};

}  // namespace

void CheckDecoding(const TransformationParameter& transform) {
  const uint32_t range = transform.sixteen_bit_range();
  RefuseIf(range < 256 || range > kSixteenBits, "transform_param: sixteen_bit_range is ", range,
           "; it must be from 256 to ", kSixteenBits);
}

std::unique_ptr<Source> WithDecoding(std::unique_ptr<Source> source, const DecodeOptions& options) {
  if (!options.upright && options.sixteen_bit_range == kSixteenBits) return source;
  return std::make_unique<DecodedSource>(std::move(source), options);
}

}  // namespace doppio
