#include "vocabulary.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace cidery {
namespace {

constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;

template <class Block>
std::uint64_t load(const char* data) {
  Block block;
  std::memcpy(&block, data, sizeof block);
  return block;
}

}  // namespace

Vocabulary::Vocabulary() : ends_{0}, slots_(1024) {}

Vocabulary::Head Vocabulary::head_of(std::string_view word) {
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

std::uint64_t Vocabulary::hash_of(const Head& head, std::string_view word) {
  std::uint64_t hash = (head.bytes ^ head.length * kMultiplier) * kMultiplier;
  for (std::size_t at = 8; at < word.size(); at += 8) {
    hash ^= hash >> 32;
    hash = (hash ^ load<std::uint64_t>(word.data() + std::min(at, word.size() - 8))) * kMultiplier;
  }
  return hash >> 32;
}

std::size_t Vocabulary::slot_of(const Head& head, std::uint64_t hash, std::string_view word) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].id != kNone; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.head == head && (word.size() <= 8 || (*this)[slot.id] == word)) break;
  }
  return at;
}

void Vocabulary::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNone) continue;
    std::size_t at = hash_of(slot.head, (*this)[slot.id]) & mask;
    while (slots_[at].id != kNone) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

std::uint32_t Vocabulary::intern(std::string_view word) {
  const Head head = head_of(word);
  Slot& slot = slots_[slot_of(head, hash_of(head, word), word)];
  if (slot.id != kNone) return slot.id;
  if (size() >= kNone / 2) throw std::invalid_argument("more than two billion different words");
  const std::uint32_t id = size();
  slot = {head, id};
  bytes_.append(word);
  ends_.push_back(bytes_.size());
  if (std::size_t{size()} * 2 > slots_.size()) grow();
  return id;
}

std::uint32_t Vocabulary::find(std::string_view word) const {
  const Head head = head_of(word);
  return slots_[slot_of(head, hash_of(head, word), word)].id;
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
