#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "captions.hpp"

namespace cidery {

/// Rows of token ids, all of one length or of their own.
struct TokenRows {
  std::span<const std::int64_t> ids;
  std::size_t count = 0;
  std::size_t columns = 0;
  std::span<const std::uint64_t> offsets = {};  ///< count + 1 where the lengths differ

  std::size_t begin(std::size_t row) const {
    return offsets.empty() ? row * columns : offsets[row];
  }
  std::span<const std::int64_t> operator[](std::size_t row) const {
    return ids.subspan(begin(row), begin(row + 1) - begin(row));
  }
};

/// Reads the token ids that a model samples as captions of its vocabulary's words.
///
/// A caption begins after a leading `bos` and ends before the first `eos`; what follows is not
/// looked at. `pad` and `bos` are never words.
class TokenReader {
 public:
  struct Settings {
    std::optional<std::int64_t> pad, bos, eos;
    std::uint32_t eos_word = kNone;  ///< what an `eos` that was reached counts as; kNone: no word
  };

  /// words[id] is a word of the vocabulary, or kNone for ids that stand for nothing.
  TokenReader(std::shared_ptr<const Vocabulary> vocabulary, std::vector<std::uint32_t> words,
              Settings settings);

  /// Throws std::invalid_argument with row, column and id where an id stands for no word.
  Captions read(const TokenRows& rows) const;
  /// 1 for every token that the model chose: words and the `eos` that ends them; flat, as the ids.
  std::vector<std::uint8_t> mask(const TokenRows& rows) const;

 private:
  /// Calls word(column) for each word of a row; returns the column of `eos`, or the row's length.
  template <class Visit>
  std::size_t walk(std::span<const std::int64_t> row, const Visit& word) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::uint32_t> words_;
  Settings settings_;
};

/// The captions with one more word at the end of each.
Captions with_last_word(const Captions& captions, std::string_view word);

}  // namespace cidery
