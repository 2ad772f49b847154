// Converts records of MNIST and CIFAR files to databases, for convert_mnist_data,
// convert_mnist_siamese_data, convert_cifar_data and `data convert`.
#ifndef DOPPIO_TOOLS_DATA_RECORD_CONVERSION_H_
#define DOPPIO_TOOLS_DATA_RECORD_CONVERSION_H_

#include <string>
#include <vector>

#include "data/record/source.h"
#include "tools/data/image_conversion.h"

namespace doppio {

// Number of digits of the keys in Caffe's databases: "00000042" for MNIST and "00042" for CIFAR.
constexpr int kIdxKeyDigits = 8;
constexpr int kCifarKeyDigits = 5;

struct RecordConversion {
  const Source* source;  // records must hold planes of bytes; not owned
  std::string database;  // path of the database to make
};

// Makes the databases. Keys number the records with at least `key_digits` digits, and `options`
// determines the order of records. No database gets its final name before all are complete. Throws
// FileError; if a database already exists, it does so before anything is written.
void ConvertRecords(const std::vector<RecordConversion>& conversions, const std::string& backend,
                    int key_digits, const ConversionOptions& options);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DATA_RECORD_CONVERSION_H_
