#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cidery {

/// A number for each text, the same on every machine and in every version: FNV-1a, mixed so that
/// all its bits depend on all of the text. Text i is bytes[offsets[i], offsets[i + 1]).
std::vector<std::uint64_t> hash_texts(std::span<const std::uint8_t> bytes,
                                      std::span<const std::int64_t> offsets);

}  // namespace cidery
