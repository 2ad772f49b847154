// Creates the net of a file, repeatedly if inputs get other shapes.
#ifndef DOPPIO_PYTHON_NET_RECIPE_H_
#define DOPPIO_PYTHON_NET_RECIPE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/net/run/net.h"
#include "core/net/spec/solver_spec.h"

namespace doppio {

class NetRecipe {
 public:
  NetRecipe(const std::string& file, Phase phase, int level, const std::vector<std::string>& stages,
            std::shared_ptr<Device> device, uint64_t seed);

  // Uses the parameters of another net from now on. Parameters that the other net lacks are added
  // to `params`.
  void Share(std::shared_ptr<ParamStore> params) { params_ = std::move(params); }
  const std::shared_ptr<ParamStore>& params() const { return params_; }

  // Creates a net, which keeps the parameters and the device alive. Tops of Input layers have the
  // shapes in the file unless `shapes` contains them. `before` is null, or a net created by this
  // recipe or by one that this recipe was copied from; layers written in Python then keep their
  // objects.
  std::shared_ptr<Net> Make(const std::map<std::string, Shape>& shapes,
                            const Net* before = nullptr) const;

 private:
  NetSource source_;
  // How phase TEST prepares images, for a net of phase TRAIN.
  std::optional<Preprocessing> test_images_;
  NetOptions options_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<ParamStore> params_;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_NET_RECIPE_H_
