#include "captions.hpp"

#include <algorithm>
#include <stdexcept>

#include "compiler.hpp"
#include "parallel.hpp"
#include "ptb.hpp"

namespace cidery {
namespace {

/// Length in bytes of the white space at `at`, by Python's str.isspace(), or 0.
std::size_t space_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(at);
  if (first < 0x80)
    return first == 0x20 || (first >= 9 && first <= 13) || (first >= 28 && first <= 31);
  if (first == 0xC2) return byte(at + 1) == 0x85 || byte(at + 1) == 0xA0 ? 2 : 0;  // NEL, NBSP
  if (first < 0xE1 || first > 0xE3) return 0;
  const unsigned code = (first & 0xFu) << 12 | (byte(at + 1) & 0x3Fu) << 6 | (byte(at + 2) & 0x3Fu);
  const bool space = code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
                     code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
  return space ? 3 : 0;
}

/// One worker's share: its own vocabulary, merged afterwards.
struct Share {
  Vocabulary vocabulary;
  std::vector<std::uint32_t> words;
  std::vector<std::uint64_t> ends;
};

void tokenize_share(std::span<const std::string_view> texts, Tokenizer tokenizer, std::size_t begin,
                    std::size_t end, Share& share) {
  TokenBuffer buffer;
  PlainWords plain;
  std::vector<std::string_view> pieces;
  share.ends.reserve(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    constexpr std::size_t kAhead = 8;
    if (i + kAhead < end) {  // texts lie anywhere in memory
      prefetch_memory(texts[i + kAhead].data());
      prefetch_memory(texts[i + kAhead].data() + 64);
    }
    if (tokenizer == Tokenizer::whitespace) {
      pieces.clear();
      split_whitespace(texts[i], pieces);
      for (const auto piece : pieces) share.words.push_back(share.vocabulary.intern(piece));
    } else if (tokenizer == Tokenizer::ptb && ptb_cut_plain(texts[i], plain)) {
      for (std::size_t word = 0; word < plain.count; ++word) {
        const std::size_t size = plain.ends[word] - plain.starts[word];
        share.words.push_back(
            share.vocabulary.intern_padded({plain.bytes.data() + plain.starts[word], size}));
      }
    } else {
      buffer.clear();
      if (tokenizer == Tokenizer::ptb) {
        ptb_tokenize(texts[i], true, buffer);
      } else {
        ptb_tokenize_in_document(texts, i, true, buffer);
      }
      std::uint32_t start = 0;
      for (const std::uint32_t stop : buffer.ends) {
        const std::string_view token(buffer.bytes.data() + start, stop - start);
        share.words.push_back(share.vocabulary.intern(token));
        start = stop;
      }
    }
    share.ends.push_back(share.words.size());
  }
}

}  // namespace

bool has_blank_words(const Vocabulary& vocabulary) {
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view word = vocabulary[id];
    if (word.empty()) return true;
    for (std::size_t at = 0; at < word.size(); ++at) {
      if (space_length(word, at) != 0) return true;
    }
  }
  return false;
}

std::vector<std::uint32_t> find_unusual_words(const Vocabulary& vocabulary) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view word = vocabulary[id];
    const bool usual = std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
    if (!usual || word.empty()) found.push_back(id);
  }
  return found;
}

void split_whitespace(std::string_view text, std::vector<std::string_view>& pieces) {
  std::size_t start = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t space = space_length(text, at);
    if (space == 0) {
      ++at;
      continue;
    }
    if (at > start) pieces.push_back(text.substr(start, at - start));
    at += space;
    start = at;
  }
  if (at > start) pieces.push_back(text.substr(start));
}

