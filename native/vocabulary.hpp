#pragma once

#include <algorithm>
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

  /// The word's id, added if new.
  std::uint32_t intern(std::string_view word) {
    const Head head = head_of(word);
    const std::size_t at = slot_of(head, hash_of(head, word), word);
    return slots_[at].id != kNone ? slots_[at].id : add(head, at, word);
  }
  /// The word's id, or kNone.
  std::uint32_t find(std::string_view word) const;

  std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size() - 1); }
  std::string_view operator[](std::uint32_t id) const {
    return std::string_view(bytes_).substr(ends_[id], ends_[id + 1] - ends_[id]);
  }

 private:
  /// A word's length and first eight bytes: for most words that is the whole of it.
  struct Head {
    std::uint64_t bytes;
    std::uint64_t length;
    bool operator==(const Head&) const = default;
  };
  struct Slot {
    Head head;
    std::uint32_t id = kNone;
  };
  static constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;

  template <class Block>
  static std::uint64_t load(const char* data) {
    Block block;
    std::memcpy(&block, data, sizeof block);
    return block;
  }
  static Head head_of(std::string_view word) {
    const char* data = word.data();
    const std::size_t size = word.size();
    // Two overlapping loads cover 4 to 8 bytes without a loop; with the length they tell such words
    // apart.
    if (size >= 8) return {load<std::uint64_t>(data), size};
    if (size >= 4)
      return {load<std::uint32_t>(data) << 32 | load<std::uint32_t>(data + size - 4), size};
    if (size >= 2)
      return {load<std::uint16_t>(data) << 16 | load<std::uint16_t>(data + size - 2), size};
    return {size == 1 ? load<std::uint8_t>(data) : 0, size};
  }
  static std::uint64_t hash_of(const Head& head, std::string_view word) {
    std::uint64_t hash = (head.bytes ^ head.length * kMultiplier) * kMultiplier;
    for (std::size_t at = 8; at < word.size(); at += 8) {
      hash ^= hash >> 32;
      hash =
          (hash ^ load<std::uint64_t>(word.data() + std::min(at, word.size() - 8))) * kMultiplier;
    }
    return hash >> 32;
  }
  std::size_t slot_of(const Head& head, std::uint64_t hash, std::string_view word) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    for (; slots_[at].id != kNone; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.head == head && (word.size() <= 8 || (*this)[slot.id] == word)) break;
    }
    return at;
  }
  std::uint32_t add(const Head& head, std::size_t at, std::string_view word);
  void grow();

  std::string bytes_;
  std::vector<std::uint64_t> ends_;  // word i is bytes_[ends_[i], ends_[i + 1])
  std::vector<Slot> slots_;          // open addressing; a power of two, at most half full
};

/// For each word of `from`, its id in `to`; words unknown there get ids from to.size() on, in
/// order.
std::vector<std::uint32_t> translate(const Vocabulary& from, const Vocabulary& to);

}  // namespace cidery
