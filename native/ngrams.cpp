#include "ngrams.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "compiler.hpp"
#include "parallel.hpp"

namespace cidery {
namespace {

constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

std::uint64_t make_key(std::uint32_t parent, std::uint32_t word) {
  return std::uint64_t{parent} << 32 | word;
}

/// Top bits choose the partition, bits below them the slot.
std::uint64_t mix(std::uint64_t key) {
  key *= 0x9E3779B97F4A7C15u;
  key ^= key >> 29;
  return key * 0xBF58476D1CE4E5B9u;
}

/// Partitions small enough that each one's table stays in the cache while it is filled.
unsigned partition_bits_for(std::size_t words) {
  constexpr std::size_t kPartitionWords = 1 << 14;
  return std::min(10u, static_cast<unsigned>(std::bit_width(words / kPartitionWords)));
}

std::size_t partition_of(std::uint64_t hash, unsigned bits) {
  return bits == 0 ? 0 : hash >> (64 - bits);
}

}  // namespace

NgramIndex::NgramIndex(std::shared_ptr<const Captions> captions,
                       std::vector<std::uint64_t> image_offsets, unsigned order, unsigned threads)
    : captions_(std::move(captions)), image_offsets_(std::move(image_offsets)), order_(order) {
  if (order_ < 1 || order_ > kMaxOrder)
    throw std::invalid_argument("the n-gram order must be 1 to 8");
  if (image_offsets_.empty() || image_offsets_.front() != 0 ||
      image_offsets_.back() != captions_->size()) {
    throw std::invalid_argument("the image offsets must cover all captions");
  }
  for (std::size_t i = 1; i < image_offsets_.size(); ++i) {
    if (image_offsets_[i] < image_offsets_[i - 1])
      throw std::invalid_argument("the image offsets must ascend");
  }
  if (captions_->words.size() >= kNone) throw std::invalid_argument("more than four billion words");
  constexpr std::size_t kWorthAThread = 4096;  // words
  const unsigned workers = worker_count(threads, captions_->words.size() / kWorthAThread);
  levels_.resize(order_);
  count_words();
  Arena arena(captions_->words.size() * sizeof(Occurrence) * 5 / 4);
  std::vector<Batches> batches(workers);
  const std::size_t partitions = std::size_t{1} << partition_bits_for(captions_->words.size());
  for (Batches& batch : batches) batch.resize(partitions, Batch(ArenaAllocator<Occurrence>(arena)));
  for (unsigned n = 2; n <= order_; ++n) fill_level(n, workers, batches);
}

std::span<const std::uint32_t> NgramIndex::ids(unsigned n, std::size_t caption) const {
  const auto words = (*captions_)[caption];
  if (words.size() < n) return {};
  if (n == 1) return words;
  return std::span(levels_[n - 1].ids).subspan(captions_->offsets[caption], words.size() - n + 1);
}

void NgramIndex::count_words() {
  auto& frequency = levels_[0].frequency;
  frequency.assign(captions_->vocabulary->size(), 0);
  std::vector<std::uint32_t> last_image(frequency.size(), kNone);
  for (std::uint32_t image = 0; image < images(); ++image) {
    const std::uint64_t begin = captions_->offsets[image_offsets_[image]];
    const std::uint64_t end = captions_->offsets[image_offsets_[image + 1]];
    for (std::uint64_t position = begin; position < end; ++position) {
      const std::uint32_t word = captions_->words[position];
      if (last_image[word] == image) continue;
      last_image[word] = image;
      ++frequency[word];
    }
  }
}

void NgramIndex::fill_level(unsigned n, unsigned workers, std::vector<Batches>& batches) {
  Level& level = levels_[n - 1];
  const std::vector<std::uint32_t>& parents = n == 2 ? captions_->words : levels_[n - 2].ids;
  const std::size_t positions = captions_->words.size();
  level.ids.assign(positions, kNone);
  level.partition_bits = partition_bits_for(positions);
  const std::size_t partitions = std::size_t{1} << level.partition_bits;
  level.partitions.resize(partitions);

  for (Batches& batch : batches) {
    for (Batch& occurrences : batch) {
      occurrences.clear();
      occurrences.reserve(positions / workers / partitions * 9 / 8 + 64);
    }
  }
  parallel_shares(images(), workers, [&](std::size_t begin, std::size_t end, unsigned worker) {
    Batches& mine = batches[worker];
    for (std::size_t image = begin; image < end; ++image) {
      for (std::uint64_t caption = image_offsets_[image]; caption < image_offsets_[image + 1];
           ++caption) {
        const std::uint64_t stop = captions_->offsets[caption + 1];
        for (std::uint64_t at = captions_->offsets[caption]; at + n <= stop; ++at) {
          const std::uint64_t key = make_key(parents[at], captions_->words[at + n - 1]);
          mine[partition_of(mix(key), level.partition_bits)].push_back(
              {key, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(image)});
        }
      }
    }
  });

  std::vector<std::size_t> sizes(partitions);
  std::size_t all = 0;
  for (std::size_t p = 0; p < partitions; ++p) {
    std::size_t occurrences = 0;
    for (const Batches& batch : batches) occurrences += batch[p].size();
    // Few word pairs stand once, most longer n-grams do: a table that need not grow is filled in
    // half the time.
    const std::size_t room = n == 2 ? occurrences / 4 : occurrences;
    sizes[p] = std::bit_ceil(std::max<std::size_t>(16, room));
    all += sizes[p];
  }
  level.arena = std::make_unique<Arena>(all * sizeof(Slot));
  parallel_shares(partitions, worker_count(workers, partitions),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    std::vector<const Batch*> in_order(workers);
                    for (std::size_t p = begin; p < end; ++p) {
                      for (unsigned worker = 0; worker < workers; ++worker)
                        in_order[worker] = &batches[worker][p];
                      level.partitions[p].allocate(sizes[p], *level.arena);
                      fill_partition(level.partitions[p], static_cast<unsigned>(p),
                                     level.partition_bits, *level.arena, in_order, level.ids);
                    }
                  });

