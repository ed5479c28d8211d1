#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "vocabulary.hpp"

namespace cidery {

/// Tokenized captions, flat: caption i is words[offsets[i], offsets[i + 1]), ids of the vocabulary.
struct Captions {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::vector<std::uint32_t> words;
  std::vector<std::uint64_t> offsets{0};

  std::size_t size() const { return offsets.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t i) const {
    return std::span(words).subspan(offsets[i], offsets[i + 1] - offsets[i]);
  }
};

enum class Tokenizer {
  whitespace,    ///< Python's str.split()
  ptb,           ///< Penn Treebank, each caption by itself, punctuation removed
  ptb_document,  ///< Penn Treebank, all captions as one document, punctuation removed
};

/// Tokenizes and interns. Ids follow first occurrence, so they do not depend on the number of
/// threads.
Captions tokenize(std::span<const std::string_view> texts, Tokenizer tokenizer, unsigned threads);

/// The words that have other characters than ASCII letters and digits, or none.
std::vector<std::uint32_t> find_unusual_words(const Vocabulary& vocabulary);

/// Whether a word has white space in it or is empty, so that str.split() of all words, with blanks
/// between them, would give others.
bool has_blank_words(const Vocabulary& vocabulary);

/// Appends the pieces between Unicode white space, as Python's str.split() does.
void split_whitespace(std::string_view text, std::vector<std::string_view>& pieces);

/// What each word of a vocabulary becomes: none, one or several words of a new vocabulary (stems,
/// parts, pieces).
class Expansion {
 public:
  /// Word i becomes pieces[starts[i]] … pieces[starts[i + 1] - 1]; starts has one entry more than
  /// there are words.
  Expansion(std::span<const std::string_view> pieces, std::vector<std::uint64_t> starts);

  /// Some words of a vocabulary become pieces, as above; the others stay.
  Expansion(const Vocabulary& vocabulary, std::span<const std::uint32_t> words,
            std::span<const std::string_view> pieces, std::span<const std::uint64_t> starts);
  /// Cuts the words of a vocabulary at white space, as `split_whitespace` does.
  static Expansion at_blanks(const Vocabulary& vocabulary);

  /// The captions, whose vocabulary must be the one this was made for, in the new words.
  Captions apply(const Captions& captions) const;
  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::uint32_t> pieces_;
  std::vector<std::uint64_t> starts_;
};

}  // namespace cidery
