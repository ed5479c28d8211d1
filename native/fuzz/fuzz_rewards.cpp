// Feeds arbitrary token ids through what rewards add to the core. Built and run as fuzz_core.cpp.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cider.hpp"
#include "target.hpp"
#include "tokens.hpp"

namespace cidery::fuzz_rewards {
namespace {

constexpr std::uint32_t kWords = 7;
constexpr std::int64_t kPad = 7, kEnd = 8;

/// Rows of tokens: words, pad and end, and seldom an unknown id.
struct Input {
  std::vector<std::int64_t> ids;
  std::vector<std::uint64_t> offsets{0};

  Input(const std::uint8_t* data, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      if (data[i] % 8 == 7) {
        offsets.push_back(ids.size());
      } else {
        ids.push_back(data[i] == 250 ? -1 : data[i] / 8 % 9);
      }
    }
    offsets.push_back(ids.size());
  }
};

/// So do the shares of words, for any number of threads; what is lacking costs.
void check_words(const Cider& cider, const Captions& captions,
                 const std::vector<std::uint32_t>& images, const Translation& translation,
                 const std::vector<double>& values) {
  const auto shares = cider.word_shares(captions, &captions, images, translation, 1);
  const auto again = cider.word_shares(captions, &captions, images, translation, 3);
  expect(shares.values == again.values && shares.lacks == again.lacks, "threads change nothing");
  expect(shares.values.size() == captions.words.size(), "every word has a share");
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (std::uint64_t at = captions.offsets[i]; at < captions.offsets[i + 1]; ++at)
      sum += shares.values[at];
    expect(std::abs(sum - values[i]) < 1e-9, "the shares of words sum to the score");
  }
  for (std::size_t at = 0; at < shares.lacks.size(); ++at)
    expect(shares.lacks[at] <= 0 && shares.lacking[at] <= 1, "what is lacking costs");
}

/// Credit sums to the score, whatever the settings.
void check_credit(const std::shared_ptr<const Captions>& captions) {
  std::vector<std::uint64_t> image_offsets{0};
  std::vector<std::uint32_t> images;
  for (std::uint32_t i = 0; i < captions->size(); ++i) {
    if (i % 2 == 1 || i + 1 == captions->size()) image_offsets.push_back(i + 1);
    images.push_back(i * 7 % static_cast<std::uint32_t>((captions->size() + 1) / 2));
  }
  const auto index = std::make_shared<NgramIndex>(captions, image_offsets, 4, 1);
  for (const LengthPenalty penalty :
       {LengthPenalty::none, LengthPenalty::gaussian, LengthPenalty::relative}) {
    for (const bool coco : {false, true}) {
      CiderSettings settings;
      settings.order_weights = {0.25, 0.25, 0.25, 0.25};
      settings.clip = penalty != LengthPenalty::none;
      settings.relative_counts = !coco;
      settings.best_reference = coco;
      settings.penalty = penalty;
      const Cider cider(index, nullptr, std::log(index->images()), settings, captions, 1);
      const auto translation = cider.translate(*captions->vocabulary, captions->vocabulary.get());
      const auto values = cider.measure(*captions, captions.get(), images, translation, 1);
      const auto credits = cider.credit(*captions, captions.get(), images, translation);
      for (std::size_t i = 0; i < values.size(); ++i) {
        double sum = 0;
        for (const auto& credit : credits[i]) {
          expect(credit.earned >= 0 && credit.cost <= 0, "earnings and costs have their signs");
          sum += credit.earned + credit.cost;
        }
        expect(std::abs(sum - values[i]) < 1e-9, "credit sums to the score");
      }
      check_words(cider, *captions, images, translation, values);
    }
  }
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  const Input input(data, size);
  auto vocabulary = std::make_shared<Vocabulary>();
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < kWords; ++i)
    words.push_back(vocabulary->intern("word" + std::to_string(i)));
  const TokenRows rows{input.ids, input.offsets.size() - 1, 0, input.offsets};
  for (const std::uint32_t eos_word : {kNone, 0u}) {
    const TokenReader reader(vocabulary, words,
                             {.pad = kPad, .bos = {}, .eos = kEnd, .eos_word = eos_word});
    const auto chosen = reader.mask(rows);
    expect(chosen.size() == input.ids.size(), "the mask has a place per token");
    try {
      const auto captions = std::make_shared<const Captions>(reader.read(rows));
      expect(captions->size() == rows.count, "every row is a caption");
      expect(captions->words.size() <= input.ids.size(), "words come from tokens");
      const auto longer = with_last_word(*captions, "the end");
      expect(longer.words.size() == captions->words.size() + captions->size(),
             "each caption gets one word");
      check_credit(captions);
    } catch (const std::invalid_argument&) {  // an unknown id
    }
  }
}

}  // namespace cidery::fuzz_rewards

CIDERY_FUZZ_TARGET(fuzz_rewards)
