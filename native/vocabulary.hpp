#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace cidery {

inline constexpr std::uint32_t kNone = 0xFFFFFFFFu;

/// Words and their dense ids, in order of first sight.
class Vocabulary {
 public:
  Vocabulary();

  /// Bytes that `intern_padded` may read behind a word's first one.
  static constexpr std::size_t kPadding = 16;

  /// The word's id, added if new.
  std::uint32_t intern(std::string_view word) { return intern(head_of(word), word); }
  /// The same for a word in a buffer that has kPadding bytes from its beginning on, whatever they
  /// are: nothing depends on its length but a mask.
  std::uint32_t intern_padded(std::string_view word) {
    if constexpr (std::endian::native != std::endian::little) return intern(word);
    const std::size_t size = std::min<std::size_t>(word.size(), kPadding);
    const Head head{load<std::uint64_t>(word.data()) & kMasks[size + 8],
                    load<std::uint64_t>(word.data() + 8) & kMasks[size], word.size()};
    return intern(head, word);
  }
  /// The word's id, or kNone.
  std::uint32_t find(std::string_view word) const;

  std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size() - 1); }
  std::string_view operator[](std::uint32_t id) const {
    return std::string_view(bytes_).substr(ends_[id], ends_[id + 1] - ends_[id]);
  }

 private:
  /// A word's length and first sixteen bytes: for nearly all words that is the whole of it.
  struct Head {
    std::uint64_t first, second;  // the bytes, and then 0
    std::uint64_t length;
    bool operator==(const Head&) const = default;
  };
  struct Slot {
    std::uint64_t first = 0, second = 0;
    std::uint32_t length = 0;  // its last bits are enough: longer words are compared
    std::uint32_t id = kNone;
  };
  static constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
  /// kMasks[8 + n] keeps the first n bytes of eight, all from n = 8 on, none below n = 1.
  static constexpr std::array<std::uint64_t, 25> kMasks = [] {
    std::array<std::uint64_t, 25> masks{};
    for (std::size_t n = 1; n <= 16; ++n)
      masks[8 + n] = n >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * n) - 1;
    return masks;
  }();

  std::uint32_t intern(const Head& head, std::string_view word) {
    const std::size_t at = slot_of(head, hash_of(head, word), word);
    return slots_[at].id != kNone ? slots_[at].id : add(head, at, word);
  }
  template <class Block>
  static std::uint64_t load(const char* data) {
    Block block;
    std::memcpy(&block, data, sizeof block);
    return block;
  }
  /// Up to eight bytes, and then 0, on processors that put the first byte last; on others, a number
  /// that is theirs alone among words of that size.
  static std::uint64_t load_some(const char* data, std::size_t size) {
    // Two loads, which may overlap, cover 4 to 8 bytes, or 2 to 4, without a loop.
    if (size >= 8) return load<std::uint64_t>(data);
    if (size >= 4) {
      return load<std::uint32_t>(data) | load<std::uint32_t>(data + size - 4) << 8 * (size - 4);
    }
    if (size >= 2) {
      return load<std::uint16_t>(data) | load<std::uint16_t>(data + size - 2) << 8 * (size - 2);
    }
    return size == 1 ? load<std::uint8_t>(data) : 0;
  }
  static Head head_of(std::string_view word) {
    const std::size_t size = word.size();
    return {load_some(word.data(), size), size > 8 ? load_some(word.data() + 8, size - 8) : 0,
            size};
  }
  static std::uint64_t hash_of(const Head& head, std::string_view word) {
    std::uint64_t hash = (head.first ^ (head.second + head.length) * kMultiplier) * kMultiplier;
    for (std::size_t at = 16; at < word.size(); at += 8) {
      hash ^= hash >> 32;
      hash =
          (hash ^ load<std::uint64_t>(word.data() + std::min(at, word.size() - 8))) * kMultiplier;
    }
    return hash >> 32;
  }
  std::size_t slot_of(const Head& head, std::uint64_t hash, std::string_view word) const {
    std::size_t at = hash & mask_;
    for (; slots_[at].id != kNone; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.first == head.first && slot.second == head.second &&
          slot.length == static_cast<std::uint32_t>(head.length) &&
          (head.length <= 16 || (*this)[slot.id] == word)) {
        break;
      }
    }
    return at;
  }
  std::uint32_t add(const Head& head, std::size_t at, std::string_view word);
  void grow();

  std::string bytes_;
  std::vector<std::uint64_t> ends_;  // word i is bytes_[ends_[i], ends_[i + 1])
  std::vector<Slot> slots_;          // open addressing; a power of two, at most half full
  std::size_t mask_;                 // one less than the slots
};

/// For each word of `from`, its id in `to`; words unknown there get ids from to.size() on, in
/// order.
std::vector<std::uint32_t> translate(const Vocabulary& from, const Vocabulary& to);

}  // namespace cidery
