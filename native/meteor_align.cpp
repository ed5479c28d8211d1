#include <algorithm>
#include <atomic>
#include <bitset>
#include <stdexcept>
#include <tuple>

#include "meteor.hpp"
#include "parallel.hpp"

namespace cidery {
namespace {

constexpr std::size_t kBeam = 40;

/// What a match is worth to the search. Not in the papers: single words that match only by stem,
/// synonym or paraphrase gain nothing, so they are kept only where they are undisputed or cost no
/// chunk.
std::uint32_t gain_of(const MeteorMatch& match) {
  if (match.stage == MeteorStage::exact) return 2;
  return match.candidate_length / 2 + match.reference_length / 2;
}

std::uint64_t distance_of(const MeteorMatch& match) {
  return match.candidate_start < match.reference_start
             ? match.reference_start - match.candidate_start
             : match.candidate_start - match.reference_start;
}

bool share_item(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() && right != b.end()) {
    if (*left == *right) return true;
    *left < *right ? ++left : ++right;
  }
  return false;
}

/// The captions that are compared, and their common table.
struct Bridge {
  Bridge(const MeteorCaptions& candidate_captions, const MeteorCaptions& reference_captions)
      : candidates(candidate_captions), references(reference_captions) {
    if (candidates.table() != references.table()) {
      throw std::invalid_argument(
          "candidates and references were prepared with different METEOR tables");
    }
  }

  const MeteorCaptions& candidates;
  const MeteorCaptions& references;
};

/// A set that may hold a little more than what was put in: spares most of the closer looks.
class Filter {
 public:
  void clear() { bits_.reset(); }
  void add(std::uint32_t item) { bits_.set(item % bits_.size()); }
  bool may_have(std::uint32_t item) const { return bits_[item % bits_.size()]; }

 private:
  std::bitset<4096> bits_;
};

/// One side of a pair: its words as the matchers compare them.
struct Side {
  struct Item {
    std::uint32_t key;
    std::uint32_t stem_key;
    std::uint32_t table_word;
    const MeteorCaptions::Word* entry;
  };
  std::vector<Item> items;
  Filter table_words;
  std::vector<std::uint32_t> touches;  // by word: how many options it is part of

  void clear() {
    items.clear();
    table_words.clear();
  }
  void add(const Item& item) {
    items.push_back(item);
    table_words.add(item.table_word);
  }
  std::size_t size() const { return items.size(); }

  /// Calls found(start) for each place where the phrase stands.
  template <class Found>
  void find(std::span<const std::uint32_t> phrase, const Found& found) const {
    if (!table_words.may_have(phrase[0])) return;
    for (std::size_t start = 0; start + phrase.size() <= items.size(); ++start) {
      std::size_t i = 0;
      while (i < phrase.size() && items[start + i].table_word == phrase[i]) ++i;
      if (i == phrase.size()) found(static_cast<std::uint32_t>(start));
    }
  }
  void touch(std::size_t start, std::size_t length) {
    for (std::size_t i = start; i < start + length; ++i) ++touches[i];
  }
  bool touched_once(std::size_t start, std::size_t length) const {
    return std::all_of(touches.begin() + static_cast<std::ptrdiff_t>(start),
                       touches.begin() + static_cast<std::ptrdiff_t>(start + length),
                       [](std::uint32_t count) { return count == 1; });
  }
};

/// Aligns pairs one after the other, keeping its buffers. One per thread.
class Aligner {
 public:
  explicit Aligner(const Bridge& bridge) : bridge_(bridge) {}

  void set_candidate(std::size_t caption) {
    candidate_caption_ = caption;
    candidate_.clear();
    candidate_keys_.clear();
    candidate_stem_keys_.clear();
    candidate_synsets_.clear();
    for (const std::uint32_t id : bridge_.candidates[caption]) {
      const MeteorCaptions::Word& word = bridge_.candidates.word(id);
      candidate_.add({word.key, word.stem_key, word.table_word, &word});
      candidate_keys_.add(word.key);
      candidate_stem_keys_.add(word.stem_key);
      for (const std::uint32_t synset : bridge_.candidates.synsets(word))
        candidate_synsets_.add(synset);
    }
  }

