/// Many threads score captions with one prepared metric, as a trainer's workers do; built with the
/// thread sanitizer, which reports any unguarded sharing. Fails where a thread saw another value.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cider.hpp"
#include "fuzz/target.hpp"
#include "overlap.hpp"
#include "parallel.hpp"
#include "tokens.hpp"

namespace cidery::reward_stress {

void run(const std::uint8_t*, std::size_t) {
  constexpr std::size_t kImages = 60, kReferences = 3, kWords = 40, kTokens = 12;
  constexpr unsigned kThreads = 6;
  auto words = std::make_shared<Vocabulary>();
  for (std::size_t i = 0; i < kWords; ++i) words->intern("word" + std::to_string(i));

  std::uint64_t state = 1;
  const auto next = [&](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  auto references = std::make_shared<Captions>();
  references->vocabulary = words;
  std::vector<std::uint64_t> image_offsets{0};
  for (std::size_t caption = 0; caption < kImages * kReferences; ++caption) {
    for (std::uint64_t n = 3 + next(9); n > 0; --n)
      references->words.push_back(static_cast<std::uint32_t>(next(kWords)));
    references->offsets.push_back(references->words.size());
    if ((caption + 1) % kReferences == 0) image_offsets.push_back(caption + 1);
  }
  auto index = std::make_shared<NgramIndex>(references, image_offsets, 4, 2);
  CiderSettings settings;
  settings.order_weights.assign(4, 0.25);
  settings.clip = true;
  settings.penalty = LengthPenalty::relative;
  const Cider cider(index, nullptr, 4.0, settings, references, 2);
  const Overlap overlap(index);

  std::vector<std::uint32_t> word_of(kWords + 1, kNone);
  for (std::uint32_t i = 0; i < kWords; ++i) word_of[i + 1] = i;
  const TokenReader reader(words, word_of, {.pad = 0, .bos = {}, .eos = kWords + 1});
  const Translation translation = cider.translate(*words, words.get());
  const Translation overlap_translation = overlap.translate(*words);
  std::vector<std::int64_t> ids;
  std::vector<std::uint32_t> images;
  for (std::size_t caption = 0; caption < 600; ++caption) {
    images.push_back(static_cast<std::uint32_t>(next(kImages)));
    for (std::size_t t = 0; t < kTokens; ++t)
      ids.push_back(static_cast<std::int64_t>(next(kWords + 2)));
  }
  const TokenRows rows{ids, images.size(), kTokens};

  const auto score = [&](unsigned threads) {
    const Captions captions = reader.read(rows);
    auto values = cider.measure(captions, &captions, images, translation, threads);
    const auto bleu = overlap.bleu(captions, images, overlap_translation, 4,
                                   Overlap::ReferenceLength::closest, threads);
    const auto common = overlap.rouge_l(captions, images, overlap_translation, true, threads);
    values.insert(values.end(), bleu.begin(), bleu.end());
    values.insert(values.end(), common.begin(), common.end());
    return values;
  };
  const std::vector<double> expected = score(1);
  std::atomic<int> wrong = 0;
  run_workers(kThreads, [&](unsigned worker) {
    for (int round = 0; round < 8; ++round) wrong += score(1 + worker % 3) != expected;
  });
  expect(wrong == 0, "threads share prepared metrics");
}

}  // namespace cidery::reward_stress
