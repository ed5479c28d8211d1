#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary.hpp"

namespace cidery {

/// Whether a word and its final period stay together.
enum class MeteorPrefix { none, always, before_number };

/// The longest phrase that a table can hold. METEOR's English table stops at 7 words.
inline constexpr std::size_t kMeteorPhraseWords = 15;

/// The sections of a table file, in their order there.
enum class MeteorSection : std::uint32_t {
  word_bytes,      ///< all words, one after the other
  word_offsets,    ///< u32[words + 1] into word_bytes
  word_slots,      ///< u32[power of two]: open addressing by hash, id or kNone
  word_flags,      ///< u8[words]: see meteor_file::Flag
  synset_offsets,  ///< u32[words + 1] into synsets
  synsets,         ///< u32: synset numbers, ascending for each word
  base_offsets,    ///< u32[words + 1] into bases
  bases,           ///< u32: word ids of the base forms of an irregular form
  node_words,     ///< u32[nodes]: the last word of the phrase that a node stands for; node 0 is the
                  ///< root
  node_children,  ///< u32[nodes + 1]: the children of node i are nodes [i-th, (i+1)-th), by
                  ///< ascending word
  node_paraphrases,  ///< u32[nodes + 1] into paraphrases
  paraphrases,       ///< bytes: see MeteorTable::Paraphrases
  count,
};

namespace meteor_file {

inline constexpr std::size_t kSections = static_cast<std::size_t>(MeteorSection::count);
inline constexpr std::array<char, 8> kMagic = {'C', 'I', 'D', 'M', 'E', 'T', 'E', 'O'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kAlignment = 8;

/// Everything after `checksum` is covered by it. All numbers are little-endian.
struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t sections;
  std::uint64_t checksum;
  std::uint64_t size;
  struct Extent {
    std::uint64_t offset;
    std::uint64_t size;
  };
  std::array<Extent, kSections> extents;
};
inline constexpr std::size_t kUnchecked = offsetof(Header, size);

/// kLanguage marks the word that is the code of the table's language; English tables have none.
enum Flag : std::uint8_t { kFunctionWord = 1, kPrefix = 2, kPrefixBeforeNumber = 4, kLanguage = 8 };

/// A hash of the words in the file: part of the format, so it must not change without kVersion.
std::uint64_t hash_word(std::string_view word);
/// Four independent lanes, so that it runs as fast as memory is read.
std::uint64_t checksum(std::string_view bytes);

}  // namespace meteor_file

/// METEOR's word lists and paraphrases, compiled into one file that is mapped read-only.
///
/// The whole file is checked against its checksum when it is opened; after that every index read
/// from it is still compared with the size of the section that it points into, so that not even a
/// forged file is read past its end.
class MeteorTable {
 public:
  /// Maps a file that MeteorTableBuilder made; std::runtime_error says what is wrong with any
  /// other.
  static std::shared_ptr<const MeteorTable> open(const std::filesystem::path& path);
  /// The same from memory.
  static std::shared_ptr<const MeteorTable> from_bytes(std::string bytes);

  MeteorTable(const MeteorTable&) = delete;
  MeteorTable& operator=(const MeteorTable&) = delete;
  ~MeteorTable();

  std::uint64_t checksum() const { return checksum_; }
  std::size_t word_count() const { return flags_.size(); }
  bool has_paraphrases() const { return !paraphrases_.empty(); }
  /// The code of the language that the table was compiled for.
  std::string_view language() const { return language_; }

  /// The word's id, or kNone.
  std::uint32_t find(std::string_view word) const;
  std::string_view word(std::uint32_t id) const;
  /// `word` is an id or kNone.
  bool is_function_word(std::uint32_t word) const;
  MeteorPrefix prefix(std::string_view word) const;

  /// All synsets of a word and its base forms, ascending. Base forms of words that the table lists
  /// as irregular are those listed; of other words, the first that the table knows after the usual
  /// endings are undone.
  std::vector<std::uint32_t> synsets(std::string_view word) const;

  static constexpr std::uint32_t kRoot = 0;
  /// The node of the phrase of `node` followed by `word`, or kNone if no listed phrase begins so.
  std::uint32_t child(std::uint32_t node, std::uint32_t word) const;
  bool has_paraphrases(std::uint32_t node) const { return !list_of(node).empty(); }

