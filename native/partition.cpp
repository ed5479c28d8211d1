#include "partition.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <stdexcept>

namespace cidery {
namespace {

/// N-grams of one order, each packed into `Columns` numbers, whose order is that of their words.
template <std::size_t Columns>
class ShardSum {
 public:
  ShardSum(unsigned n, std::uint32_t word_count)
      : n_(n), word_count_(word_count), bits_(static_cast<unsigned>(std::bit_width(word_count))) {}

  template <class Word>
  void add(std::span<const Word> words, const ShardPart& part) {
    const std::size_t rows = words.size() / n_;
    if (words.size() % n_ != 0 || part.counts.size() > rows)
      throw std::invalid_argument("a shard's n-grams and counts do not fit");
    const std::size_t singles = rows - part.counts.size();
    for (std::size_t row = 0; row < rows; ++row) {
      Key key{};
      if (!pack(words.subspan(row * n_, n_), part.ranks, key)) continue;
      if (row < singles) {
        singles_.push_back(key);
      } else {
        several_.push_back({key, part.counts[row - singles]});
      }
    }
  }

  CountedNgrams finish(std::uint32_t min_count) {
    sort_singles();
    std::sort(several_.begin(), several_.end(),
              [](const Counted& a, const Counted& b) { return a.key < b.key; });
    CountedNgrams found;
    std::size_t single = 0, other = 0;
    while (single < singles_.size() || other < several_.size()) {
      const bool takes_single =
          other == several_.size() ||
          (single < singles_.size() && singles_[single] < several_[other].key);
      const Key key = takes_single ? singles_[single] : several_[other].key;
      std::uint32_t count = 0;
      for (; single < singles_.size() && singles_[single] == key; ++single) ++count;
      for (; other < several_.size() && several_[other].key == key; ++other)
        count += several_[other].count;
      if (count < min_count) continue;
      unpack(key, found.words);
      found.counts.push_back(count);
    }
    return found;
  }

 private:
  using Key = std::array<std::uint64_t, Columns>;
  struct Counted {
    Key key;
    std::uint32_t count;
  };

  std::size_t words_per_column() const { return (n_ + Columns - 1) / Columns; }

  template <class Word>
  bool pack(std::span<const Word> words, std::span<const std::uint32_t> ranks, Key& key) const {
    for (std::size_t i = 0; i < n_; ++i) {
      if (words[i] >= ranks.size()) throw std::invalid_argument("a shard has an unknown word");
      const std::uint32_t rank = ranks[words[i]];
      if (rank == kNone) return false;
      if (rank >= word_count_) throw std::invalid_argument("a word's rank is out of range");
      std::uint64_t& column = key[i / words_per_column()];
      column = column << bits_ | rank;
    }
    return true;
  }

  void unpack(const Key& key, std::vector<std::uint32_t>& words) const {
    const std::size_t per = words_per_column();
    const std::uint64_t mask = (std::uint64_t{1} << bits_) - 1;
    for (std::size_t i = 0; i < n_; ++i) {
      const std::size_t last = std::min<std::size_t>(n_, (i / per + 1) * per) - 1;
      words.push_back(static_cast<std::uint32_t>(key[i / per] >> (bits_ * (last - i)) & mask));
    }
  }

  void sort_singles() {
    if constexpr (Columns > 1) {
      std::sort(singles_.begin(), singles_.end());
    } else {
      // Digit by digit, the lowest first.
      constexpr unsigned kDigit = 11;
      constexpr std::size_t kValues = std::size_t{1} << kDigit;
      std::vector<Key> other(singles_.size());
      for (unsigned shift = 0; shift < n_ * bits_; shift += kDigit) {
        const auto digit = [shift](const Key& key) { return key[0] >> shift & (kValues - 1); };
        std::array<std::size_t, kValues + 1> starts{};
        for (const Key& key : singles_) ++starts[digit(key) + 1];
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        for (const Key& key : singles_) other[starts[digit(key)]++] = key;
        singles_.swap(other);
      }
    }
  }

  unsigned n_;
  std::uint32_t word_count_;
  unsigned bits_;
  std::vector<Key> singles_;
  std::vector<Counted> several_;
};

template <std::size_t Columns>
CountedNgrams add_up(std::span<const ShardPart> parts, unsigned n, std::uint32_t word_count,
                     std::uint32_t min_count) {
  ShardSum<Columns> sum(n, word_count);
  for (const ShardPart& part : parts) {
    if (part.wide_words.empty()) {
      sum.add(part.words, part);
    } else {
      sum.add(part.wide_words, part);
    }
  }
  return sum.finish(min_count);
}

}  // namespace

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
  hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;  // the end of SplitMix64
  hash = (hash ^ hash >> 27) * 0x94D049BB133111EBu;
  return hash ^ hash >> 31;
}

