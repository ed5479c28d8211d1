#include "ngrams.hpp"

#include <algorithm>
#include <stdexcept>

#include "arena.hpp"
#include "parallel.hpp"

namespace cidery {

/// Fills the levels of an index, from the shortest n-grams to the longest.
///
/// All positions are sorted by their word, once. Gone through in that order, the n-grams that end
/// there come by last word, so that one number per (n-1)-gram, the word that it was last continued
/// by, tells whether an n-gram is new. New ones are then counted into place by their prefix.
class NgramIndex::Builder {
 public:
  Builder(NgramIndex& index, unsigned workers)
      : captions_(*index.captions_),
        index_(index),
        workers_(workers),
        positions_(captions_.words.size()),
        arena_(positions_ * (sizeof(Place) + sizeof(Found) + sizeof(std::uint32_t) + 1) +
               positions_ * workers * sizeof(Last) / 2),
        places_(arena_.take<Place>(positions_)),
        before_(arena_.take<std::uint8_t>(positions_)),
        found_(arena_.take<Found>(positions_)),
        final_(arena_.take<std::uint32_t>(positions_)) {}

  /// Sorts by word the positions at which an n-gram can end; counts in how many images words are.
  void sort_words() {
    const std::size_t words = captions_.vocabulary->size();
    std::vector<std::vector<std::uint32_t>> next(workers_), frequency(workers_);
    in_shares([&](std::size_t begin, std::size_t end, unsigned worker) {
      auto& mine = next[worker];
      auto& images = frequency[worker];
      mine.assign(words, 0);
      images.assign(words, 0);
      std::vector<std::uint32_t> last_image(words, kNone);
      each_position(begin, end, [&](std::uint32_t at, std::uint32_t image, std::size_t before) {
        const std::uint32_t word = captions_.words[at];
        mine[word] += before != 0;
        images[word] += last_image[word] != image;
        last_image[word] = image;
      });
    });
    word_starts_.resize(words + 1);
    auto& total = index_.levels_[0].frequency;
    total.assign(words, 0);
    std::uint32_t place = 0;
    for (std::size_t word = 0; word < words; ++word) {
      word_starts_[word] = place;
      for (unsigned worker = 0; worker < workers_; ++worker) {
        const std::uint32_t count = next[worker][word];
        next[worker][word] = place;
        place += count;
        total[word] += frequency[worker][word];
      }
    }
    word_starts_[words] = place;
    in_shares([&](std::size_t begin, std::size_t end, unsigned worker) {
      auto& mine = next[worker];
      each_position(begin, end, [&](std::uint32_t at, std::uint32_t image, std::size_t before) {
        if (before == 0) return;
        const std::uint32_t to = mine[captions_.words[at]]++;
        places_[to] = {at, image};
        before_[to] = static_cast<std::uint8_t>(std::min<std::size_t>(before, kMaxOrder));
      });
    });
    word_ends_.assign(word_starts_.begin() + 1, word_starts_.end());
    share_words();
  }

  void fill_level(unsigned n) {
    Level& level = index_.levels_[n - 1];
    const std::vector<std::uint32_t>& parents =
        n == 2 ? captions_.words : index_.levels_[n - 2].ids;
    const std::size_t shorter = index_.id_bound(n - 1);
    level.ids.resize(positions_);
    if (last_.size() < workers_) last_.resize(workers_);
    std::vector<std::uint32_t> counts(workers_);
    std::vector<std::vector<std::uint32_t>> children(workers_);
    run_workers(workers_, [&](unsigned worker) {
      last_[worker].assign(shorter, {kNone, 0});
      counts[worker] = find_new(n, parents, worker, level.ids);
      auto& mine = children[worker];
      mine.assign(shorter, 0);
      const Found* const own = found_ + word_starts_[first_words_[worker]];
      for (std::uint32_t i = 0; i < counts[worker]; ++i) ++mine[own[i].parent];
    });

    // By prefix, then by worker, which is by last word.
    level.first_child.resize(shorter + 1);
    std::uint32_t place = 0;
    for (std::size_t parent = 0; parent < shorter; ++parent) {
      level.first_child[parent] = place;
      for (auto& mine : children) {
        const std::uint32_t count = mine[parent];
        mine[parent] = place;
        place += count;
      }
    }
    level.first_child[shorter] = place;
    level.words.resize(place);
    level.frequency.resize(place);
    run_workers(workers_, [&](unsigned worker) {
      auto& mine = children[worker];
      const std::uint32_t first = word_starts_[first_words_[worker]];
      for (std::uint32_t i = first; i < first + counts[worker]; ++i) {
        const Found& found = found_[i];
        const std::uint32_t id = mine[found.parent]++;
        final_[i] = id;
        level.words[id] = found.word;
        level.frequency[id] = found.images;
      }
    });
    in_shares([&](std::size_t begin, std::size_t end, unsigned) {
      for (std::uint64_t caption = index_.image_offsets_[begin];
           caption < index_.image_offsets_[end]; ++caption) {
        const std::uint64_t stop = captions_.offsets[caption + 1];
        for (std::uint64_t at = captions_.offsets[caption]; at < stop; ++at)
          level.ids[at] = at + n <= stop ? final_[level.ids[at]] : kNone;
      }
    });
  }

 private:
  struct Place {
    std::uint32_t position, image;
  };
  /// An n-gram when it is first met.
  struct Found {
    std::uint32_t parent, word, images, last_image;
  };
  /// By what word an (n-1)-gram was last continued, and which n-gram that gave.
  struct Last {
    std::uint32_t word, found;
  };

