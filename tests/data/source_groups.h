// Nets of several sources, for tests of their groups.
#ifndef DOPPIO_TESTS_DATA_SOURCE_GROUPS_H_
#define DOPPIO_TESTS_DATA_SOURCE_GROUPS_H_

#include <hdf5.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/net/graph/sample_groups.h"
#include "tests/data/data_net.h"

namespace doppio {

// Writes an HDF5 file with the data set `name`, one number a row, `first`, `first` + 1 and so on.
// Returns `path`.
inline std::string WriteRows(const std::string& path, int rows, int first,
                             const std::string& name = "rows") {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  std::vector<float> values;
  for (int i = 0; i < rows; ++i) values.push_back(static_cast<float>(first + i));
  const hsize_t shape[] = {static_cast<hsize_t>(rows)};
  const hid_t space = H5Screate_simple(1, shape, nullptr);
  const hid_t data = H5Dcreate2(file, name.c_str(), H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                                H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(data);
  H5Sclose(space);
  H5Fclose(file);
  return path;
}

// Returns a path that no earlier call has returned.
inline std::string NewPath(const std::string& name) {
  static int made = 0;
  return ScratchPath(name + std::to_string(made++));
}

// Returns a layer whose top has the numbers from 0 on, in files of these numbers of rows.
inline std::string RowsLayer(const std::string& name, const std::vector<int>& files,
                             const std::string& param, const std::string& top = "rows") {
  const std::string path = NewPath(name);
  std::string list;
  int first = 0;
  for (int rows : files) {
    list += WriteRows(path + "_" + std::to_string(first) + ".h5", rows, first, top) + "\n";
    first += rows;
  }
  WriteFile(path + ".txt", list);
  return "layer { name: '" + name + "' type: 'HDF5Data' top: '" + top +
         "' hdf5_data_param { source: '" + path + ".txt' " + param + " } }\n";
}

// Returns a layer that reads these records from a database.
inline std::string RecordsLayer(const std::string& name, const KeysAndValues& records,
                                const std::string& param, const std::string& transform = "",
                                const std::string& fields = "") {
  const std::string path = NewPath(name);
  WriteLmdb(path, records);
  return "layer { name: '" + name + "' type: 'Data' top: '" + name + "' " + fields +
         " transform_param { " + transform + " } data_param { backend: LMDB source: '" + path +
         "' " + param + " } }\n";
}

// Returns a layer with `count` square gray images of `side` pixels. `pixel` returns the pixel of
// image i in row y and column x.
inline std::string ImagesLayer(const std::string& name, int count, int side,
                               const std::function<int(int i, int y, int x)>& pixel,
                               const std::string& param, const std::string& transform = "",
                               const std::string& fields = "") {
  KeysAndValues records;
  for (int i = 0; i < count; ++i) {
    std::vector<int> pixels;
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) pixels.push_back(pixel(i, y, x));
    }
    records.push_back({std::to_string(100 + i), RawDatum(1, side, side, pixels, i)});
  }
  return RecordsLayer(name, records, param, transform, fields);
}

// Returns a layer whose images have one pixel: 0, 1, 2 and so on.
inline std::string NumbersLayer(const std::string& name, int count, const std::string& param,
                                const std::string& fields = "") {
  return ImagesLayer(
      name, count, 1, [](int i, int, int) { return i; }, param, "", fields);
}

class SourcesNet {
 public:
  explicit SourcesNet(const std::string& layers, int64_t bad_records = 0, Phase phase = TRAIN)
      : device_(MakeCpuDevice()), store_(device_.get(), DType::kFloat32, 1) {
    NetParameter net;
    const FieldPlaces places = ParseText(layers, "net.prototxt", &net);
    NetState state;
    state.set_phase(phase);
    NetOptions options;
    options.seed = 9;
    options.bad_records = bad_records;
    options.data_threads = 3;
    PlanOptions plan;
    plan.device = device_.get();
    plan.keep_all = true;
    net_ =
        std::make_unique<Net>(MakeGraph(MakeNetSpec(net, places, state, options)), plan, &store_);
  }

  Net* operator->() { return net_.get(); }
  Kernel* kernel(int node) { return net_->plan().kernel(node); }
  std::vector<double> Values(const std::string& blob) {
    return ReadPlain(net_->Blob(blob), device_.get());
  }
  // Returns the values of `blob` in the next `batches` batches.
  std::vector<double> Next(const std::string& blob, int batches) {
    std::vector<double> all;
    for (int i = 0; i < batches; ++i) {
      net_->Forward();
      const std::vector<double> batch = Values(blob);
      all.insert(all.end(), batch.begin(), batch.end());
    }
    return all;
  }

 private:
  std::unique_ptr<Device> device_;
  ParamStore store_;
  std::unique_ptr<Net> net_;
};

// Expects blobs `a` and `b` to be equal in each of the next batches.
inline void ExpectPairs(SourcesNet* net, const std::string& a, const std::string& b, int batches) {
  for (int i = 0; i < batches; ++i) {
    (*net)->Forward();
    EXPECT_EQ(net->Values(a), net->Values(b)) << "batch " << i;
  }
}

// Returns the texts of the warnings about the sources of a net.
inline std::vector<std::string> WarningsAbout(const std::string& layers, Phase phase = TRAIN) {
  std::vector<std::string> texts;
  for (const Warning& warning : SampleWarnings(MakeTestGraph(layers, DataMode::kAssume, phase)))
    texts.push_back(warning.message);
  return texts;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_DATA_SOURCE_GROUPS_H_
