// Records of MNIST's and CIFAR's files as databases: what convert_mnist_data,
// convert_mnist_siamese_data, convert_cifar_data and `data convert` share.
#ifndef DOPPIO_TOOLS_DATA_RECORD_CONVERSION_H_
#define DOPPIO_TOOLS_DATA_RECORD_CONVERSION_H_

#include <string>
#include <vector>

#include "data/source/source.h"
#include "tools/data/image_conversion.h"

namespace doppio {

// Digits of keys in the databases that Caffe makes: "00000042" and "00042".
constexpr int kIdxKeyDigits = 8;
constexpr int kCifarKeyDigits = 5;

struct RecordConversion {
  const Source* source;  // of planes of bytes
  std::string database;  // the path of the one to make
};

// Makes the databases, whose keys number the records in at least `key_digits` digits. `options`
// gives the order of records. No database gets its name until all of them are whole. Throws
// FileError, before anything is written if one of the databases exists.
void ConvertRecords(const std::vector<RecordConversion>& conversions, const std::string& backend,
                    int key_digits, const ConversionOptions& options);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_RECORD_CONVERSION_H_
