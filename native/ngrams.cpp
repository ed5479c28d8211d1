#include "ngrams.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "parallel.hpp"

namespace cidery {

/// Fills the tables of an index.
class NgramIndex::Builder {
 public:
  Builder(NgramIndex& index, unsigned workers)
      : captions_(*index.captions_), index_(index), workers_(workers), stride_(index.order_ + 1) {}

  /// Counts in how many images words are, and lists by table where n-grams begin.
  void share_out() {
    const std::size_t words = captions_.vocabulary->size();
    const std::size_t tables = std::bit_ceil(
        std::clamp<std::size_t>(captions_.words.size() / kTablePlaces, 1, kMostTables));
    index_.table_mask_ = static_cast<std::uint32_t>(tables - 1);
    std::vector<std::vector<std::uint32_t>> next(workers_), frequency(workers_);
    in_shares([&](std::size_t begin, std::size_t end, unsigned worker) {
      auto& mine = next[worker];
      auto& images = frequency[worker];
      mine.assign(tables, 0);
      images.assign(words, 0);
      std::vector<std::uint32_t> last_image(words, kNone);
      each_position(begin, end, [&](std::uint32_t at, std::uint32_t image, std::size_t behind) {
        const std::uint32_t word = captions_.words[at];
        if (behind != 0) ++mine[index_.table_of(word, captions_.words[at + 1])];
        images[word] += last_image[word] != image;
        last_image[word] = image;
      });
    });
    auto& total = index_.word_frequency_;
    total.assign(words, 0);
    index_.levels_[0].frequency = total;
    for (const auto& images : frequency) {
      for (std::size_t word = 0; word < words; ++word) total[word] += images[word];
    }
    if (index_.order_ == 1) return;
    std::uint32_t place = 0;
    for (std::size_t table = 0; table < tables; ++table) {
      index_.first_ids_.push_back(place);
      for (auto& mine : next) place += std::exchange(mine[table], place);
    }
    index_.first_ids_.push_back(place);
    const std::size_t bound = index_.first_ids_.back();
    arena_ = std::make_unique<Arena>(bound * stride_ * sizeof(std::uint32_t) + 64 +
                                     workers_ * (index_.order_ - 1) * (room() + 64));
    records_ = arena_->take<std::uint32_t>(bound * stride_);
    firsts_ = next;
    const std::uint32_t* const words_at = captions_.words.data();
    in_shares([&](std::size_t begin, std::size_t end, unsigned worker) {
      std::uint32_t* const mine = next[worker].data();
      const std::uint32_t mask = index_.table_mask_;
      const std::size_t stride = stride_;
      std::uint32_t* const records = records_;
      each_position(begin, end, [=](std::uint32_t at, std::uint32_t image, std::size_t behind) {
        if (behind == 0) return;
        const std::uint32_t* const here = words_at + at;
        std::uint32_t* const record = records + mine[table_of(here[0], here[1], mask)]++ * stride;
        record[0] = image;
        const std::size_t known = std::min(stride - 1, behind + 1);
        for (std::size_t i = 0; i < known; ++i) record[i + 1] = here[i];
        for (std::size_t i = known + 1; i < stride; ++i) record[i] = kNone;
      });
    });
  }

  /// Finds all n-grams: in the records, ids take the place of last words.
  void fill() {
    const std::size_t positions = captions_.words.size();
    const std::size_t bound = index_.first_ids_.back();
    const auto count = static_cast<std::uint32_t>(index_.first_ids_.size() - 1);
    index_.arena_ =
        std::make_unique<Arena>((index_.order_ - 1) * (positions * 4 + bound * (4 + 8 + 6) + 256));
    Arena& arena = *index_.arena_;
    for (unsigned n = 2; n <= index_.order_; ++n) {
      Level& level = index_.levels_[n - 1];
      level.ids = {arena.take<std::uint32_t>(positions), positions};
      level.frequency = {arena.take<std::uint32_t>(bound), bound};
      level.keys = {arena.take<std::uint64_t>(bound), bound};
      level.tables.resize(count);
    }
    // The largest first, so that no thread is left alone with it.
    std::vector<std::uint32_t> tables(count);
    std::iota(tables.begin(), tables.end(), 0u);
    std::stable_sort(tables.begin(), tables.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return size(a) > size(b); });
    std::atomic<std::size_t> next = 0;
    run_workers(workers_, [&](unsigned) {
      std::vector<Found*> found(index_.order_);
      for (unsigned n = 2; n <= index_.order_; ++n)
        found[n - 1] = arena_->take<Found>(room() / sizeof(Found));
      for (std::size_t i = next++; i < count; i = next++) fill_table(tables[i], found);
    });
  }