  /// Aligns the candidate with a reference.
  void align(std::size_t caption) {
    reference_caption_ = caption;
    reference_.clear();
    for (const std::uint32_t id : bridge_.references[caption]) {
      const MeteorCaptions::Word& word = bridge_.references.word(id);
      reference_.add({word.key, word.stem_key, word.table_word, &word});
    }
    collect();
    search();
  }

  /// The matches of the last alignment, by reference position.
  const std::vector<MeteorMatch>& matches() const { return matches_; }

  MeteorStatistics statistics() const {
    MeteorStatistics row{};
    row[0] = static_cast<double>(candidate_.size());
    row[1] = static_cast<double>(reference_.size());
    row[2] = static_cast<double>(count_function(candidate_, 0, candidate_.size()));
    row[3] = static_cast<double>(count_function(reference_, 0, reference_.size()));
    for (const MeteorMatch& match : matches_) {
      const std::size_t column = 4 + 4 * static_cast<std::size_t>(match.stage);
      const std::size_t candidate_function =
          count_function(candidate_, match.candidate_start, match.candidate_length);
      const std::size_t reference_function =
          count_function(reference_, match.reference_start, match.reference_length);
      row[column] += static_cast<double>(match.candidate_length - candidate_function);
      row[column + 1] += static_cast<double>(match.reference_length - reference_function);
      row[column + 2] += static_cast<double>(candidate_function);
      row[column + 3] += static_cast<double>(reference_function);
      row[21] += match.candidate_length;
      row[22] += match.reference_length;
    }
    row[20] = chunks_;
    return row;
  }

 private:
  static constexpr std::uint32_t kSkip = kNone;  // the position stays unmatched
  static constexpr std::uint32_t kPass =
      kNone - 1;  // the position is inside a phrase already matched

  struct State {
    std::uint32_t gain;
    std::uint32_t chunks;  // closed ones
    std::uint64_t distance;
    std::uint32_t next_candidate;  // where the open chunk would go on
    std::uint32_t next_reference;  // the first position not decided
    std::uint32_t path;
    bool open;

    auto rank() const { return std::tuple(~gain, chunks, distance); }
  };
  struct Proposal {
    std::uint32_t gain;
    std::uint32_t chunks;
    std::uint64_t distance;
    std::uint32_t parent;
    std::uint32_t choice;
    std::uint32_t number;  // makes the order of equals that of their making

    bool operator<(const Proposal& other) const {
      if (gain != other.gain) return gain > other.gain;
      if (chunks != other.chunks) return chunks < other.chunks;
      if (distance != other.distance) return distance < other.distance;
      return number < other.number;
    }
  };
  struct Step {
    std::uint32_t previous;
    std::uint32_t option;
  };

  static std::size_t count_function(const Side& side, std::size_t start, std::size_t length) {
    std::size_t count = 0;
    for (std::size_t i = start; i < start + length; ++i) count += side.items[i].entry->is_function;
    return count;
  }

  void add_option(std::size_t candidate_start, std::size_t candidate_length,
                  std::size_t reference_start, std::size_t reference_length, MeteorStage stage) {
    options_.push_back({static_cast<std::uint32_t>(candidate_start),
                        static_cast<std::uint32_t>(candidate_length),
                        static_cast<std::uint32_t>(reference_start),
                        static_cast<std::uint32_t>(reference_length), stage});
  }

