#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "meteor_table.hpp"

namespace cidery {
namespace {

[[noreturn]] void fail(const char* list, std::uint64_t line, const std::string& what) {
  throw std::invalid_argument(std::string(list) + ", line " + std::to_string(line) + ": " + what);
}

/// Takes the first line off `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Takes the first word off `line`; empty at the end.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

template <class Number>
std::string_view as_bytes(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

std::uint32_t narrow(std::size_t value) {
  if (value >= kNone) throw std::invalid_argument("the METEOR table is too large");
  return static_cast<std::uint32_t>(value);
}

/// Where groups of these sizes begin, one after the other, and where the last one ends.
std::vector<std::uint32_t> offsets_of(const std::vector<std::uint32_t>& sizes) {
  std::vector<std::uint32_t> offsets(sizes.size() + 1, 0);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) offsets[i + 1] = narrow(sum += sizes[i]);
  return offsets;
}

void append_number(std::uint32_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(static_cast<std::uint8_t>(value | 0x80)));
  out.push_back(static_cast<char>(value));
}

}  // namespace

/// Writes the header and the sections, each at a multiple of kAlignment.
class MeteorTableBuilder::FileWriter {
 public:
  FileWriter() : bytes_(sizeof(meteor_file::Header), '\0') {}

  void add(MeteorSection section, std::string_view bytes) {
    header_.extents[static_cast<std::size_t>(section)] = {bytes_.size(), bytes.size()};
    bytes_ += bytes;
    bytes_.resize((bytes_.size() + meteor_file::kAlignment - 1) / meteor_file::kAlignment *
                  meteor_file::kAlignment);
  }

  std::string finish() {
    header_.magic = meteor_file::kMagic;
    header_.version = meteor_file::kVersion;
    header_.sections = meteor_file::kSections;
    header_.size = bytes_.size();
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    header_.checksum =
        meteor_file::checksum(std::string_view(bytes_).substr(meteor_file::kUnchecked));
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return std::move(bytes_);
  }

 private:
  meteor_file::Header header_{};
  std::string bytes_;
};

MeteorTableBuilder::MeteorTableBuilder(const Lists& lists)
    : nodes_{{kNone, kNone}}, node_slots_(1 << 12, kNone) {
  for (std::string_view text = lists.function_words; !text.empty();) {
    const std::string_view word = take_line(text);
    if (!word.empty()) set_flag(word, meteor_file::kFunctionWord);
  }
  for (std::string_view text = lists.prefixes; !text.empty();) {
    std::string_view line = take_line(text);
    if (line.starts_with('#')) continue;
    const std::string_view prefix = take_word(line);
    if (prefix.empty()) continue;
    const bool numeric = take_word(line) == "#NUMERIC_ONLY#";
    set_flag(prefix, numeric ? meteor_file::kPrefixBeforeNumber : meteor_file::kPrefix);
  }
  read_synsets(lists.synsets);
  read_exceptions(lists.exceptions);
  if (lists.language != "en" && !lists.language.empty())
    set_flag(lists.language, meteor_file::kLanguage);
}

void MeteorTableBuilder::set_flag(std::string_view word, std::uint8_t flag) {
  const std::uint32_t id = words_.intern(word);
  if (id >= flags_.size()) flags_.resize(id + 1, 0);
  flags_[id] |= flag;
}

void MeteorTableBuilder::read_synsets(std::string_view text) {
  for (std::uint64_t line = 1; !text.empty(); line += 2) {
    const std::string_view word = take_line(text);
    std::string_view numbers = take_line(text);
    if (word.empty() || numbers.empty())
      fail("synonym sets", line, "expected a word and its synsets");
    const std::uint32_t id = words_.intern(word);
    for (std::string_view number = take_word(numbers); !number.empty();
         number = take_word(numbers)) {
      std::uint32_t synset = 0;
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), synset);
      if (error != std::errc() || end != number.data() + number.size()) {
        fail("synonym sets", line + 1, "'" + std::string(number) + "' is no synset number");
      }
      synsets_.push_back({id, synset});
    }
  }
}

void MeteorTableBuilder::read_exceptions(std::string_view text) {
  for (std::uint64_t line = 1; !text.empty(); line += 2) {
    const std::string_view base = take_line(text);
    std::string_view forms = take_line(text);
    if (base.empty() || forms.empty())
      fail("irregular forms", line, "expected a base form and its irregular forms");
    const std::uint32_t base_id = words_.intern(base);
    for (std::string_view form = take_word(forms); !form.empty(); form = take_word(forms)) {
      bases_.push_back({words_.intern(form), base_id});
    }
  }
}

void MeteorTableBuilder::add_paraphrases(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      partial_line_ += piece;
      return;
    }
    if (partial_line_.empty()) {
      add_line(piece.substr(0, end));
    } else {
      partial_line_ += piece.substr(0, end);
      add_line(partial_line_);
      partial_line_.clear();
    }
    piece.remove_prefix(end + 1);
  }
}

