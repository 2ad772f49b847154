// HDF5Output: writes its two bottoms to a file, as the data sets "data" and "label". As in Caffe,
// both data sets have four axes; missing axes have extent 1. Caffe writes one pass only; Doppio
// appends the rows of each pass. The first pass creates the file under a temporary name; the file
// gets its final name when the net is destroyed.
#include <algorithm>

#include "core/base/file.h"
#include "core/net/contract/layer.h"
#include "core/net/run/rows_file.h"

namespace doppio {
namespace {

constexpr const char* kDataSets[] = {"data", "label"};

struct Hdf5OutputForm {
  std::string path;
  SourceLoc at;  // the location of the path in the net file
};

// Returns the shape with axes of extent 1 appended, up to four axes.
Shape WithFourAxes(Shape shape) {
  while (shape.rank() < 4) shape.push_back(1);
  return shape;
}

LayerShape InferHdf5Output(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  spec.RefuseIf(spec.param.hdf5_output_param().file_name().empty(), "hdf5_output_param",
                "needs a file_name, the HDF5 file to write");
  const int64_t rows = WithFourAxes(bottoms[0])[0], labels = WithFourAxes(bottoms[1])[0];
  spec.RefuseIf(rows != labels, {"bottom", 1}, "the first bottom has ", rows, " rows, the second ",
                labels, "; they must have the same number");
  LayerShape shape;
  shape.has_backward = false;
  shape.form = Hdf5OutputForm{spec.param.hdf5_output_param().file_name(),
                              spec.At("hdf5_output_param.file_name")};
  return shape;
}

// Returns the path for a writer (Pass::writer). Each writes its own file, so that ranks need not
// wait for each other.
std::string PathOfWriter(const std::string& path, int writer) {
  if (writer == 0) return path;
  const size_t name = DirName(path).size();
  const size_t dot = path.rfind('.');
  const size_t end = dot == std::string::npos || dot <= name ? path.size() : dot;
  return path.substr(0, end) + ".rank" + std::to_string(writer) + path.substr(end);
}

template <class T>
class Hdf5OutputKernel : public Kernel {
 public:
  explicit Hdf5OutputKernel(const KernelArgs& args)
      : path_(args.Form<Hdf5OutputForm>().path),
        owner_("layer '" + args.layer + "' of a " + (args.train ? "TRAIN" : "TEST") + " net") {
    const std::string folder = DirName(path_);
    if (!folder.empty() && !FileExists(folder)) {
      throw FileError(args.Form<Hdf5OutputForm>().at, "layer '", args.layer,
                      "': there is no folder '", folder, "'");
    }
  }

  void Forward(const Pass& pass) override {
    if (pass.again) return;
    if (file_ == nullptr) file_ = RowsFile::At(PathOfWriter(path_, pass.writer), owner_);
    for (size_t i = 0; i < t_.bottoms.size(); ++i) {
      const Tensor& bottom = t_.bottoms[i];
      values_.assign(bottom.data<T>(), bottom.data<T>() + bottom.count());
      file_->AddRows(kDataSets[i], WithFourAxes(bottom.shape), values_.data());
    }
  }

 private:
  const std::string path_, owner_;
  std::shared_ptr<RowsFile> file_;
  std::vector<float> values_;
};

DOPPIO_REGISTER_LAYER("HDF5Output", LayerType(&InferHdf5Output).Bottoms(2).Tops(0));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Hdf5OutputKernel>("HDF5Output"));

}  // namespace
}  // namespace doppio
