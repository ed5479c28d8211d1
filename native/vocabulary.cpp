#include "vocabulary.hpp"

#include <cstring>
#include <stdexcept>

namespace cidery {
namespace {

/// A multiplicative hash over eight bytes at a time: words are short, so its cost is one or two
/// steps.
std::uint32_t hash_word(std::string_view word) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
  std::uint64_t hash = word.size() * kMultiplier;
  const char* data = word.data();
  std::size_t left = word.size();
  while (left > 8) {
    std::uint64_t block;
    std::memcpy(&block, data, 8);
    hash = (hash ^ block) * kMultiplier;
    hash ^= hash >> 32;
    data += 8;
    left -= 8;
  }
  std::uint64_t block = 0;
  std::memcpy(&block, data, left);
  hash = (hash ^ block) * kMultiplier;
  return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace

Vocabulary::Vocabulary() : ends_{0}, slots_(1024, kNone) {}

std::size_t Vocabulary::slot_of(std::string_view word, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != kNone) {
    const std::uint32_t id = slots_[slot];
    if (hashes_[id] == hash && (*this)[id] == word) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

void Vocabulary::grow() {
  std::vector<std::uint32_t> slots(slots_.size() * 2, kNone);
  const std::size_t mask = slots.size() - 1;
  for (std::uint32_t id = 0; id < size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (slots[slot] != kNone) slot = (slot + 1) & mask;
    slots[slot] = id;
  }
  slots_.swap(slots);
}

std::uint32_t Vocabulary::intern(std::string_view word) {
  const std::uint32_t hash = hash_word(word);
  std::size_t slot = slot_of(word, hash);
  if (slots_[slot] != kNone) return slots_[slot];
  if (size() >= kNone / 2) throw std::invalid_argument("more than two billion different words");
  const std::uint32_t id = size();
  bytes_.append(word);
  ends_.push_back(bytes_.size());
  hashes_.push_back(hash);
  slots_[slot] = id;
  if (hashes_.size() * 2 > slots_.size()) grow();
  return id;
}

std::uint32_t Vocabulary::find(std::string_view word) const {
  return slots_[slot_of(word, hash_word(word))];
}

std::vector<std::uint32_t> translate(const Vocabulary& from, const Vocabulary& to) {
  std::vector<std::uint32_t> ids(from.size());
  std::uint32_t next = to.size();
  for (std::uint32_t id = 0; id < from.size(); ++id) {
    const std::uint32_t known = to.find(from[id]);
    ids[id] = known == kNone ? next++ : known;
  }
  return ids;
}

}  // namespace cidery
