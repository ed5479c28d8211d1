// Feeds arbitrary captions through a small encoder, with the kernels of every kind of processor.
// Built and run as fuzz_core.cpp.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "encoder.hpp"
#include "target.hpp"

namespace cidery::fuzz_encoder {
namespace {

/// Numbers in [-1, 1) that look random.
struct Numbers {
  std::uint32_t state;

  float next() {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  std::vector<float> take(std::size_t count) {
    std::vector<float> numbers(count);
    for (float& number : numbers) number = next();
    return numbers;
  }
};

/// Embedded captions: every byte is a token, and a newline ends a caption.
struct Input {
  std::vector<float> states;
  std::vector<std::uint64_t> offsets{0};

  Input(const std::uint8_t* data, std::size_t size, std::size_t width) {
    for (std::size_t i = 0; i < size; ++i) {
      if (data[i] == '\n') {
        offsets.push_back(states.size() / width);
        continue;
      }
      const auto token = Numbers{data[i]}.take(width);
      states.insert(states.end(), token.begin(), token.end());
    }
    offsets.push_back(states.size() / width);
  }
};

/// What distance adds to the scores of attention, the same whatever the longest caption.
std::vector<float> make_bias(std::size_t heads, std::size_t longest) {
  std::vector<float> bias;
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t i = 0; i < longest; ++i) {
      for (std::size_t j = 0; j < longest; ++j) {
        bias.push_back(0.1f * static_cast<float>(head + i) - 0.2f * static_cast<float>(j % 7));
      }
    }
  }
  return bias;
}

void add_layer(Encoder& encoder, std::size_t width, std::size_t inner, Numbers numbers) {
  const auto attend = numbers.take(3 * width * width), attend_bias = numbers.take(3 * width);
  const auto gather = numbers.take(width * width), narrow = numbers.take(width * inner);
  const auto widen = numbers.take(inner * width), widen_bias = numbers.take(inner);
  const auto one = numbers.take(width), other = numbers.take(width);
  encoder.add_layer(
      {attend, attend_bias, gather, one, other, one, widen, widen_bias, narrow, other, one, other});
}

/// Calls something that has to be refused.
template <class Call>
void refuse(const Call& call, const char* what) {
  try {
    call();
  } catch (const std::invalid_argument&) {
    return;
  }
  expect(false, what);
}

void check_refusals(const Encoder& encoder, const Input& input) {
  const std::vector<std::uint64_t> falling{0, 2, 1}, late{1, 2}, huge{0, std::uint64_t{1} << 60};
  for (const auto& offsets : {falling, late, huge}) {
    refuse([&] { encoder.run({{}, offsets}, 0, {}, 1); }, "offsets that do not fit are refused");
  }
  refuse([&] { encoder.run({input.states, input.offsets}, 2, {}, 1); }, "there is one layer");
  const std::vector<float> short_bias(1);
  if (input.states.size() > encoder.width()) {
    refuse([&] { encoder.run({input.states, input.offsets}, 1, short_bias, 1); }, "a short bias");
  }
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  const std::uint8_t choice = size == 0 ? 0 : data[size / 2];
  const std::size_t width = choice % 8 != 0 ? 16 : 32, heads = choice % 3 == 0 ? 1 : width / 8;
  const std::size_t inner = choice % 5 == 0 ? 48 : choice % 8 == 0 ? 64 : 16;
  // Seldom more than a block of tokens, which threads share: that takes long.
  const Input input(data, std::min<std::size_t>(size, choice % 8 == 1 ? 250 : 50), width);
  std::size_t longest = 0;
  for (std::size_t i = 1; i < input.offsets.size(); ++i) {
    longest = std::max<std::size_t>(longest, input.offsets[i] - input.offsets[i - 1]);
  }
  const auto bias = choice % 7 < 3 ? make_bias(heads, longest) : std::vector<float>{};

  std::vector<std::vector<float>> found;
  const auto all_kernels = encoder::list_kernels(width, inner);
  for (const auto* kernels : all_kernels) {
    Encoder encoder(width, heads, inner, 1e-6f, kernels);
    add_layer(encoder, width, inner, Numbers{choice});
    const auto states = encoder.run({input.states, input.offsets}, 1, bias, 1);
    expect(std::all_of(states.begin(), states.end(), [](float x) { return std::isfinite(x); }),
           "all finite");
    expect(states == encoder.run({input.states, input.offsets}, 1, bias, 2),
           "threads change no bit");

    const std::size_t caption = choice % (input.offsets.size() - 1);
    const std::uint64_t begin = input.offsets[caption], end = input.offsets[caption + 1];
    const std::vector<std::uint64_t> alone{0, end - begin};
    const std::span<const float> tokens{input.states.data() + begin * width, (end - begin) * width};
    const auto own_bias = bias.empty() ? bias : make_bias(heads, end - begin);
    const auto own = encoder.run({tokens, alone}, 1, own_bias, 1);
    expect(std::equal(own.begin(), own.end(), states.begin() + static_cast<long>(begin * width)),
           "captions beside it change no bit");
    check_refusals(encoder, input);
    found.push_back(states);
  }
  for (std::size_t other = 1; other < found.size(); ++other) {
    if (std::string_view(all_kernels[0]->name) == all_kernels[other]->name) {
      expect(found[0] == found[other], "kernels of one name give the same bits");
    }
    for (std::size_t i = 0; i < found[0].size(); ++i) {
      expect(std::abs(found[0][i] - found[other][i]) < 1e-3f, "kernels agree");
    }
  }
}

}  // namespace cidery::fuzz_encoder

CIDERY_FUZZ_TARGET(fuzz_encoder)
