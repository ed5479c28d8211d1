// Feeds arbitrary captions through everything between text and scores. CONTRIBUTING.md says how to
// run a target as a fuzzer; tests/native runs all of them on seeded inputs under the sanitizers.
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "captions.hpp"
#include "cider.hpp"
#include "overlap.hpp"
#include "resample.hpp"
#include "target.hpp"
#include "word_products.hpp"

namespace cidery::fuzz_core {
namespace {

/// Lines of the input are captions; every fourth is a candidate, those before it its references.
struct Input {
  std::vector<std::string_view> references, candidates;
  std::vector<std::uint64_t> image_offsets{0};
  std::vector<std::uint32_t> images;

  explicit Input(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(text.size(), end + 1));
      if ((references.size() + candidates.size()) % 4 != 3) {
        references.push_back(line);
        continue;
      }
      candidates.push_back(line);
      images.push_back(static_cast<std::uint32_t>(image_offsets.size() - 1));
      image_offsets.push_back(references.size());
    }
    references.resize(image_offsets.back());
  }
};

void check_values(const std::vector<double>& values, double most) {
  for (const double value : values)
    expect(value >= 0 && value <= most * (1 + 1e-9), "scores lie in their range");
}

/// A trie over two words whose offsets come from the input: construction must refuse it or lookups
/// must be safe.
void check_trie(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + std::min<std::size_t>(size, 64));
  bytes.resize(64, 0);
  const std::vector<std::string_view> words{"a", "dog"};
  const std::vector<std::uint8_t> counts{bytes[0], bytes[1]};
  std::vector<std::uint32_t> first_child{bytes[2] % 4u, bytes[3] % 4u, bytes[4] % 4u};
  const std::size_t below = bytes[5] % 4u;
  const std::vector<std::uint8_t> below_words(bytes.begin() + 6,
                                              bytes.begin() + 6 + static_cast<long>(2 * below));
  const std::vector<std::uint8_t> below_counts(bytes.begin() + 20,
                                               bytes.begin() + 20 + static_cast<long>(below));
  try {
    const FrequencyTrie trie(
        words, 2, {{{}, counts, first_child, {}, {}}, {below_words, below_counts, {}, {}, {}}},
        nullptr);
    for (std::uint32_t parent = 0; parent < 2; ++parent) {
      for (std::uint32_t word = 0; word < 3; ++word) {
        const std::uint32_t entry = trie.child(2, parent, word);
        if (entry != kNone) trie.count(2, entry);
      }
    }
  } catch (const std::invalid_argument&) {
  }
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  check_trie(data, size);
  const Input input(std::string_view(reinterpret_cast<const char*>(data), size));
  for (const Tokenizer tokenizer :
       {Tokenizer::whitespace, Tokenizer::ptb, Tokenizer::ptb_document}) {
    std::shared_ptr<Captions> references;
    Captions candidates;
    try {
      references = std::make_shared<Captions>(tokenize(input.references, tokenizer, 1));
      candidates = tokenize(input.candidates, tokenizer, 1);
    } catch (const std::invalid_argument&) {  // not UTF-8
      continue;
    }
    const auto index = std::make_shared<NgramIndex>(references, input.image_offsets, 4, 2);
    const double images = std::log(std::max<std::size_t>(1, index->images()));
    for (const LengthPenalty penalty :
         {LengthPenalty::none, LengthPenalty::gaussian, LengthPenalty::relative}) {
      for (const bool coco : {false, true}) {
        CiderSettings settings;
        settings.order_weights = {0.25, 0.25, 0.25, 0.25};
        settings.clip = penalty != LengthPenalty::none;
        settings.relative_counts = !coco;
        settings.mean_repetition = coco;
        settings.best_reference = coco;
        settings.penalty = penalty;
        const Cider cider(index, nullptr, images, settings, references, 1);
        const auto translation =
            cider.translate(*candidates.vocabulary, candidates.vocabulary.get());
        const auto values = cider.measure(candidates, &candidates, input.images, translation, 1);
        check_values(values, 1.0);
        expect(values == cider.measure(candidates, &candidates, input.images, translation, 3),
               "threads do not change the bits");
        const auto kernels = cider.kernels(coco, 1);
        check_values(kernels, 1.0);
        expect(kernels == cider.kernels(coco, 3), "threads do not change the kernels");
      }
    }
    const std::vector<std::uint8_t> ignored(references->vocabulary->size(), 0);
    expect(word_products(*index, ignored, 1) == word_products(*index, ignored, 2),
           "threads do not change the products");
    const Overlap overlap(index);
    try {
      overlap.bleu_left_out(4, Overlap::ReferenceLength::closest, 2);
    } catch (const std::invalid_argument&) {  // an image has one reference
    }
    const auto translation = overlap.translate(*candidates.vocabulary);
    overlap.bleu(candidates, input.images, translation, 4, Overlap::ReferenceLength::closest, 1);
    overlap.rouge_n(candidates, input.images, translation, 2, 1);
    check_values(overlap.rouge_l(candidates, input.images, translation, true, 1), 1.0);
    check_values(overlap.rouge_w(candidates, input.images, translation, 1.2, 1), 1.0);
    check_values(overlap.rouge_s(candidates, input.images, translation, 4, 1), 1.0);
    const auto any = overlap.rouge_s(candidates, input.images, translation, -1, 1);
    check_values(any, 1.0);
    if (!any.empty()) {
      expect(resample_sums(any, 2, 5, 1, 1) == resample_sums(any, 2, 5, 1, 2),
             "threads draw the same samples");
    }
  }
}

}  // namespace cidery::fuzz_core

CIDERY_FUZZ_TARGET(fuzz_core)