  /// Brings the ids from the records into the order of positions.
  void place_ids() {
    std::array<std::uint32_t*, kMaxOrder> ids;
    for (unsigned n = 2; n <= index_.order_; ++n) ids[n - 2] = index_.levels_[n - 1].ids.data();
    in_shares([&](std::size_t begin, std::size_t end, unsigned worker) {
      std::uint32_t* const mine = firsts_[worker].data();
      const std::uint32_t mask = index_.table_mask_;
      const std::uint32_t* const words_at = captions_.words.data();
      const std::size_t stride = stride_;
      const std::uint32_t* const records = records_;
      each_position(begin, end, [=](std::uint32_t at, std::uint32_t, std::size_t behind) {
        if (behind == 0) return;
        const std::uint32_t table = table_of(words_at[at], words_at[at + 1], mask);
        const std::uint32_t* const record = records + mine[table]++ * stride;
        for (std::size_t i = 2; i < stride; ++i) ids[i - 2][at] = record[i];
      });
    });
  }

 private:
  /// An n-gram of the table at hand.
  struct Found {
    std::uint64_t key;
    std::uint32_t images, last_image;
  };
  static constexpr std::uint32_t kBlock = 128;

  /// Where records of a block begin whose n-grams are being looked for.
  struct Block {
    std::array<std::uint32_t, kBlock> seen;   // the last n-gram that was found stood before
    std::array<std::uint32_t, kBlock> fresh;  // it is new, and so all longer ones are
    std::uint32_t seen_count = 0;
    std::uint32_t fresh_count = 0;
  };

  /// What stands at so many places makes a table: with its n-grams it stays in the cache.
  static constexpr std::size_t kTablePlaces = std::size_t{1} << 12;
  static constexpr std::size_t kMostTables = std::size_t{1} << 11;

  std::uint32_t size(std::uint32_t table) const {
    return index_.first_ids_[table + 1] - index_.first_ids_[table];
  }
  /// The bytes that a table's n-grams of one order may need.
  std::size_t room() const {
    std::uint32_t most = 0;
    for (std::uint32_t table = 0; table + 1 < index_.first_ids_.size(); ++table)
      most = std::max(most, size(table));
    return (std::size_t{most} + 1) * sizeof(Found);
  }

  /// Calls work(first image, last image, worker) on shares of the images.
  template <class Work>
  void in_shares(const Work& work) const {
    parallel_shares(index_.images(), workers_, work);
  }

  /// Calls visit(position, image, words behind it in its caption).
  template <class Visit>
  void each_position(std::size_t begin, std::size_t end, const Visit& visit) const {
    for (std::size_t image = begin; image < end; ++image) {
      for (std::uint64_t caption = index_.image_offsets_[image];
           caption < index_.image_offsets_[image + 1]; ++caption) {
        const std::uint64_t stop = captions_.offsets[caption + 1];
        for (std::uint64_t at = captions_.offsets[caption]; at < stop; ++at)
          visit(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(image), stop - at - 1);
      }
    }
  }

  void fill_table(std::uint32_t table, const std::vector<Found*>& found) {
    const std::uint32_t first = index_.first_ids_[table];
    const std::uint32_t last = index_.first_ids_[table + 1];
    for (unsigned n = 2; n <= index_.order_; ++n) {
      // Most pairs of words stand at several places, longer n-grams at few.
      make_slots(index_.levels_[n - 1].tables[table],
                 n == 2 ? size(table) : std::size_t{2} * size(table));
      found[n - 1][0] = {~std::uint64_t{0}, 0, 0};  // of no n-gram: no word has the id kNone
    }
    Block block;
    const auto stride = static_cast<std::uint32_t>(stride_);
    for (std::uint32_t begin = first; begin < last; begin += kBlock) {
      block.seen_count = std::min(kBlock, last - begin);
      block.fresh_count = 0;
      for (std::uint32_t i = 0; i < block.seen_count; ++i) block.seen[i] = i * stride;
      for (unsigned n = 2; n <= index_.order_; ++n) {
        Table& within = index_.levels_[n - 1].tables[table];
        if ((within.used + kBlock) * std::uint64_t{2} > within.mask) grow(within, found[n - 1]);
        std::uint32_t* const records = records_ + begin * stride_;
        if (n == index_.order_) {
          lengthen<true>(n, within, first, records, found[n - 1], block);
        } else {
          lengthen<false>(n, within, first, records, found[n - 1], block);
        }
      }
    }
    for (unsigned n = 2; n <= index_.order_; ++n) {
      Level& level = index_.levels_[n - 1];
      for (std::uint32_t i = 0; i < level.tables[table].used; ++i) {
        level.keys[first + i] = found[n - 1][i + 1].key;
        level.frequency[first + i] = found[n - 1][i + 1].images;
      }
    }
  }