void MeteorTableBuilder::add_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  switch (line_number_++ % 3) {
    case 0:  // METEOR ignores the probability; a look at it notices a file that is something else
      if (line.empty() || line.find_first_not_of("0123456789.eE+-") != std::string_view::npos) {
        fail("paraphrase table", line_number_,
             "expected a probability, found '" + std::string(line.substr(0, 40)) + "'");
      }
      break;
    case 1:
      if (line != first_line_ || lists_.empty()) {
        read_phrase(line, first_);
        first_line_ = line;
        lists_.push_back({node_of(first_), stream_.size()});
        previous_.clear();
      }
      break;
    default: {
      read_phrase(line, second_);
      const auto [here, there] =
          std::mismatch(second_.begin(), second_.end(), previous_.begin(), previous_.end());
      const auto shared = static_cast<std::uint32_t>(here - second_.begin());
      stream_.push_back(shared << 4 | static_cast<std::uint32_t>(second_.size()));
      for (auto word = here; word != second_.end(); ++word) {
        stream_.push_back(*word);
        if (*word >= uses_.size()) uses_.resize(words_.size(), 0);
        ++uses_[*word];
      }
      std::swap(previous_, second_);
      break;
    }
  }
}

void MeteorTableBuilder::read_phrase(std::string_view line, std::vector<std::uint32_t>& words) {
  words.clear();
  std::string_view rest = line;
  for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) {
    words.push_back(words_.intern(word));
  }
  if (words.empty() || words.size() > kMeteorPhraseWords) {
    fail("paraphrase table", line_number_,
         "expected a phrase of 1 to " + std::to_string(kMeteorPhraseWords) + " words, found '" +
             std::string(line.substr(0, 80)) + "'");
  }
}

std::uint32_t MeteorTableBuilder::node_of(std::span<const std::uint32_t> phrase) {
  const auto slot_of = [&](std::uint32_t parent, std::uint32_t word) {
    const std::size_t mask = node_slots_.size() - 1;
    std::uint64_t hash = (static_cast<std::uint64_t>(parent) << 32 | word) * 0x9E3779B97F4A7C15u;
    std::size_t slot = static_cast<std::size_t>(hash >> 32) & mask;
    while (node_slots_[slot] != kNone &&
           (nodes_[node_slots_[slot]].parent != parent || nodes_[node_slots_[slot]].word != word)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  };
  std::uint32_t node = MeteorTable::kRoot;
  for (const std::uint32_t word : phrase) {
    const std::size_t slot = slot_of(node, word);
    if (node_slots_[slot] != kNone) {
      node = node_slots_[slot];
      continue;
    }
    const std::uint32_t added = narrow(nodes_.size());
    node_slots_[slot] = added;
    nodes_.push_back({node, word});
    node = added;
    if (nodes_.size() * 2 > node_slots_.size()) {
      node_slots_.assign(node_slots_.size() * 2, kNone);
      for (std::uint32_t i = 1; i < nodes_.size(); ++i)
        node_slots_[slot_of(nodes_[i].parent, nodes_[i].word)] = i;
    }
  }
  return node;
}

/// New ids by frequency: the commonest words of the paraphrases get the shortest numbers.
std::vector<std::uint32_t> MeteorTableBuilder::words_by_rank() const {
  std::vector<std::uint32_t> by_rank(words_.size());
  std::iota(by_rank.begin(), by_rank.end(), 0u);
  std::stable_sort(by_rank.begin(), by_rank.end(),
                   [&](auto a, auto b) { return uses_[a] > uses_[b]; });
  return by_rank;
}

void MeteorTableBuilder::write_words(std::span<const std::uint32_t> by_rank,
                                     FileWriter& file) const {
  std::string bytes;
  std::vector<std::uint32_t> sizes;
  std::vector<std::uint8_t> flags;
  std::vector<std::uint32_t> slots(std::bit_ceil(std::max<std::size_t>(by_rank.size() * 2, 16)),
                                   kNone);
  for (std::uint32_t id = 0; id < by_rank.size(); ++id) {
    const std::string_view word = words_[by_rank[id]];
    bytes += word;
    sizes.push_back(narrow(word.size()));
    flags.push_back(flags_[by_rank[id]]);
    std::size_t slot = static_cast<std::size_t>(meteor_file::hash_word(word)) & (slots.size() - 1);
    while (slots[slot] != kNone) slot = (slot + 1) & (slots.size() - 1);
    slots[slot] = id;
  }
  file.add(MeteorSection::word_bytes, bytes);
  file.add(MeteorSection::word_offsets, as_bytes(offsets_of(sizes)));
  file.add(MeteorSection::word_slots, as_bytes(slots));
  file.add(MeteorSection::word_flags, as_bytes(flags));
}

/// Groups entries by word, values ascending.
void MeteorTableBuilder::write_entries(std::vector<Entry>& entries, MeteorSection offsets,
                                       MeteorSection values, FileWriter& file) const {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.word, a.value) < std::pair(b.word, b.value);
  });
  std::vector<std::uint32_t> sizes(words_.size(), 0);
  std::vector<std::uint32_t> flat;
  flat.reserve(entries.size());
  for (const Entry& entry : entries) {
    ++sizes[entry.word];
    flat.push_back(entry.value);
  }
  file.add(offsets, as_bytes(offsets_of(sizes)));
  file.add(values, as_bytes(flat));
}

