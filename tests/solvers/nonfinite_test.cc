// Tests where numbers that are not finite are found, and the advice.
#include <cmath>
#include <fstream>

#include "core/net/store/hdf5_blobs.h"
#include "tests/solvers/trainer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

constexpr char kShortSolver[] = "base_lr: 0.01 lr_policy: 'fixed' max_iter: 4";

std::string StopMessage(const std::string& net, const std::string& solver = kShortSolver) {
  TrainerCase c(net, solver);
  TrainerOptions options;
  options.stop_at_nonfinite = true;
  return Mistake<Error>([&] { c.Make(options)->Solve(); });
}

// Returns a net that reads ten rows, two for each pass, of which `wrong` is in row 4 of `dataset`.
std::string TenRows(const std::string& dataset, float wrong) {
  const std::string file = testing::TempDir() + "/nonfinite.h5", list = file + ".txt";
  Hdf5BlobWriter writer(file);
  for (const std::string name : {"data", "label"}) {
    std::vector<float> values(30, 0.5f);
    if (name == dataset) values[4 * 3 + 1] = wrong;
    writer.Blob(name, {10, 3}, values.data());
  }
  writer.Close();
  std::ofstream(list) << file << "\n";
  return R"(layer { name: "in" type: "HDF5Data" top: "data" top: "label"
                    hdf5_data_param { batch_size: 2 source: ")" +
         list + R"(" } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 3 } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "label" top: "loss" })";
}

TEST(NonFinite, NamesTheRecordOfASource) {
  for (const float wrong : {NAN, INFINITY}) {
    for (const std::string dataset : {"data", "label"}) {
      for (const std::string& solver :
           {std::string(kShortSolver), std::string(kShortSolver) + " iter_size: 2"}) {
        const std::string text = StopMessage(TenRows(dataset, wrong), solver);
        const std::string named = "is the first whose output '" + dataset +
                                  "' is not finite: row 4 of '" + testing::TempDir() +
                                  "/nonfinite.h5' holds NaN or infinity. Correct these data, or "
                                  "leave them out. There is no snapshot";
        EXPECT_NE(text.find("the loss is not finite; layer 'in' (HDF5Data"), std::string::npos);
        EXPECT_NE(text.find(named), std::string::npos) << text;
        EXPECT_EQ(text.find("base_lr"), std::string::npos) << text;
      }
    }
  }
}

TEST(NonFinite, AdvisesAboutTheDataOnlyWhereASourceMadeTheNumbers) {
  std::string net = SquareNet();
  net.replace(net.find("value: 1 }"), 10, "value: inf }");
  EXPECT_NE(StopMessage(net).find("output 'x' is not finite. Correct these data"),
            std::string::npos);
  const std::string diverged =
      StopMessage(SquareNet(), "base_lr: 1e30 lr_policy: 'fixed' max_iter: 5");
  EXPECT_NE(diverged.find(". A lower base_lr or clip_gradients often helps. "), std::string::npos)
      << diverged;
}

}  // namespace
}  // namespace doppio
