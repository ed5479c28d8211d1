#include "encoder.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>

#include "parallel.hpp"

namespace cidery {

using encoder::Layer;
using encoder::Matrix;
using encoder::Workspace;

namespace {

/// Tokens that go through all layers together: few enough for the L2 cache, enough to be worth
/// reading a layer's weights for. The fewest are for few captions, so that all threads have some.
constexpr std::uint64_t FEWEST = 192, MOST = 384;

void check_size(std::span<const float> values, std::size_t expected, const char* what) {
  if (values.size() == expected) return;
  throw std::invalid_argument(std::string(what) + " has " + std::to_string(values.size()) +
                              " numbers, not " + std::to_string(expected));
}

std::vector<float> copy(std::span<const float> values, std::size_t expected, const char* what) {
  check_size(values, expected, what);
  return {values.begin(), values.end()};
}

/// Cuts captions into blocks for so many threads: the first caption of each, then their number.
std::vector<std::size_t> cut_blocks(std::span<const std::uint64_t> offsets, unsigned threads) {
  const std::uint64_t size = std::clamp(offsets.back() / (4 * threads), FEWEST, MOST);
  std::vector<std::size_t> blocks{0};
  const std::size_t captions = offsets.size() - 1;
  for (std::size_t caption = 0; caption < captions; ++caption) {
    if (caption > blocks.back() && offsets[caption + 1] - offsets[blocks.back()] > size) {
      blocks.push_back(caption);
    }
  }
  blocks.push_back(captions);
  return blocks;
}

}  // namespace

std::vector<const encoder::Kernels*> encoder::list_kernels(std::size_t width, std::size_t inner) {
  std::vector<const Kernels*> found;
  for (const Kernels* kernels : {avx512_kernels(), avx2_kernels(), &portable_kernels()}) {
    if (kernels != nullptr && width % kernels->panel == 0 && inner % kernels->panel == 0) {
      found.push_back(kernels);
    }
  }
  return found;
}

Encoder::Encoder(std::size_t width, std::size_t heads, std::size_t inner, float epsilon,
                 const encoder::Kernels* kernels)
    : shape_{width, heads, inner, epsilon}, kernels_(kernels) {
  if (width == 0 || heads == 0 || width % 16 != 0 || inner % 16 != 0 || width % heads != 0 ||
      width / heads % 8 != 0) {
    throw std::invalid_argument(
        "the width and the inner width must be multiples of 16, a head's of 8");
  }
  if (kernels_ == nullptr) kernels_ = encoder::list_kernels(width, inner).front();
}

Matrix Encoder::pack(std::span<const float> weights, std::span<const float> bias,
                     std::size_t outputs, std::size_t inputs) const {
  check_size(weights, outputs * inputs, "a matrix");
  const std::size_t panel = kernels_->panel;
  Matrix matrix{outputs, inputs, encoder::AlignedFloats(outputs * inputs),
                copy(bias, outputs, "a bias")};
  for (std::size_t output = 0; output < outputs; ++output) {
    float* to = matrix.panels.data() + output / panel * panel * inputs + output % panel;
    for (std::size_t input = 0; input < inputs; ++input) {
      to[input * panel] = weights[output * inputs + input];
    }
  }
  return matrix;
}

void Encoder::add_layer(const EncoderWeights& weights) {
  const auto [width, heads, inner, epsilon] = shape_;
  layers_.push_back(Layer{
      pack(weights.attend, weights.attend_bias, 3 * width, width),
      pack(weights.gather, weights.gather_bias, width, width),
      pack(weights.widen, weights.widen_bias, inner, width),
      pack(weights.narrow, weights.narrow_bias, width, inner),
      copy(weights.attended_scale, width, "a layer norm"),
      copy(weights.attended_shift, width, "a layer norm"),
      copy(weights.output_scale, width, "a layer norm"),
      copy(weights.output_shift, width, "a layer norm"),
  });
}

std::vector<float> Encoder::run(const PackedCaptions& captions, std::size_t layers,
                                std::span<const float> bias, unsigned threads) const {
  const auto offsets = captions.offsets;
  if (layers > layers_.size()) throw std::invalid_argument("there are not so many layers");
  if (offsets.empty() || offsets.front() != 0 || !std::is_sorted(offsets.begin(), offsets.end())) {
    throw std::invalid_argument("offsets must rise from 0");
  }
  // Divided, since a product could overflow to a size that fits.
  if (captions.states.size() % shape_.width != 0 ||
      captions.states.size() / shape_.width != offsets.back()) {
    throw std::invalid_argument("the captions' states must be as many as their tokens");
  }
  std::vector<float> states{captions.states.begin(), captions.states.end()};
  std::size_t longest = 0;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    longest = std::max<std::size_t>(longest, offsets[i] - offsets[i - 1]);
  }
  if (!bias.empty()) check_size(bias, shape_.heads * longest * longest, "the bias of attention");

  const auto blocks = cut_blocks(offsets, worker_count(threads, offsets.size()));
  std::atomic<std::size_t> next{0};
  run_workers(worker_count(threads, blocks.size() - 1), [&](unsigned) {
    Workspace memory;
    for (std::size_t block; (block = next++) + 1 < blocks.size();) {
      const std::uint64_t* first = offsets.data() + blocks[block];
      for (std::size_t layer = 0; layer < layers; ++layer) {
        kernels_->run(shape_, layers_[layer], first, blocks[block + 1] - blocks[block],
                      bias.empty() ? nullptr : bias.data(), longest,
                      states.data() + *first * shape_.width, memory);
      }
    }
  });
  return states;
}

}  // namespace cidery