  void make_slots(Table& table, std::size_t wanted) {
    const std::size_t slots = std::bit_ceil(std::max<std::size_t>(512, wanted));
    table.slots = index_.arena_->take<std::uint32_t>(slots);
    table.mask = static_cast<std::uint32_t>(slots - 1);
    table.shift = 64 - static_cast<unsigned>(std::countr_zero(slots));
    std::fill_n(table.slots, slots, 0u);
  }

  void grow(Table& table, const Found* found) {
    make_slots(table, (std::size_t{table.mask} + 1) * 2);
    for (std::uint32_t number = 1; number <= table.used; ++number) {
      std::size_t at = table.place(found[number].key);
      while (table.slots[at] != 0) at = (at + 1) & table.mask;
      table.slots[at] = number;
    }
  }

  /// Finds the n-grams of order n of some records; leaves in the block those that go on.
  template <bool kLast>
  static void lengthen(unsigned n, Table& table, std::uint32_t first_id, std::uint32_t* records,
                       Found* found, Block& block) {
    const Table within = table;
    const std::uint32_t before_first = first_id - 1;
    std::uint32_t used = within.used;
    std::uint32_t seen_count = 0;
    std::uint32_t fresh_count = 0;
    const auto insert = [&](std::uint32_t* record, std::uint64_t key, std::size_t at) {
      within.slots[at] = ++used;
      found[used] = {key, 1, record[0]};
      record[n] = before_first + used;
    };
    for (std::uint32_t i = 0; i < block.fresh_count; ++i) {
      const std::uint32_t place = block.fresh[i];
      std::uint32_t* const record = records + place;
      const std::uint64_t key = join(record[n - 1], record[n]);
      std::size_t at = within.place(key);
      while (within.slots[at] != 0) at = (at + 1) & within.mask;
      insert(record, key, at);
      if constexpr (!kLast) {
        block.fresh[fresh_count] = place;
        fresh_count += record[n + 1] != kNone;
      }
    }
    for (std::uint32_t i = 0; i < block.seen_count; ++i) {
      const std::uint32_t place = block.seen[i];
      std::uint32_t* const record = records + place;
      const std::uint64_t key = join(record[n - 1], record[n]);
      std::size_t at = within.place(key);
      std::uint32_t number = within.slots[at];
      while (found[number].key != key && number != 0) {
        at = (at + 1) & within.mask;
        number = within.slots[at];
      }
      if (number == 0) {
        insert(record, key, at);
        if constexpr (!kLast) {
          block.fresh[fresh_count] = place;
          fresh_count += record[n + 1] != kNone;
        }
      } else {
        found[number].images += found[number].last_image != record[0];
        found[number].last_image = record[0];
        record[n] = before_first + number;
        if constexpr (!kLast) {
          block.seen[seen_count] = place;
          seen_count += record[n + 1] != kNone;
        }
      }
    }
    block.seen_count = seen_count;
    block.fresh_count = fresh_count;
    table.used = used;
  }

  const Captions& captions_;
  NgramIndex& index_;
  const unsigned workers_;
  const std::size_t stride_;
  std::unique_ptr<Arena> arena_;
  // By table, in order of position, where a word is followed by another: the image, the word, and
  // the words behind it as far as n-grams reach, or kNone.
  std::uint32_t* records_ = nullptr;
  std::vector<std::vector<std::uint32_t>> firsts_;  // by worker and table: its first record
};

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
  Builder builder(*this, workers);
  builder.share_out();
  if (order_ == 1) return;
  builder.fill();
  builder.place_ids();
}

std::span<const std::uint32_t> NgramIndex::ids(unsigned n, std::size_t caption) const {
  const auto words = (*captions_)[caption];
  if (words.size() < n) return {};
  if (n == 1) return words;
  return levels_[n - 1].ids.subspan(captions_->offsets[caption], words.size() - n + 1);
}

std::vector<NgramIndex::Entry> NgramIndex::entries(unsigned n) const {
  const Level& level = levels_[n - 1];
  std::vector<Entry> entries;
  for (std::size_t table = 0; table < level.tables.size(); ++table) {
    const std::uint32_t first = first_ids_[table];
    for (std::uint32_t id = first; id < first + level.tables[table].used; ++id) {
      entries.push_back({id, static_cast<std::uint32_t>(level.keys[id] >> 32),
                         static_cast<std::uint32_t>(level.keys[id])});
    }
  }
  return entries;
}

}  // namespace cidery
