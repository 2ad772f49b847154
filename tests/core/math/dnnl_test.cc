// Tests Blocking and its functions with both supported versions of oneDNN.
#include "core/math/dnnl.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/math/dnnl_isa.h"

namespace doppio {
namespace {

using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;

dnnl::memory::desc Tagged(const Dims& dims, Tag tag) {
  return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, tag);
}

// Returns layouts of images, weights, grouped weights and matrices, including partial blocks and
// axes of extent 1.
std::vector<dnnl::memory::desc> Examples() {
  return {Tagged({2, 20, 3, 5}, Tag::abcd),
          Tagged({2, 20, 3, 5}, Tag::acdb),
          Tagged({2, 20, 3, 5}, Tag::aBcd16b),
          Tagged({2, 20, 3, 5}, Tag::aBcd8b),
          Tagged({1, 16, 1, 1}, Tag::aBcd16b),
          Tagged({3, 7, 4}, Tag::aBc16b),
          Tagged({2, 9, 2, 3, 2}, Tag::aBcde8b),
          Tagged({20, 1, 5, 5}, Tag::Acdb16a),
          Tagged({50, 20, 5, 5}, Tag::ABcd16b16a),
          Tagged({50, 20, 5, 5}, Tag::ABcd16a16b),
          Tagged({2, 2, 3, 3, 3}, Tag::gOIhw8o8i),
          Tagged({32, 1, 1, 3, 3}, Tag::Goihw16g),
          Tagged({500, 1024}, Tag::AB16b64a),
          Tagged({10, 500}, Tag::AB16b16a),
          Tagged({10, 500}, Tag::ba)};
}

// Returns the offset of the element at `index`, as Blocking defines it.
int64_t PlaceOf(const Blocking& blocking, Dims index) {
  int64_t place = 0, inner = 1;
  for (size_t i = blocking.inner_blocks.size(); i-- > 0;) {
    const size_t axis = static_cast<size_t>(blocking.inner_axes[i]);
    place += index[axis] % blocking.inner_blocks[i] * inner;
    index[axis] /= blocking.inner_blocks[i];
    inner *= blocking.inner_blocks[i];
  }
  for (size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * blocking.strides[axis];
  return place;
}

TEST(Blocking, SaysWhereEveryElementLies) {
  for (const dnnl::memory::desc& desc : Examples()) {
    const Blocking blocking = BlockingOf(desc);
    const Shape shape(DimsOf(desc));
    std::vector<float> plain(static_cast<size_t>(shape.count()));
    std::iota(plain.begin(), plain.end(), 1.0f);
    std::vector<float> blocked(desc.get_size() / sizeof(float));
    Reorder(PlainDesc(shape), desc).Run(plain.data(), blocked.data());
    for (int64_t i = 0; i < shape.count(); ++i) {
      Dims index(blocking.dims.size());
      int64_t rest = i;
      for (size_t axis = index.size(); axis-- > 0;) {
        index[axis] = rest % blocking.dims[axis];
        rest /= blocking.dims[axis];
      }
      ASSERT_EQ(blocked[static_cast<size_t>(PlaceOf(blocking, index))],
                plain[static_cast<size_t>(i)])
          << "element " << i << " of " << shape.ToString();
    }
  }
}

TEST(Blocking, GivesTheDescriptorBack) {
  for (const dnnl::memory::desc& desc : Examples()) {
    EXPECT_TRUE(DescOf(BlockingOf(desc)) == desc) << Shape(DimsOf(desc)).ToString();
  }
}

TEST(Blocking, HasNoDescriptorOrTheOneAskedFor) {
  Blocking odd = BlockingOf(PlainDesc({2, 10, 3, 3}));
  odd.AddInner(5, 1);
  odd.strides = {90, 45, 15, 5};
  const dnnl::memory::desc desc = DescOf(odd);
  EXPECT_TRUE(desc.is_zero() || BlockingOf(desc).inner_blocks == Dims{5});
}

TEST(LayoutOf, IsPlainForDenseRowMajorTensors) {
  EXPECT_TRUE(LayoutOf(PlainDesc({2, 3, 4})).plain());
  EXPECT_TRUE(LayoutOf(Tagged({2, 3, 4}, Tag::abc)).plain());
  EXPECT_TRUE(LayoutOf(PlainDesc(Shape{})).plain());
  EXPECT_FALSE(LayoutOf(Tagged({2, 3, 4}, Tag::acb)).plain());
}

TEST(LayoutOf, SurvivesTheWayThroughADescriptor) {
  for (const dnnl::memory::desc& desc : Examples()) {
    const Layout layout = LayoutOf(desc);
    const Shape shape(DimsOf(desc));
    const dnnl::memory::desc again = DescOf(TensorSpec{shape, DType::kFloat32, layout});
    EXPECT_TRUE(again == desc) << shape.ToString();
    EXPECT_TRUE(LayoutOf(again) == layout) << shape.ToString();
  }
}

TEST(LayoutOf, CountsTheElementsOfPaddedBlocks) {
  const Layout padded = LayoutOf(Tagged({2, 20, 3, 5}, Tag::aBcd16b));
  EXPECT_TRUE(padded.padded());
  EXPECT_EQ(padded.stored(), 2 * 32 * 3 * 5);
  const Layout full = LayoutOf(Tagged({2, 32, 3, 5}, Tag::aBcd16b));
  EXPECT_FALSE(full.padded());
  EXPECT_EQ(full.stored(), 2 * 32 * 3 * 5);
}

// The layout of a primitive equals the same layout by name.
TEST(LayoutOf, DoesNotDependOnHowTheDescriptorWasMade) {
  const Dims ones{1, 1}, zeros{0, 0};
  const auto conv = DescribeForward<dnnl::convolution_forward>(
      DnnlAttr(), dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
      Tagged({2, 32, 8, 8}, Tag::aBcd16b), AnyDesc({48, 32, 3, 3}),
      Tagged({2, 48, 6, 6}, Tag::aBcd16b), ones, zeros, zeros);
  EXPECT_TRUE(LayoutOf(conv.src_desc()) == LayoutOf(Tagged({2, 32, 8, 8}, Tag::aBcd16b)));
  const dnnl::memory::desc weights = conv.weights_desc();
  EXPECT_TRUE(LayoutOf(DescOf(BlockingOf(weights))) == LayoutOf(weights));
  EXPECT_TRUE(DescOf(BlockingOf(weights)) == weights);
}

TEST(ShortVectors, AreThoseOfOlderCpus) {
  EXPECT_EQ(WhyShortVectors(16), "");
  const std::string why = WhyShortVectors(1);
  EXPECT_NE(why.find("the program is compiled for 1"), std::string::npos) << why;
}

}  // namespace
}  // namespace doppio
