#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "captions.hpp"
#include "meteor_table.hpp"
#include "vocabulary.hpp"

namespace cidery {

/// How two phrases were found to match; also the order in which METEOR tries them.
enum class MeteorStage : std::uint8_t { exact, stem, synonym, paraphrase };

/// One statistic per column, for a candidate against its best reference, in the order in which
/// METEOR prints them: candidate words, reference words, candidate function words, reference
/// function words; then for exact, stem, synonym and paraphrase the matched words: candidate
/// content, reference content, candidate function, reference function; then chunks, matched
/// candidate words, matched reference words.
inline constexpr std::size_t kMeteorStatistics = 23;
using MeteorStatistics = std::array<double, kMeteorStatistics>;

/// What METEOR tunes for each language; these are the values for English ("rank" task).
struct MeteorParameters {
  double alpha = 0.85;
  double beta = 0.2;
  double gamma = 0.6;
  double delta = 0.75;
  std::array<double, 4> weights = {1.0, 0.6, 0.8, 0.6};  ///< by MeteorStage
};

/// Stems for words, in their order. The original is Snowball as of 2010.
using MeteorStemmer = std::function<std::vector<std::string>(const std::vector<std::string>&)>;

/// Captions in METEOR's own words, with all that matching needs to know about each distinct word.
///
/// Immutable: any number of threads may compare it with others. `table` is kept alive.
class MeteorCaptions {
 public:
  /// What is known about one distinct word.
  struct Word {
    std::uint32_t key;          ///< what the exact matcher compares: see meteor_key
    std::uint32_t stem_key;     ///< what the stem matcher compares
    std::uint32_t table_word;   ///< id in the table, or kNone
    std::uint32_t phrase_node;  ///< node of the phrases that begin with this word, or kNone
    std::uint32_t synset_begin;
    std::uint32_t synset_end;
    std::uint64_t synset_bits;  ///< one bit per synset, hashed: most pairs of words share none
    bool is_function;
  };
  /// words [start, start + length) of a caption are listed in the table as `node`.
  struct Phrase {
    std::uint32_t start;
    std::uint32_t length;
    std::uint32_t node;
  };

  /// From lines of text. Without `paraphrases` those of the table are left alone. threads = 0 asks
  /// for one per core; the result does not depend on it.
  MeteorCaptions(std::shared_ptr<const MeteorTable> table, std::span<const std::string_view> texts,
                 const MeteorStemmer& stemmer, bool paraphrases, unsigned threads);
  /// From tokens: the same as from the tokens of each caption joined by single blanks.
  MeteorCaptions(std::shared_ptr<const MeteorTable> table, const Captions& captions,
                 const MeteorStemmer& stemmer, bool paraphrases, unsigned threads);

  const std::shared_ptr<const MeteorTable>& table() const { return table_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  std::size_t size() const { return offsets_.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t caption) const {
    return std::span(words_).subspan(offsets_[caption], offsets_[caption + 1] - offsets_[caption]);
  }
  std::span<const Phrase> phrases(std::size_t caption) const {
    return std::span(phrases_).subspan(phrase_offsets_[caption],
                                       phrase_offsets_[caption + 1] - phrase_offsets_[caption]);
  }
  const Word& word(std::uint32_t id) const { return lexicon_[id]; }
  std::span<const std::uint32_t> synsets(const Word& word) const {
    return std::span(synsets_).subspan(word.synset_begin, word.synset_end - word.synset_begin);
  }

 private:
  void append(std::string_view normalised);
  void look_up(const MeteorStemmer& stemmer);
  void find_phrases(unsigned threads);

  std::shared_ptr<const MeteorTable> table_;
  Vocabulary vocabulary_;
  std::vector<std::uint32_t> words_;
  std::vector<std::uint64_t> offsets_{0};
  std::vector<Word> lexicon_;
  std::vector<std::uint32_t> synsets_;
  std::vector<Phrase> phrases_;
  std::vector<std::uint64_t> phrase_offsets_{0};
};

/// A matched pair of phrases.
struct MeteorMatch {
  std::uint32_t candidate_start;
  std::uint32_t candidate_length;
  std::uint32_t reference_start;
  std::uint32_t reference_length;
  MeteorStage stage;
};

struct MeteorAlignment {
  std::vector<MeteorMatch> matches;  ///< by reference position
  MeteorStatistics statistics{};
};

/// Aligns one candidate with one reference.
MeteorAlignment meteor_align(const MeteorCaptions& candidates, std::size_t candidate,
                             const MeteorCaptions& references, std::size_t reference);

/// rows: float64[candidates, 23], each against the reference of its image with the highest score,
/// the first on ties. The references of image i are captions [reference_offsets[i],
/// reference_offsets[i + 1]); an image without any gives zeros. threads = 0 asks for one per core;
/// the result does not depend on it.
std::vector<double> meteor_measure(const MeteorCaptions& references,
                                   std::span<const std::uint64_t> reference_offsets,
                                   const MeteorCaptions& candidates,
                                   std::span<const std::uint32_t> candidate_images,
                                   const MeteorParameters& parameters, unsigned threads);

/// The METEOR score in [0, 1] that statistics give: Denkowski and Lavie (2014).
/// The same formula serves one caption and a sum, to which a perfect caption (one chunk, every word
/// of both sides matched) adds no chunk.
double meteor_score(std::span<const double, kMeteorStatistics> statistics,
                    const MeteorParameters& parameters);

}  // namespace cidery