  /// All matches of all stages, in the order in which the search tries them at each reference
  /// position.
  void collect() {
    collect_candidate_first();
    options_.clear();
    option_offsets_.assign(1, 0);
    const auto phrases = bridge_.references.phrases(reference_caption_);
    auto phrase = phrases.begin();
    for (std::size_t position = 0; position < reference_.size(); ++position) {
      collect_words(position);
      for (; phrase != phrases.end() && phrase->start == position; ++phrase) {
        auto list = bridge_.references.table()->paraphrases(phrase->node);
        while (list.next()) {
          candidate_.find(list.words(), [&](std::uint32_t start) {
            add_option(start, list.words().size(), position, phrase->length,
                       MeteorStage::paraphrase);
          });
        }
      }
      for (const MeteorMatch& match : candidate_first_) {
        if (match.reference_start == position) options_.push_back(match);
      }
      option_offsets_.push_back(static_cast<std::uint32_t>(options_.size()));
    }
    candidate_.touches.assign(candidate_.size(), 0);
    reference_.touches.assign(reference_.size(), 0);
    for (const MeteorMatch& match : options_) {
      candidate_.touch(match.candidate_start, match.candidate_length);
      reference_.touch(match.reference_start, match.reference_length);
    }
  }

  /// Paraphrases that the table lists after a phrase of the candidate.
  void collect_candidate_first() {
    candidate_first_.clear();
    for (const MeteorCaptions::Phrase& phrase : bridge_.candidates.phrases(candidate_caption_)) {
      auto list = bridge_.candidates.table()->paraphrases(phrase.node);
      while (list.next()) {
        reference_.find(list.words(), [&](std::uint32_t start) {
          candidate_first_.push_back({phrase.start, phrase.length, start,
                                      static_cast<std::uint32_t>(list.words().size()),
                                      MeteorStage::paraphrase});
        });
      }
    }
  }

  void collect_words(std::size_t position) {
    const Side::Item& there = reference_.items[position];
    if (candidate_keys_.may_have(there.key)) {
      for (std::size_t i = 0; i < candidate_.size(); ++i) {
        if (candidate_.items[i].key == there.key) add_option(i, 1, position, 1, MeteorStage::exact);
      }
    }
    if (candidate_stem_keys_.may_have(there.stem_key)) {
      for (std::size_t i = 0; i < candidate_.size(); ++i) {
        const Side::Item& here = candidate_.items[i];
        if (here.stem_key == there.stem_key && here.key != there.key)
          add_option(i, 1, position, 1, MeteorStage::stem);
      }
    }
    const auto synsets = bridge_.references.synsets(*there.entry);
    if (std::none_of(synsets.begin(), synsets.end(),
                     [&](std::uint32_t synset) { return candidate_synsets_.may_have(synset); })) {
      return;
    }
    for (std::size_t i = 0; i < candidate_.size(); ++i) {
      const Side::Item& here = candidate_.items[i];
      if (here.key != there.key && (here.entry->synset_bits & there.entry->synset_bits) != 0 &&
          share_item(bridge_.candidates.synsets(*here.entry), synsets)) {
        add_option(i, 1, position, 1, MeteorStage::synonym);
      }
    }
  }

  /// The only option at a position if nothing else touches any of its words, else kNone.
  std::uint32_t fixed_option(std::size_t position) const {
    const std::uint32_t first = option_offsets_[position];
    if (option_offsets_[position + 1] != first + 1) return kNone;
    const MeteorMatch& match = options_[first];
    return candidate_.touched_once(match.candidate_start, match.candidate_length) &&
                   reference_.touched_once(match.reference_start, match.reference_length)
               ? first
               : kNone;
  }

  bool is_free(std::size_t state, const MeteorMatch& match) const {
    for (std::size_t i = match.candidate_start; i < match.candidate_start + match.candidate_length;
         ++i) {
      if (used_[state * used_width_ + i / 64] >> (i % 64) & 1) return false;
    }
    return true;
  }

