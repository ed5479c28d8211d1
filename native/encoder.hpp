#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

namespace cidery {

/// What one layer of a BERT-like encoder is made of. Matrices are [outputs, inputs], as PyTorch
/// keeps them; query, key and value lie one below the other.
struct EncoderWeights {
  std::span<const float> attend, attend_bias;
  std::span<const float> gather, gather_bias;
  std::span<const float> attended_scale, attended_shift;
  std::span<const float> widen, widen_bias;
  std::span<const float> narrow, narrow_bias;
  std::span<const float> output_scale, output_shift;
};

/// Captions packed one after another, without padding.
struct PackedCaptions {
  std::span<const float> states;           // [tokens, width]
  std::span<const std::uint64_t> offsets;  // [captions + 1]
};

namespace encoder {

/// Memory that begins where a cache line does, so that no vector lies across two.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}  // NOLINT: allocators convert into each other

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T* begin, std::size_t) { ::operator delete(begin, kLine); }
  bool operator==(const LineAllocator&) const { return true; }
};
using AlignedFloats = std::vector<float, LineAllocator<float>>;

/// A matrix laid out for the kernels: panels of outputs, each with its inputs one after another.
struct Matrix {
  std::size_t outputs = 0, inputs = 0;
  AlignedFloats panels;
  std::vector<float> bias;
};

struct Layer {
  Matrix attend, gather, widen, narrow;
  std::vector<float> attended_scale, attended_shift, output_scale, output_shift;
};

struct Shape {
  std::size_t width, heads, inner;
  float epsilon;
};

/// A worker's memory for one block of captions.
struct Workspace {
  AlignedFloats attended, mixed, inner, scores;
};

/// The kernels for one kind of processor.
struct Kernels {
  /// What signatures call them: last digits differ between kinds of processors. Kernels of the
  /// same name give the same bits.
  const char* name;
  std::size_t panel;  // of so many outputs are a matrix's panels
  /// Takes a block of captions through one layer, in place. `bias` is [heads, longest, longest],
  /// added to the scores of attention, or null.
  void (*run)(const Shape&, const Layer&, const std::uint64_t* offsets, std::size_t captions,
              const float* bias, std::size_t longest, float* states, Workspace&);
};

const Kernels& portable_kernels();
/// Null where the processor, or the compiler, does not have them.
const Kernels* avx2_kernels();
const Kernels* avx512_kernels();
/// Those that this processor has for an encoder of such widths, the fastest first.
std::vector<const Kernels*> list_kernels(std::size_t width, std::size_t inner);

}  // namespace encoder

/// The layers of a BERT-like encoder: attention and a two-layer network with GELU, each followed by
/// a sum with its input and a layer norm.
///
/// A caption's states do not depend on the captions beside it, nor on the number of threads: every
/// number is a sum taken in one order.
class Encoder {
 public:
  /// `width` and `width / heads` must be multiples of 16 and 8, and so must `inner` of 16. Without
  /// `kernels`, the fastest that there are.
  Encoder(std::size_t width, std::size_t heads, std::size_t inner, float epsilon,
          const encoder::Kernels* kernels = nullptr);

  void add_layer(const EncoderWeights& weights);

  std::size_t width() const { return shape_.width; }
  std::size_t layers() const { return layers_.size(); }
  const char* kernel() const { return kernels_->name; }

  /// Takes embedded captions through the first `layers` layers: [tokens, width]. `bias` is empty or
  /// [heads, longest, longest], added to the scores of attention.
  std::vector<float> run(const PackedCaptions& captions, std::size_t layers,
                         std::span<const float> bias, unsigned threads) const;

 private:
  encoder::Matrix pack(std::span<const float> weights, std::span<const float> bias,
                       std::size_t outputs, std::size_t inputs) const;

  encoder::Shape shape_;
  const encoder::Kernels* kernels_;
  std::vector<encoder::Layer> layers_;
};

}  // namespace cidery
