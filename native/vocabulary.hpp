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

  std::uint32_t size() const { return static_cast<std::uint32_t>(hashes_.size()); }
  std::string_view operator[](std::uint32_t id) const {
    return std::string_view(bytes_).substr(ends_[id], ends_[id + 1] - ends_[id]);
  }

 private:
  std::size_t slot_of(std::string_view word, std::uint32_t hash) const;
  void grow();

  std::string bytes_;
  std::vector<std::uint64_t> ends_;    // word i is bytes_[ends_[i], ends_[i + 1])
  std::vector<std::uint32_t> hashes_;  // by id: spares most string comparisons and all rehashing
  std::vector<std::uint32_t>
      slots_;  // open addressing: id or kNone; a power of two, at most half full
};

/// For each word of `from`, its id in `to`; words unknown there get ids from to.size() on, in
/// order.
std::vector<std::uint32_t> translate(const Vocabulary& from, const Vocabulary& to);

}  // namespace cidery
