#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "compiler.hpp"

namespace cidery {

/// Memory that is given out piece by piece and freed as a whole, from any thread.
///
/// It is taken from the system in few large blocks, on huge pages where the system has them: page
/// by page, clearing it would take a quarter of the time of counting n-grams, and looking things up
/// in it would wait for the addresses of pages.
class Arena {
 public:
  /// `expected` bytes will be asked for, more or less.
  explicit Arena(std::size_t expected) : expected_(std::max<std::size_t>(expected, 4096)) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (const Block& block : blocks_) free_pages(block.begin, block.size);
  }

  /// Memory for `count` values of T, not cleared.
  template <class T>
  T* take(std::size_t count) {
    const std::size_t size = (count * sizeof(T) + 63) / 64 * 64;
    const std::lock_guard lock(mutex_);
    if (blocks_.empty() || blocks_.back().size - used_ < size) {
      const std::size_t wanted = std::max(size, blocks_.empty() ? expected_ : expected_ / 4);
      blocks_.reserve(blocks_.size() + 1);
      const std::size_t rounded = round_to_pages(wanted);
      blocks_.push_back({allocate_pages(rounded), rounded});
      used_ = 0;
    }
    void* const begin = static_cast<std::byte*>(blocks_.back().begin) + used_;
    used_ += size;
    return static_cast<T*>(begin);
  }

 private:
  struct Block {
    void* begin;
    std::size_t size;
  };
  std::mutex mutex_;
  std::size_t expected_;
  std::size_t used_ = 0;
  std::vector<Block> blocks_;
};

/// Lets a std::vector take its memory from an arena.
template <class T>
struct ArenaAllocator {
  using value_type = T;

  explicit ArenaAllocator(Arena& from) : arena(&from) {}
  template <class Other>
  ArenaAllocator(const ArenaAllocator<Other>& other) : arena(other.arena) {}

  T* allocate(std::size_t count) { return arena->take<T>(count); }
  void deallocate(T*, std::size_t) {}
  template <class Other>
  bool operator==(const ArenaAllocator<Other>& other) const {
    return arena == other.arena;
  }

  Arena* arena;
};

}  // namespace cidery