  /// Reads the phrases listed after one phrase, in the order of the original table.
  ///
  /// A phrase is a byte `shared * 16 + length`, then length - shared word ids as LEB128 numbers;
  /// the first `shared` words are those of the phrase before. Ids are ranked by frequency, so most
  /// take one or two bytes.
  class Paraphrases {
   public:
    explicit Paraphrases(std::string_view bytes) : bytes_(bytes) {}
    /// Moves to the next phrase; false at the end.
    bool next();
    std::span<const std::uint32_t> words() const { return std::span(words_).first(length_); }

   private:
    std::string_view bytes_;
    std::size_t at_ = 0;
    std::size_t length_ = 0;
    std::array<std::uint32_t, kMeteorPhraseWords> words_{};
  };
  Paraphrases paraphrases(std::uint32_t node) const { return Paraphrases(list_of(node)); }

 private:
  class Storage;
  explicit MeteorTable(std::unique_ptr<const Storage> storage);

  void add_synsets(std::uint32_t word, std::vector<std::uint32_t>& out) const;
  std::string_view list_of(std::uint32_t node) const;

  std::unique_ptr<const Storage> storage_;
  std::uint64_t checksum_ = 0;
  std::string_view language_ = "en";
  std::string_view word_bytes_;
  std::span<const std::uint32_t> word_offsets_;
  std::span<const std::uint32_t> slots_;
  std::string_view flags_;
  std::span<const std::uint32_t> synset_offsets_;
  std::span<const std::uint32_t> synsets_;
  std::span<const std::uint32_t> base_offsets_;
  std::span<const std::uint32_t> bases_;
  std::span<const std::uint32_t> node_words_;
  std::span<const std::uint32_t> node_children_;
  std::span<const std::uint32_t> node_paraphrases_;
  std::string_view paraphrases_;
};

/// Compiles METEOR's word lists and paraphrase table. Give it the unpacked text of the lists, then
/// the paraphrase table in pieces of any size (or not at all), then take the file.
/// std::invalid_argument names a line that is wrong.
class MeteorTableBuilder {
 public:
  struct Lists {
    std::string_view function_words;  ///< one word per line
    std::string_view
        prefixes;  ///< prefix, optional #NUMERIC_ONLY#; lines that begin with # are comments
    std::string_view synsets;     ///< two lines per entry: word; synset numbers
    std::string_view exceptions;  ///< two lines per entry: base form; irregular forms
    std::string_view language = "en";
  };

  explicit MeteorTableBuilder(const Lists& lists);

  /// Three lines per entry: probability; phrase; phrase. A piece may end anywhere.
  void add_paraphrases(std::string_view piece);
  /// The bytes of the table file. The builder is empty afterwards.
  std::string finish();

 private:
  struct Entry {
    std::uint32_t word;
    std::uint32_t value;
  };
  struct List {
    std::uint32_t node;
    std::size_t begin;  // in stream_
  };
  class FileWriter;

  void read_synsets(std::string_view text);
  void read_exceptions(std::string_view text);
  void add_line(std::string_view line);
  void read_phrase(std::string_view line, std::vector<std::uint32_t>& words);
  std::uint32_t node_of(std::span<const std::uint32_t> phrase);
  void set_flag(std::string_view word, std::uint8_t flag);
  std::vector<std::uint32_t> words_by_rank() const;
  void write_words(std::span<const std::uint32_t> by_rank, FileWriter& file) const;
  void write_entries(std::vector<Entry>& entries, MeteorSection offsets, MeteorSection values,
                     FileWriter& file) const;
  std::vector<std::uint32_t> write_nodes(std::span<const std::uint32_t> rank, FileWriter& file);
  void write_paraphrases(std::span<const std::uint32_t> rank, std::span<const std::uint32_t> place,
                         FileWriter& file) const;

  Vocabulary words_;
  std::vector<std::uint8_t> flags_;
  std::vector<Entry> synsets_;
  std::vector<Entry> bases_;

  std::string partial_line_;
  std::uint64_t line_number_ = 0;
  std::string first_line_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> second_;
  std::vector<std::uint32_t> previous_;

  /// The trie under construction: node -> (parent, word), found by hash.
  struct Node {
    std::uint32_t parent;
    std::uint32_t word;
  };
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> node_slots_;
  std::vector<std::uint32_t> uses_;    // by word: how often it is written
  std::vector<List> lists_;            // in table order
  std::vector<std::uint32_t> stream_;  // as in the file, a number each
};

}  // namespace cidery