Captions tokenize(std::span<const std::string_view> texts, Tokenizer tokenizer, unsigned threads) {
  constexpr std::size_t kWorthAThread = 512;  // captions; below this, starting one costs more
  const unsigned workers = worker_count(threads, texts.size() / kWorthAThread);
  std::vector<Share> shares(workers);
  // Memory that is not used costs nothing, growing costs a copy. Most words have a blank and more
  // than one letter; the first share takes in the others.
  std::size_t bytes = 0;
  for (const auto text : texts) bytes += text.size();
  for (unsigned worker = 0; worker < workers; ++worker)
    shares[worker].words.reserve(bytes / 4 / (worker == 0 ? 1 : workers) + 1);
  parallel_shares(texts.size(), workers, [&](std::size_t begin, std::size_t end, unsigned worker) {
    tokenize_share(texts, tokenizer, begin, end, shares[worker]);
  });

  // Later shares' words join the first share's vocabulary in their own order: first-occurrence
  // order overall.
  Captions captions;
  Vocabulary vocabulary = std::move(shares[0].vocabulary);
  captions.words = std::move(shares[0].words);
  captions.offsets.reserve(texts.size() + 1);
  for (const auto end : shares[0].ends) captions.offsets.push_back(end);
  for (unsigned worker = 1; worker < workers; ++worker) {
    const Share& share = shares[worker];
    std::vector<std::uint32_t> ids(share.vocabulary.size());
    for (std::uint32_t id = 0; id < ids.size(); ++id)
      ids[id] = vocabulary.intern(share.vocabulary[id]);
    const std::uint64_t base = captions.words.size();
    captions.words.reserve(base + share.words.size());
    for (const auto word : share.words) captions.words.push_back(ids[word]);
    for (const auto end : share.ends) captions.offsets.push_back(base + end);
  }
  captions.vocabulary = std::make_shared<const Vocabulary>(std::move(vocabulary));
  return captions;
}

Expansion::Expansion(std::span<const std::string_view> pieces, std::vector<std::uint64_t> starts)
    : starts_(std::move(starts)) {
  if (starts_.empty() || starts_.front() != 0 || starts_.back() != pieces.size() ||
      !std::is_sorted(starts_.begin(), starts_.end())) {
    throw std::invalid_argument("the starts must ascend and cover all pieces");
  }
  Vocabulary vocabulary;
  pieces_.reserve(pieces.size());
  for (const auto piece : pieces) pieces_.push_back(vocabulary.intern(piece));
  vocabulary_ = std::make_shared<const Vocabulary>(std::move(vocabulary));
}

Expansion::Expansion(const Vocabulary& vocabulary, std::span<const std::uint32_t> words,
                     std::span<const std::string_view> pieces,
                     std::span<const std::uint64_t> starts) {
  if (starts.size() != words.size() + 1 || starts.back() != pieces.size())
    throw std::invalid_argument("the starts must cover all pieces");
  Vocabulary made;
  starts_.push_back(0);
  std::size_t next = 0;
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
    if (next < words.size() && words[next] == id) {
      for (std::uint64_t i = starts[next]; i < starts[next + 1]; ++i)
        pieces_.push_back(made.intern(pieces[i]));
      ++next;
    } else {
      pieces_.push_back(made.intern(vocabulary[id]));
    }
    starts_.push_back(pieces_.size());
  }
  if (next != words.size()) throw std::invalid_argument("the words must ascend");
  vocabulary_ = std::make_shared<const Vocabulary>(std::move(made));
}

Expansion Expansion::at_blanks(const Vocabulary& vocabulary) {
  std::vector<std::string_view> pieces;
  std::vector<std::uint64_t> starts{0};
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
    split_whitespace(vocabulary[id], pieces);
    starts.push_back(pieces.size());
  }
  return Expansion(pieces, std::move(starts));
}

Captions Expansion::apply(const Captions& captions) const {
  if (starts_.size() != std::size_t{captions.vocabulary->size()} + 1) {
    throw std::invalid_argument("the expansion was made for another vocabulary");
  }
  Captions expanded;
  expanded.vocabulary = vocabulary_;
  expanded.words.reserve(captions.words.size());
  expanded.offsets.reserve(captions.offsets.size());
  for (std::size_t i = 0; i < captions.size(); ++i) {
    for (const auto word : captions[i]) {
      expanded.words.insert(expanded.words.end(),
                            pieces_.begin() + static_cast<std::ptrdiff_t>(starts_[word]),
                            pieces_.begin() + static_cast<std::ptrdiff_t>(starts_[word + 1]));
    }
    expanded.offsets.push_back(expanded.words.size());
  }
  return expanded;
}

}  // namespace cidery