std::vector<std::string_view> text_views(std::span<const std::uint8_t> bytes,
                                         std::span<const std::int64_t> offsets) {
  std::vector<std::string_view> views;
  if (offsets.empty()) return views;
  views.reserve(offsets.size() - 1);
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t begin = offsets[i];
    const std::int64_t end = offsets[i + 1];
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(bytes.size()))
      throw std::invalid_argument("the offsets must ascend and stay within the bytes");
    views.push_back(
        all.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  }
  return views;
}

std::vector<std::uint64_t> hash_texts(std::span<const std::uint8_t> bytes,
                                      std::span<const std::int64_t> offsets) {
  const auto views = text_views(bytes, offsets);
  std::vector<std::uint64_t> hashes(views.size());
  std::transform(views.begin(), views.end(), hashes.begin(), hash_text);
  return hashes;
}

std::vector<ShardedNgrams> shard_ngrams(const NgramIndex& index,
                                        std::span<const std::uint64_t> hashes,
                                        std::uint32_t shards) {
  if (shards == 0) throw std::invalid_argument("there must be a shard");
  if (hashes.size() != index.id_bound(1))
    throw std::invalid_argument("one hash per word is needed");
  std::vector<ShardedNgrams> orders;
  // By id of the order before: its words, and their hash.
  std::vector<std::uint32_t> spelled(hashes.size());
  std::iota(spelled.begin(), spelled.end(), 0u);
  std::vector<std::uint64_t> mixed(hashes.begin(), hashes.end());
  for (unsigned n = 2; n <= index.order(); ++n) {
    const auto entries = index.entries(n);
    const auto frequency = index.frequency(n);
    std::vector<std::uint32_t> longer(std::size_t{index.id_bound(n)} * n);
    std::vector<std::uint64_t> longer_mixed(index.id_bound(n));
    std::vector<std::uint32_t> groups(entries.size());
    ShardedNgrams found;
    found.starts.assign(2 * std::size_t{shards} + 1, 0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& entry = entries[i];
      const auto parent = spelled.begin() + static_cast<std::ptrdiff_t>(entry.parent * (n - 1ull));
      const auto place = longer.begin() + static_cast<std::ptrdiff_t>(entry.id * std::uint64_t{n});
      std::copy_n(parent, n - 1, place);
      place[n - 1] = entry.word;
      std::uint64_t hash = (mixed[entry.parent] ^ hashes[entry.word] >> 7) * 0x9E3779B97F4A7C15u +
                           hashes[entry.word];
      hash ^= hash >> 29;
      longer_mixed[entry.id] = hash;
      groups[i] =
          static_cast<std::uint32_t>((hash >> 8) % shards * 2 + (frequency[entry.id] > 1 ? 1 : 0));
      ++found.starts[groups[i] + std::size_t{1}];
    }
    std::partial_sum(found.starts.begin(), found.starts.end(), found.starts.begin());
    auto next = found.starts;
    found.words.resize(entries.size() * n);
    std::vector<std::uint32_t> counts(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto at = static_cast<std::size_t>(next[groups[i]]++);
      std::copy_n(longer.begin() + static_cast<std::ptrdiff_t>(entries[i].id * std::uint64_t{n}), n,
                  found.words.begin() + static_cast<std::ptrdiff_t>(at * n));
      counts[at] = frequency[entries[i].id];
    }
    for (const std::uint32_t count : counts) {
      if (count > 1) found.counts.push_back(count);
    }
    orders.push_back(std::move(found));
    spelled = std::move(longer);
    mixed = std::move(longer_mixed);
  }
  return orders;
}

CountedNgrams add_up_shard(std::span<const ShardPart> parts, unsigned n, std::uint32_t word_count,
                           std::uint32_t min_count) {
  if (n < 1 || n > NgramIndex::kMaxOrder) throw std::invalid_argument("the order is not 1 to 8");
  const auto bits = static_cast<unsigned>(std::bit_width(word_count));
  if (n * bits <= 64) return add_up<1>(parts, n, word_count, min_count);
  if ((n + 1) / 2 * bits <= 64) return add_up<2>(parts, n, word_count, min_count);
  return add_up<4>(parts, n, word_count, min_count);
}

}  // namespace cidery
