#include <algorithm>
#include <stdexcept>

#include "meteor.hpp"
#include "meteor_normalise.hpp"
#include "parallel.hpp"

namespace cidery {
namespace {

/// Lower-case ASCII letters and digits alone: a word that normalising never changes, whatever
/// stands around it.
bool is_plain(std::string_view word) {
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

bool is_plain_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ' ';
  });
}

/// Normalises those of `count` texts that need it, in parallel: text(i, buffer) gives the i-th.
template <class TextOf>
std::vector<std::string> normalise_all(std::size_t count, const MeteorTable& table,
                                       unsigned threads, const TextOf& text) {
  std::vector<std::string> normalised(count);
  parallel_shares(
      count, worker_count(threads, count), [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t i = begin; i < end; ++i)
          text(i, [&](std::string_view t) { meteor_normalise(t, table, normalised[i]); });
      });
  return normalised;
}

std::uint64_t synset_bit(std::uint32_t synset) {
  return std::uint64_t{1} << ((synset * 0x9E3779B1u) >> 26);
}

}  // namespace

MeteorCaptions::MeteorCaptions(std::shared_ptr<const MeteorTable> table,
                               std::span<const std::string_view> texts,
                               const MeteorStemmer& stemmer, bool paraphrases, unsigned threads)
    : table_(std::move(table)) {
  const auto normalised =
      normalise_all(texts.size(), *table_, threads, [&](std::size_t i, const auto& normalise) {
        if (!is_plain_text(texts[i])) normalise(texts[i]);
      });
  for (std::size_t i = 0; i < texts.size(); ++i) {
    append(is_plain_text(texts[i]) ? texts[i] : std::string_view(normalised[i]));
  }
  look_up(stemmer);
  if (paraphrases) {
    find_phrases(threads);
  } else {
    phrase_offsets_.assign(size() + 1, 0);
  }
}

MeteorCaptions::MeteorCaptions(std::shared_ptr<const MeteorTable> table, const Captions& captions,
                               const MeteorStemmer& stemmer, bool paraphrases, unsigned threads)
    : table_(std::move(table)) {
  const Vocabulary& tokens = *captions.vocabulary;
  std::vector<char> plain(tokens.size());
  for (std::uint32_t id = 0; id < tokens.size(); ++id) plain[id] = is_plain(tokens[id]);
  const auto all_plain = [&](std::span<const std::uint32_t> caption) {
    return std::all_of(caption.begin(), caption.end(),
                       [&](std::uint32_t id) { return plain[id] != 0; });
  };
  const auto normalised =
      normalise_all(captions.size(), *table_, threads, [&](std::size_t i, const auto& normalise) {
        if (all_plain(captions[i])) return;
        std::string text;
        for (const std::uint32_t id : captions[i]) (text += tokens[id]) += ' ';
        normalise(text);
      });
  std::vector<std::uint32_t> translated(tokens.size(), kNone);
  for (std::size_t i = 0; i < captions.size(); ++i) {
    if (!all_plain(captions[i])) {
      append(normalised[i]);
      continue;
    }
    for (const std::uint32_t id : captions[i]) {
      if (tokens[id].empty()) continue;
      if (translated[id] == kNone) translated[id] = vocabulary_.intern(tokens[id]);
      words_.push_back(translated[id]);
    }
    offsets_.push_back(words_.size());
  }
  look_up(stemmer);
  if (paraphrases) {
    find_phrases(threads);
  } else {
    phrase_offsets_.assign(size() + 1, 0);
  }
}

void MeteorCaptions::append(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) break;
    const std::string_view word = text.substr(0, text.find(' '));
    words_.push_back(vocabulary_.intern(word));
    text.remove_prefix(word.size());
  }
  offsets_.push_back(words_.size());
}

void MeteorCaptions::look_up(const MeteorStemmer& stemmer) {
  std::vector<std::string> texts;
  texts.reserve(vocabulary_.size());
  for (std::uint32_t id = 0; id < vocabulary_.size(); ++id) texts.emplace_back(vocabulary_[id]);
  const std::vector<std::string> stems = stemmer(texts);
  if (stems.size() != texts.size()) {
    throw std::invalid_argument("the stemmer gave " + std::to_string(stems.size()) + " stems for " +
                                std::to_string(texts.size()) + " words");
  }
  lexicon_.reserve(texts.size());
  for (std::size_t id = 0; id < texts.size(); ++id) {
    Word word{};
    word.key = meteor_key(texts[id]);
    word.stem_key = meteor_key(stems[id]);
    word.table_word = table_->find(texts[id]);
    word.phrase_node =
        word.table_word == kNone ? kNone : table_->child(MeteorTable::kRoot, word.table_word);
    word.is_function = table_->is_function_word(word.table_word);
    word.synset_begin = static_cast<std::uint32_t>(synsets_.size());
    for (const std::uint32_t synset : table_->synsets(texts[id])) {
      synsets_.push_back(synset);
      word.synset_bits |= synset_bit(synset);
    }
    word.synset_end = static_cast<std::uint32_t>(synsets_.size());
    lexicon_.push_back(word);
  }
}

void MeteorCaptions::find_phrases(unsigned threads) {
  const unsigned workers = worker_count(threads, size());
  std::vector<std::vector<Phrase>> found(workers);
  std::vector<std::uint64_t> counts(size(), 0);
  parallel_shares(size(), workers, [&](std::size_t begin, std::size_t end, unsigned worker) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t before = found[worker].size();
      const std::span<const std::uint32_t> caption = (*this)[i];
      for (std::size_t start = 0; start < caption.size(); ++start) {
        std::uint32_t node = lexicon_[caption[start]].phrase_node;
        for (std::size_t next = start + 1; node != kNone; ++next) {
          if (table_->has_paraphrases(node)) {
            found[worker].push_back({static_cast<std::uint32_t>(start),
                                     static_cast<std::uint32_t>(next - start), node});
          }
          if (next == caption.size()) break;
          const std::uint32_t word = lexicon_[caption[next]].table_word;
          node = word == kNone ? kNone : table_->child(node, word);
        }
      }
      counts[i] = found[worker].size() - before;
    }
  });
  for (const auto& part : found) phrases_.insert(phrases_.end(), part.begin(), part.end());
  phrase_offsets_.reserve(size() + 1);
  for (const std::uint64_t count : counts)
    phrase_offsets_.push_back(phrase_offsets_.back() + count);
}

}  // namespace cidery