  void propose(std::size_t parent, std::uint32_t choice, std::uint64_t skipped_distance) {
    const State& state = states_[parent];
    Proposal proposal{state.gain,
                      state.chunks,
                      state.distance + skipped_distance,
                      static_cast<std::uint32_t>(parent),
                      choice,
                      static_cast<std::uint32_t>(proposals_.size())};
    if (choice == kSkip) {
      proposal.chunks += state.open;
    } else if (choice != kPass) {
      const MeteorMatch& match = options_[choice];
      proposal.gain += gain_of(match);
      proposal.chunks += state.open && state.next_candidate != match.candidate_start;
    }
    proposals_.push_back(proposal);
  }

  /// Left to right over the reference with a beam. A later option carries the distances of the free
  /// options tried before it, and leaving the position unmatched carries those of all; a chosen
  /// match adds nothing for itself.
  void search() {
    used_width_ = (candidate_.size() + 63) / 64;
    states_.assign(1, State{0, 0, 0, 0, 0, kNone, false});
    used_.assign(used_width_, 0);
    steps_.clear();
    for (std::size_t position = 0; position < reference_.size(); ++position) {
      const std::uint32_t fixed = fixed_option(position);
      proposals_.clear();
      for (std::size_t i = 0; i < states_.size(); ++i) {
        if (states_[i].next_reference > position) {
          propose(i, kPass, 0);
        } else if (fixed != kNone) {
          propose(i, fixed, 0);
        } else {
          std::uint64_t skipped = 0;
          for (std::uint32_t option = option_offsets_[position];
               option < option_offsets_[position + 1]; ++option) {
            if (!is_free(i, options_[option])) continue;
            propose(i, option, skipped);
            skipped += distance_of(options_[option]);
          }
          propose(i, kSkip, skipped);
        }
      }
      select(position);
    }
    finish();
  }

  /// Keeps the best proposals as the new states.
  void select(std::size_t position) {
    if (proposals_.size() > kBeam) {
      std::nth_element(proposals_.begin(), proposals_.begin() + kBeam, proposals_.end());
      proposals_.resize(kBeam);
    }
    if (!std::is_sorted(proposals_.begin(), proposals_.end()))
      std::sort(proposals_.begin(), proposals_.end());
    next_states_.clear();
    next_used_.clear();
    for (const Proposal& proposal : proposals_) {
      State state = states_[proposal.parent];
      state.gain = proposal.gain;
      state.chunks = proposal.chunks;
      state.distance = proposal.distance;
      const auto used = used_.begin() + static_cast<std::ptrdiff_t>(proposal.parent * used_width_);
      next_used_.insert(next_used_.end(), used, used + static_cast<std::ptrdiff_t>(used_width_));
      if (proposal.choice == kSkip) {
        state.open = false;
        state.next_reference = static_cast<std::uint32_t>(position + 1);
      } else if (proposal.choice != kPass) {
        const MeteorMatch& match = options_[proposal.choice];
        state.open = true;
        state.next_candidate = match.candidate_start + match.candidate_length;
        state.next_reference = match.reference_start + match.reference_length;
        std::uint64_t* bits = next_used_.data() + next_states_.size() * used_width_;
        for (std::size_t i = match.candidate_start; i < state.next_candidate; ++i) {
          bits[i / 64] |= std::uint64_t{1} << (i % 64);
        }
        steps_.push_back({state.path, proposal.choice});
        state.path = static_cast<std::uint32_t>(steps_.size() - 1);
      }
      next_states_.push_back(state);
    }
    std::swap(states_, next_states_);
    std::swap(used_, next_used_);
  }

  /// Closes the open chunks; the first of the best states is the alignment.
  void finish() {
    for (State& state : states_) state.chunks += state.open;
    const auto best =
        std::min_element(states_.begin(), states_.end(),
                         [](const State& a, const State& b) { return a.rank() < b.rank(); });
    chunks_ = best->chunks;
    matches_.clear();
    for (std::uint32_t step = best->path; step != kNone; step = steps_[step].previous) {
      matches_.push_back(options_[steps_[step].option]);
    }
    std::reverse(matches_.begin(), matches_.end());
  }

