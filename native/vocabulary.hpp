#pragma once

#include <cstdint>
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
  std::uint32_t intern(std::string_view word);
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
  static Head head_of(std::string_view word);
  static std::uint64_t hash_of(const Head& head, std::string_view word);
  std::size_t slot_of(const Head& head, std::uint64_t hash, std::string_view word) const;
  void grow();

  std::string bytes_;
  std::vector<std::uint64_t> ends_;  // word i is bytes_[ends_[i], ends_[i + 1])
  std::vector<Slot> slots_;          // open addressing; a power of two, at most half full
};

/// For each word of `from`, its id in `to`; words unknown there get ids from to.size() on, in
/// order.
std::vector<std::uint32_t> translate(const Vocabulary& from, const Vocabulary& to);

}  // namespace cidery
