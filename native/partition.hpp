#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ngrams.hpp"

namespace cidery {

/// A number for a text, the same on every machine and in every version: FNV-1a, mixed so that all
/// its bits depend on all of the text.
std::uint64_t hash_text(std::string_view text);

/// Views of texts that lie one after another; text i is bytes[offsets[i], offsets[i + 1]).
std::vector<std::string_view> text_views(std::span<const std::uint8_t> bytes,
                                         std::span<const std::int64_t> offsets);

/// The hashes of such texts.
std::vector<std::uint64_t> hash_texts(std::span<const std::uint8_t> bytes,
                                      std::span<const std::int64_t> offsets);

/// The n-grams of one order, by shard; in each shard those of a single image come first.
struct ShardedNgrams {
  std::vector<std::uint32_t> words;   ///< [n-grams, n]
  std::vector<std::uint32_t> counts;  ///< of the n-grams of several images
  std::vector<std::int64_t> starts;   ///< 2 * shards + 1: where singles and others begin
};

/// The n-grams of orders 2 … of an index, sharded by the hashes of their words.
std::vector<ShardedNgrams> shard_ngrams(const NgramIndex& index,
                                        std::span<const std::uint64_t> hashes,
                                        std::uint32_t shards);

/// The n-grams of one order that a part wrote into a shard.
struct ShardPart {
  std::span<const std::uint16_t> words;       ///< [n-grams, n], numbers of the part's own words
  std::span<const std::uint32_t> wide_words;  ///< the same, where these need more than 16 bits
  std::span<const std::uint32_t> ranks;       ///< by such a number: the word's rank in the whole,
                                              ///< or kNone
  std::span<const std::uint32_t> counts;  ///< of the last n-grams; those before stand in one image
};

/// N-grams and in how many images each is.
struct CountedNgrams {
  std::vector<std::uint32_t> words;  ///< [n-grams, n] ranks, sorted
  std::vector<std::uint32_t> counts;
};

/// Adds up a shard of all parts. N-grams with a word that has no rank, and those of fewer than
/// `min_count` images, are left out. Ranks lie below `word_count`.
CountedNgrams add_up_shard(std::span<const ShardPart> parts, unsigned n, std::uint32_t word_count,
                           std::uint32_t min_count);

}  // namespace cidery