  static constexpr std::size_t kAhead = 12;

  /// Calls work(first image, last image, worker) on shares of the images.
  template <class Work>
  void in_shares(const Work& work) const {
    parallel_shares(index_.images(), workers_, work);
  }

  /// Calls visit(position, image, words before it in its caption).
  template <class Visit>
  void each_position(std::size_t begin, std::size_t end, const Visit& visit) const {
    for (std::size_t image = begin; image < end; ++image) {
      for (std::uint64_t caption = index_.image_offsets_[image];
           caption < index_.image_offsets_[image + 1]; ++caption) {
        const std::uint64_t start = captions_.offsets[caption];
        for (std::uint64_t at = start; at < captions_.offsets[caption + 1]; ++at)
          visit(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(image), at - start);
      }
    }
  }

  /// Gives each worker words that stand at about as many positions.
  void share_words() {
    first_words_.assign(workers_ + 1, captions_.vocabulary->size());
    for (unsigned worker = 0; worker < workers_; ++worker) {
      const auto place = share_begin(word_starts_.back(), worker, workers_);
      first_words_[worker] = static_cast<std::uint32_t>(
          std::lower_bound(word_starts_.begin(), word_starts_.end() - 1, place) -
          word_starts_.begin());
    }
  }

  /// Numbers the n-grams that end with this worker's words, and those at each position.
  std::uint32_t find_new(unsigned n, const std::vector<std::uint32_t>& shorter, unsigned worker,
                         std::vector<std::uint32_t>& longer) {
    const std::uint32_t first = word_starts_[first_words_[worker]];
    const std::uint32_t until = word_starts_[first_words_[worker + 1]];
    const unsigned back = n - 1;
    // In names of its own, so that the compiler need not read them again after each step.
    Place* const places = places_;
    std::uint8_t* const before = before_;
    Found* const all_found = found_;
    Last* const last = last_[worker].data();
    const std::uint32_t* const parents = shorter.data();
    std::uint32_t* const ids = longer.data();
    std::uint32_t next = first;
    for (std::uint32_t word = first_words_[worker]; word < first_words_[worker + 1]; ++word) {
      std::uint32_t kept = word_starts_[word];
      const std::uint32_t end = word_ends_[word];
      for (std::uint32_t i = kept; i < end; ++i) {
        const Place place = places[i];
        // All this is larger than the cache: what is looked up is asked for before.
        if (i + 2 * kAhead < until) {
          const std::uint32_t far = places[i + 2 * kAhead].position;
          const std::uint32_t near = places[i + kAhead].position;
          prefetch_memory(&parents[far - std::min(far, back)]);
          prefetch_memory(last + parents[near - std::min(near, back)]);
        }
        const std::uint32_t parent = parents[place.position - back];
        // Without branches: whether an n-gram is new cannot be foretold.
        const bool fresh = last[parent].word != word;
        const std::uint32_t taken = std::uint32_t{0} - fresh;  // all bits, or none
        const std::uint32_t number = (next & taken) | (last[parent].found & ~taken);
        last[parent] = {word, number};
        next += fresh;
        Found& found = all_found[number];
        const bool counts = fresh | (found.last_image != place.image);
        found = {parent, word, (found.images & ~taken) + counts, place.image};
        ids[place.position - back] = number;
        // Where no longer n-gram can end, nothing is left to do.
        const std::uint8_t words_before = before[i];
        places[kept] = place;
        before[kept] = words_before;
        kept += words_before > back;
      }
      word_ends_[word] = kept;
    }
    return next - first;
  }

  const Captions& captions_;
  NgramIndex& index_;
  const unsigned workers_;
  const std::size_t positions_;
  Arena arena_;
  Place* const places_;         // sorted by word
  std::uint8_t* const before_;  // the words before each place in its caption, at most kMaxOrder
  Found* const found_;          // n-grams of the level at hand, from the worker's first place on
  std::uint32_t* const final_;  // their ids
  std::vector<std::uint32_t> word_starts_;  // by word: where its places begin
  std::vector<std::uint32_t> word_ends_;    // and where those end that are still of use
  std::vector<std::uint32_t> first_words_;  // by worker
  std::vector<std::vector<Last>> last_;     // by worker and (n-1)-gram
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
  constexpr unsigned kMostWorkers = 4;         // each has its own numbers for all (n-1)-grams
  const unsigned workers =
      std::min(kMostWorkers, worker_count(threads, captions_->words.size() / kWorthAThread));
  levels_.resize(order_);
  Builder builder(*this, workers);
  builder.sort_words();
  for (unsigned n = 2; n <= order_; ++n) builder.fill_level(n);
}

std::span<const std::uint32_t> NgramIndex::ids(unsigned n, std::size_t caption) const {
  const auto words = (*captions_)[caption];
  if (words.size() < n) return {};
  if (n == 1) return words;
  return std::span(levels_[n - 1].ids).subspan(captions_->offsets[caption], words.size() - n + 1);
}

std::vector<NgramIndex::Entry> NgramIndex::entries(unsigned n) const {
  const Level& level = levels_[n - 1];
  std::vector<Entry> entries;
  entries.reserve(level.words.size());
  for (std::uint32_t parent = 0; parent + 1 < level.first_child.size(); ++parent) {
    for (std::uint32_t id = level.first_child[parent]; id < level.first_child[parent + 1]; ++id)
      entries.push_back({id, parent, level.words[id]});
  }
  return entries;
}

}  // namespace cidery
