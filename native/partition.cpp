#include "partition.hpp"

#include <stdexcept>

namespace cidery {

std::vector<std::uint64_t> hash_texts(std::span<const std::uint8_t> bytes,
                                      std::span<const std::int64_t> offsets) {
  std::vector<std::uint64_t> hashes;
  if (offsets.empty()) return hashes;
  hashes.reserve(offsets.size() - 1);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t begin = offsets[i];
    const std::int64_t end = offsets[i + 1];
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(bytes.size()))
      throw std::invalid_argument("the offsets must ascend and stay within the bytes");
    std::uint64_t hash = 0xCBF29CE484222325u;
    for (std::int64_t at = begin; at < end; ++at)
      hash = (hash ^ bytes[static_cast<std::size_t>(at)]) * 0x100000001B3u;
    hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;  // the end of SplitMix64
    hash = (hash ^ hash >> 27) * 0x94D049BB133111EBu;
    hashes.push_back(hash ^ hash >> 31);
  }
  return hashes;
}

}  // namespace cidery