/// Writes the nodes level by level, so that the children of a node lie together, by ascending word.
/// Returns the new number of each node.
std::vector<std::uint32_t> MeteorTableBuilder::write_nodes(std::span<const std::uint32_t> rank,
                                                           FileWriter& file) {
  std::vector<std::vector<std::uint32_t>> levels(kMeteorPhraseWords + 1);
  std::vector<std::uint8_t> depth(nodes_.size(), 0);
  levels[0].push_back(MeteorTable::kRoot);
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    nodes_[i].word = rank[nodes_[i].word];
    depth[i] = static_cast<std::uint8_t>(depth[nodes_[i].parent] +
                                         1);  // a parent is older than its children
    levels[depth[i]].push_back(i);
  }
  std::vector<std::uint32_t> place(nodes_.size(), 0);
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t> child_counts(nodes_.size(), 0);
  words.reserve(nodes_.size());
  for (std::vector<std::uint32_t>& level : levels) {
    const auto key = [&](std::uint32_t i) {
      return std::pair(i == MeteorTable::kRoot ? 0 : place[nodes_[i].parent], nodes_[i].word);
    };
    std::sort(level.begin(), level.end(), [&](auto a, auto b) { return key(a) < key(b); });
    for (const std::uint32_t node : level) {
      place[node] = narrow(words.size());
      words.push_back(nodes_[node].word);
      if (node != MeteorTable::kRoot) ++child_counts[place[nodes_[node].parent]];
    }
  }
  std::vector<std::uint32_t> children = offsets_of(child_counts);
  for (std::uint32_t& begin : children) ++begin;  // the root is nobody's child
  file.add(MeteorSection::node_words, as_bytes(words));
  file.add(MeteorSection::node_children, as_bytes(children));
  return place;
}

/// A phrase may come back later in an unsorted table: its lists are joined in table order.
void MeteorTableBuilder::write_paraphrases(std::span<const std::uint32_t> rank,
                                           std::span<const std::uint32_t> place,
                                           FileWriter& file) const {
  std::vector<std::uint32_t> order(lists_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return place[lists_[a].node] < place[lists_[b].node]; });
  std::vector<std::uint32_t> sizes(nodes_.size(), 0);
  std::string bytes;
  for (const std::uint32_t list : order) {
    const std::size_t before = bytes.size();
    const std::size_t end = list + 1 < lists_.size() ? lists_[list + 1].begin : stream_.size();
    for (std::size_t at = lists_[list].begin; at < end;) {
      const std::uint32_t head = stream_[at++];
      bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(head)));
      for (std::uint32_t left = (head & 15u) - (head >> 4); left > 0; --left) {
        append_number(rank[stream_[at++]], bytes);
      }
    }
    sizes[place[lists_[list].node]] += narrow(bytes.size() - before);
  }
  file.add(MeteorSection::node_paraphrases, as_bytes(offsets_of(sizes)));
  file.add(MeteorSection::paraphrases, bytes);
}

std::string MeteorTableBuilder::finish() {
  if (!partial_line_.empty()) add_line(std::exchange(partial_line_, {}));
  if (line_number_ % 3 != 0)
    fail("paraphrase table", line_number_, "the file ends inside an entry");
  flags_.resize(words_.size(), 0);
  uses_.resize(words_.size(), 0);
  const std::vector<std::uint32_t> by_rank = words_by_rank();
  std::vector<std::uint32_t> rank(by_rank.size());
  for (std::uint32_t id = 0; id < by_rank.size(); ++id) rank[by_rank[id]] = id;
  for (Entry& entry : synsets_) entry.word = rank[entry.word];
  for (Entry& entry : bases_) entry = {rank[entry.word], rank[entry.value]};

  FileWriter file;
  write_words(by_rank, file);
  write_entries(synsets_, MeteorSection::synset_offsets, MeteorSection::synsets, file);
  write_entries(bases_, MeteorSection::base_offsets, MeteorSection::bases, file);
  const std::vector<std::uint32_t> place = write_nodes(rank, file);
  write_paraphrases(rank, place, file);
  *this = MeteorTableBuilder({});
  return file.finish();
}

}  // namespace cidery
