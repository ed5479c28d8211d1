#include "tokens.hpp"

#include <stdexcept>
#include <string>

namespace cidery {

TokenReader::TokenReader(std::shared_ptr<const Vocabulary> vocabulary,
                         std::vector<std::uint32_t> words, Settings settings)
    : vocabulary_(std::move(vocabulary)), words_(std::move(words)), settings_(settings) {
  for (const auto word : words_) {
    if (word != kNone && word >= vocabulary_->size())
      throw std::invalid_argument("a word id is outside the vocabulary");
  }
  if (settings_.eos_word != kNone && settings_.eos_word >= vocabulary_->size())
    throw std::invalid_argument("the end word is outside the vocabulary");
}

template <class Visit>
std::size_t TokenReader::walk(std::span<const std::int64_t> row, const Visit& word) const {
  for (std::size_t column = 0; column < row.size(); ++column) {
    const std::int64_t id = row[column];
    // Some models use one id for both ends: in front it begins, later it ends.
    if (column == 0 && id == settings_.bos) continue;
    if (id == settings_.eos) return column;
    if (id == settings_.pad || id == settings_.bos) continue;
    word(column);
  }
  return row.size();
}

Captions TokenReader::read(const TokenRows& rows) const {
  Captions captions;
  captions.vocabulary = vocabulary_;
  captions.words.reserve(rows.ids.size() + rows.count);
  captions.offsets.reserve(rows.count + 1);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    const std::size_t end = walk(row, [&](std::size_t column) {
      const auto id = static_cast<std::uint64_t>(row[column]);  // negative ones become huge
      const std::uint32_t word = id < words_.size() ? words_[id] : kNone;
      if (word == kNone) {
        throw std::invalid_argument("caption " + std::to_string(i) + ", token " +
                                    std::to_string(column) + ": the id " +
                                    std::to_string(row[column]) + " is not in the vocabulary");
      }
      captions.words.push_back(word);
    });
    if (end < row.size() && settings_.eos_word != kNone)
      captions.words.push_back(settings_.eos_word);
    captions.offsets.push_back(captions.words.size());
  }
  return captions;
}

std::vector<std::uint8_t> TokenReader::mask(const TokenRows& rows) const {
  std::vector<std::uint8_t> chosen(rows.ids.size(), 0);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    const std::size_t begin = rows.begin(i);
    const std::size_t end = walk(row, [&](std::size_t column) { chosen[begin + column] = 1; });
    if (end < row.size()) chosen[begin + end] = 1;
  }
  return chosen;
}

Captions with_last_word(const Captions& captions, std::string_view word) {
  Vocabulary vocabulary = *captions.vocabulary;
  const std::uint32_t last = vocabulary.intern(word);
  Captions longer;
  longer.words.reserve(captions.words.size() + captions.size());
  longer.offsets.reserve(captions.offsets.size());
  for (std::size_t i = 0; i < captions.size(); ++i) {
    const auto words = captions[i];
    longer.words.insert(longer.words.end(), words.begin(), words.end());
    longer.words.push_back(last);
    longer.offsets.push_back(longer.words.size());
  }
  longer.vocabulary = std::make_shared<const Vocabulary>(std::move(vocabulary));
  return longer;
}

}  // namespace cidery