  std::size_t longest = 0;
  for (const auto& partition : level.partitions)
    longest = std::max(longest, partition.frequency.size());
  if ((longest << level.partition_bits) >= kNone)
    throw std::invalid_argument("too many different n-grams");
  level.frequency.assign(longest << level.partition_bits, 0);
  for (std::size_t p = 0; p < partitions; ++p) {
    auto& local = level.partitions[p].frequency;
    for (std::size_t i = 0; i < local.size(); ++i)
      level.frequency[i << level.partition_bits | p] = local[i];
    local = {};
  }
}

void NgramIndex::Partition::allocate(std::size_t size, Arena& arena) {
  slots = arena.take<Slot>(size);
  std::uninitialized_fill_n(slots, size, Slot{kEmpty, 0, 0});
  mask = size - 1;
}

void NgramIndex::fill_partition(Partition& partition, unsigned number, unsigned bits, Arena& arena,
                                std::span<const Batch* const> batches,
                                std::vector<std::uint32_t>& ids) {
  const auto slot_of = [&partition](std::uint64_t key) {
    Slot* const slots = partition.slots;
    std::size_t slot = mix(key) & partition.mask;
    while (slots[slot].key != key && slots[slot].key != kEmpty) slot = (slot + 1) & partition.mask;
    return &slots[slot];
  };
  std::uint32_t count = 0;
  for (const auto* batch : batches) {
    for (const Occurrence& occurrence : *batch) {
      Slot* slot = slot_of(occurrence.key);
      if (slot->key == kEmpty) {
        *slot = {occurrence.key, count << bits | number, occurrence.image};
        partition.frequency.push_back(1);
        ids[occurrence.position] = slot->id;
        if (++count * 3 > (partition.mask + 1) * 2) {
          const std::size_t size = partition.mask + 1;
          const Slot* const old = partition.slots;
          partition.allocate(size * 2, arena);
          for (std::size_t i = 0; i < size; ++i) {
            if (old[i].key != kEmpty) *slot_of(old[i].key) = old[i];
          }
        }
        continue;
      }
      if (slot->last_image != occurrence.image) {
        slot->last_image = occurrence.image;
        ++partition.frequency[slot->id >> bits];
      }
      ids[occurrence.position] = slot->id;
    }
  }
}

std::uint32_t NgramIndex::find(unsigned n, std::uint32_t parent, std::uint32_t word) const {
  const Level& level = levels_[n - 1];
  const std::uint64_t key = make_key(parent, word);
  const std::uint64_t hash = mix(key);
  const Partition& partition = level.partitions[partition_of(hash, level.partition_bits)];
  const Slot* const slots = partition.slots;
  std::size_t slot = hash & partition.mask;
  while (slots[slot].key != kEmpty) {
    if (slots[slot].key == key) return slots[slot].id;
    slot = (slot + 1) & partition.mask;
  }
  return kNone;
}

void NgramIndex::prefetch(unsigned n, std::uint32_t parent, std::uint32_t word) const {
  const Level& level = levels_[n - 1];
  const std::uint64_t hash = mix(make_key(parent, word));
  const Partition& partition = level.partitions[partition_of(hash, level.partition_bits)];
  prefetch_memory(&partition.slots[hash & partition.mask]);
}

std::vector<NgramIndex::Entry> NgramIndex::entries(unsigned n) const {
  std::vector<Entry> entries;
  for (const auto& partition : levels_[n - 1].partitions) {
    for (std::size_t i = 0; i <= partition.mask; ++i) {
      const Slot& slot = partition.slots[i];
      if (slot.key == kEmpty) continue;
      entries.push_back({slot.id, static_cast<std::uint32_t>(slot.key >> 32),
                         static_cast<std::uint32_t>(slot.key & 0xFFFFFFFFu)});
    }
  }
  return entries;
}

}  // namespace cidery
