#include "partition.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace cidery {

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
  hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;  // the end of SplitMix64
  hash = (hash ^ hash >> 27) * 0x94D049BB133111EBu;
  return hash ^ hash >> 31;
}

std::vector<std::uint64_t> hash_texts(std::span<const std::uint8_t> bytes,
                                      std::span<const std::int64_t> offsets) {
  std::vector<std::uint64_t> hashes;
  if (offsets.empty()) return hashes;
  hashes.reserve(offsets.size() - 1);
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t begin = offsets[i];
    const std::int64_t end = offsets[i + 1];
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(bytes.size()))
      throw std::invalid_argument("the offsets must ascend and stay within the bytes");
    hashes.push_back(hash_text(
        all.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))));
  }
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

}  // namespace cidery