  const Bridge& bridge_;
  std::size_t candidate_caption_ = 0;
  std::size_t reference_caption_ = 0;
  Side candidate_;
  Side reference_;
  Filter candidate_keys_;
  Filter candidate_stem_keys_;
  Filter candidate_synsets_;
  std::vector<MeteorMatch> candidate_first_;
  std::vector<MeteorMatch> options_;
  std::vector<std::uint32_t> option_offsets_;  // by reference position
  std::vector<State> states_;
  std::vector<State> next_states_;
  std::vector<std::uint64_t>
      used_;  // used_width_ numbers per state: candidate words already matched
  std::vector<std::uint64_t> next_used_;
  std::size_t used_width_ = 0;
  std::vector<Proposal> proposals_;
  std::vector<Step> steps_;
  std::vector<MeteorMatch> matches_;
  std::uint32_t chunks_ = 0;
};

void check_caption(const MeteorCaptions& captions, std::uint64_t caption, const char* what) {
  if (caption >= captions.size()) {
    throw std::invalid_argument(std::string(what) + " " + std::to_string(caption) +
                                " does not exist; there are " + std::to_string(captions.size()));
  }
}

}  // namespace

MeteorAlignment meteor_align(const MeteorCaptions& candidates, std::size_t candidate,
                             const MeteorCaptions& references, std::size_t reference) {
  check_caption(candidates, candidate, "candidate");
  check_caption(references, reference, "reference");
  const Bridge bridge(candidates, references);
  Aligner aligner(bridge);
  aligner.set_candidate(candidate);
  aligner.align(reference);
  return {aligner.matches(), aligner.statistics()};
}

std::vector<double> meteor_measure(const MeteorCaptions& references,
                                   std::span<const std::uint64_t> reference_offsets,
                                   const MeteorCaptions& candidates,
                                   std::span<const std::uint32_t> candidate_images,
                                   const MeteorParameters& parameters, unsigned threads) {
  if (candidate_images.size() != candidates.size()) {
    throw std::invalid_argument("there are " + std::to_string(candidates.size()) +
                                " candidates, but images for " +
                                std::to_string(candidate_images.size()));
  }
  if (reference_offsets.empty() ||
      !std::is_sorted(reference_offsets.begin(), reference_offsets.end()) ||
      reference_offsets.back() > references.size()) {
    throw std::invalid_argument("reference offsets must ascend from 0 to the number of references");
  }
  for (const std::uint32_t image : candidate_images) {
    if (image >= reference_offsets.size() - 1) {
      throw std::invalid_argument("image " + std::to_string(image) + " does not exist; there are " +
                                  std::to_string(reference_offsets.size() - 1));
    }
  }
  const Bridge bridge(candidates, references);
  std::vector<double> rows(candidates.size() * kMeteorStatistics, 0.0);
  std::atomic<std::size_t> next{0};
  constexpr std::size_t kShare =
      16;  // long captions cost much more than short ones: hand out small shares
  run_workers(worker_count(threads, (candidates.size() + kShare - 1) / kShare), [&](unsigned) {
    Aligner aligner(bridge);
    for (std::size_t begin = next.fetch_add(kShare); begin < candidates.size();
         begin = next.fetch_add(kShare)) {
      for (std::size_t i = begin; i < std::min(begin + kShare, candidates.size()); ++i) {
        aligner.set_candidate(i);
        double best = -1.0;
        const std::uint32_t image = candidate_images[i];
        for (std::uint64_t reference = reference_offsets[image];
             reference < reference_offsets[image + 1]; ++reference) {
          aligner.align(reference);
          const MeteorStatistics row = aligner.statistics();
          const double score = meteor_score(row, parameters);
          if (score > best) {
            best = score;
            std::copy(row.begin(), row.end(),
                      rows.begin() + static_cast<std::ptrdiff_t>(i * kMeteorStatistics));
          }
        }
      }
    }
  });
  return rows;
}

}  // namespace cidery
