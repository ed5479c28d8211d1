#include "vocabulary.hpp"

#include <stdexcept>

namespace cidery {

Vocabulary::Vocabulary() : ends_{0}, slots_(1024), mask_(slots_.size() - 1) {}

void Vocabulary::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNone) continue;
    const std::string_view word = (*this)[slot.id];
    std::size_t at = hash_of(head_of(word), word) & mask_;
    while (slots_[at].id != kNone) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
}

std::uint32_t Vocabulary::add(const Head& head, std::size_t at, std::string_view word) {
  if (size() >= kNone / 2) throw std::invalid_argument("more than two billion different words");
  const std::uint32_t id = size();
  slots_[at] = {head.first, head.second, static_cast<std::uint32_t>(head.length), id};
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
