#include "meteor_table.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "compiler.hpp"

#if CIDERY_HAS_MMAP
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace cidery {

static_assert(std::endian::native == std::endian::little, "the table file is little-endian");

namespace meteor_file {

std::uint64_t hash_word(std::string_view word) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a: words are short
  for (const char c : word) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return hash ^ (hash >> 29);
}

std::uint64_t checksum(std::string_view bytes) {
  constexpr std::uint64_t kFirst = 0x9E3779B97F4A7C15u;
  constexpr std::uint64_t kSecond = 0xC2B2AE3D27D4EB4Fu;
  std::array<std::uint64_t, 4> lanes = {kFirst, kSecond, kFirst ^ kSecond, bytes.size()};
  const auto mix = [](std::uint64_t lane, std::uint64_t block) {
    return std::rotl(lane ^ (block * kSecond), 31) * kFirst;
  };
  const char* data = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 32; left -= 32, data += 32) {
    std::array<std::uint64_t, 4> blocks;
    std::memcpy(blocks.data(), data, 32);
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], blocks[i]);
  }
  std::array<std::uint64_t, 4> rest{};
  if (left > 0) std::memcpy(rest.data(), data, left);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < 4; ++i) hash = mix(hash, mix(lanes[i], rest[i]));
  return hash ^ (hash >> 32);
}

}  // namespace meteor_file

namespace {

[[noreturn]] void fail_damaged(const char* what) {
  throw std::runtime_error(std::string("METEOR table is damaged: ") + what);
}

/// The items [offsets[i], offsets[i + 1]).
template <class Items>
Items slice(const Items& items, std::span<const std::uint32_t> offsets, std::size_t i) {
  if (i + 1 >= offsets.size()) fail_damaged("an index points outside its section");
  const std::size_t begin = offsets[i];
  const std::size_t end = offsets[i + 1];
  if (begin > end || end > items.size()) fail_damaged("an offset points outside its section");
  if constexpr (requires { items.substr(begin); }) {
    return items.substr(begin, end - begin);
  } else {
    return items.subspan(begin, end - begin);
  }
}

}  // namespace

/// Owns the bytes: a mapping, or a string.
class MeteorTable::Storage {
 public:
  explicit Storage(std::string bytes) : owned_(std::move(bytes)), bytes_(owned_) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

#if !CIDERY_HAS_MMAP
  explicit Storage(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot open the METEOR table " + path.string());
    owned_.assign(std::istreambuf_iterator<char>(file), {});
    bytes_ = owned_;
  }
  ~Storage() = default;
#else
  explicit Storage(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail(path);
    struct stat status{};
    if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(file);
      throw std::runtime_error("the METEOR table " + path.string() + " is not a regular file");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > 0) {
      void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
      if (data == MAP_FAILED) {
        ::close(file);
        fail(path);
      }
      bytes_ = {static_cast<const char*>(data), size};
      mapped_ = true;
    }
    ::close(file);
  }
  ~Storage() {
    if (mapped_) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
#endif

  std::string_view bytes() const { return bytes_; }

 private:
#if CIDERY_HAS_MMAP
  [[noreturn]] static void fail(const std::filesystem::path& path) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot open the METEOR table " + path.string());
  }
  bool mapped_ = false;
#endif
  std::string owned_;
  std::string_view bytes_;
};

std::shared_ptr<const MeteorTable> MeteorTable::open(const std::filesystem::path& path) {
  return std::shared_ptr<const MeteorTable>(new MeteorTable(std::make_unique<const Storage>(path)));
}

std::shared_ptr<const MeteorTable> MeteorTable::from_bytes(std::string bytes) {
  return std::shared_ptr<const MeteorTable>(
      new MeteorTable(std::make_unique<const Storage>(std::move(bytes))));
}

MeteorTable::~MeteorTable() = default;

MeteorTable::MeteorTable(std::unique_ptr<const Storage> storage) : storage_(std::move(storage)) {
  using meteor_file::Header;
  const std::string_view bytes = storage_->bytes();
  if (bytes.size() < sizeof(Header::magic) ||
      std::memcmp(bytes.data(), meteor_file::kMagic.data(), meteor_file::kMagic.size()) != 0) {
    throw std::runtime_error("this is not a METEOR table file");
  }
  if (bytes.size() < sizeof(Header)) fail_damaged("the file is cut short");
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(Header));
  if (header.version != meteor_file::kVersion || header.sections != meteor_file::kSections) {
    throw std::runtime_error("METEOR table file has format version " +
                             std::to_string(header.version) + ", this program reads version " +
                             std::to_string(meteor_file::kVersion) + "; build it again");
  }
  if (header.size != bytes.size()) {
    fail_damaged(header.size > bytes.size() ? "the file is cut short"
                                            : "the file is longer than it says");
  }
  if (meteor_file::checksum(bytes.substr(meteor_file::kUnchecked)) != header.checksum) {
    fail_damaged("its checksum does not fit");
  }
  checksum_ = header.checksum;

  const auto section = [&](MeteorSection which) {
    const auto& extent = header.extents[static_cast<std::size_t>(which)];
    if (extent.offset > bytes.size() || extent.size > bytes.size() - extent.offset ||
        extent.offset % meteor_file::kAlignment != 0) {
      fail_damaged("a section lies outside the file");
    }
    return bytes.substr(extent.offset, extent.size);
  };
  const auto numbers = [&](MeteorSection which) {
    const std::string_view raw = section(which);
    if (raw.size() % sizeof(std::uint32_t) != 0) fail_damaged("a section has an odd size");
    // sections are 8-byte aligned in a mapping or a heap string, and the writer put u32 there
    return std::span(reinterpret_cast<const std::uint32_t*>(raw.data()),
                     raw.size() / sizeof(std::uint32_t));
  };
  word_bytes_ = section(MeteorSection::word_bytes);
  word_offsets_ = numbers(MeteorSection::word_offsets);
  slots_ = numbers(MeteorSection::word_slots);
  flags_ = section(MeteorSection::word_flags);
  synset_offsets_ = numbers(MeteorSection::synset_offsets);
  synsets_ = numbers(MeteorSection::synsets);
  base_offsets_ = numbers(MeteorSection::base_offsets);
  bases_ = numbers(MeteorSection::bases);
  node_words_ = numbers(MeteorSection::node_words);
  node_children_ = numbers(MeteorSection::node_children);
  node_paraphrases_ = numbers(MeteorSection::node_paraphrases);
  paraphrases_ = section(MeteorSection::paraphrases);
  const std::size_t words = flags_.size();
  const std::size_t nodes = node_words_.size();
  if (word_offsets_.size() != words + 1 || synset_offsets_.size() != words + 1 ||
      base_offsets_.size() != words + 1 || node_children_.size() != nodes + 1 ||
      node_paraphrases_.size() != nodes + 1 || nodes == 0 || !std::has_single_bit(slots_.size())) {
    fail_damaged("its sections do not fit together");
  }
  for (std::size_t id = 0; id < words; ++id) {
    if ((static_cast<std::uint8_t>(flags_[id]) & meteor_file::kLanguage) != 0)
      language_ = word(static_cast<std::uint32_t>(id));
  }
}

std::string_view MeteorTable::word(std::uint32_t id) const {
  return slice(word_bytes_, word_offsets_, id);
}

std::uint32_t MeteorTable::find(std::string_view word) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(meteor_file::hash_word(word)) & mask;
  for (std::size_t probes = 0; probes < slots_.size(); ++probes, slot = (slot + 1) & mask) {
    const std::uint32_t id = slots_[slot];
    if (id == kNone || this->word(id) == word) return id;
  }
  return kNone;
}

bool MeteorTable::is_function_word(std::uint32_t word) const {
  return word != kNone &&
         (static_cast<std::uint8_t>(flags_.at(word)) & meteor_file::kFunctionWord) != 0;
}

MeteorPrefix MeteorTable::prefix(std::string_view word) const {
  const std::uint32_t id = find(word);
  if (id == kNone) return MeteorPrefix::none;
  const auto flags = static_cast<std::uint8_t>(flags_.at(id));
  if (flags & meteor_file::kPrefixBeforeNumber) return MeteorPrefix::before_number;
  return flags & meteor_file::kPrefix ? MeteorPrefix::always : MeteorPrefix::none;
}

void MeteorTable::add_synsets(std::uint32_t word, std::vector<std::uint32_t>& out) const {
  const auto found = slice(synsets_, synset_offsets_, word);
  out.insert(out.end(), found.begin(), found.end());
}

std::vector<std::uint32_t> MeteorTable::synsets(std::string_view word) const {
  struct Ending {
    std::string_view inflected;
    std::string_view base;
  };
  static constexpr Ending kEndings[] = {
      {"s", ""},      {"ses", "s"}, {"xes", "x"}, {"zes", "z"}, {"ches", "ch"}, {"shes", "sh"},
      {"men", "man"}, {"ies", "y"}, {"es", "e"},  {"es", ""},   {"ed", "e"},    {"ed", ""},
      {"ing", "e"},   {"ing", ""},  {"er", ""},   {"est", ""},  {"er", "e"},    {"est", "e"}};
  std::vector<std::uint32_t> found;
  const std::uint32_t id = find(word);
  std::span<const std::uint32_t> irregular;
  if (id != kNone) {
    add_synsets(id, found);
    irregular = slice(bases_, base_offsets_, id);
  }
  if (!irregular.empty()) {
    for (const std::uint32_t base : irregular) add_synsets(base, found);
  } else if (word.size() > 2 && !word.ends_with("ss")) {
    std::string base;
    for (const Ending& ending : kEndings) {
      if (!word.ends_with(ending.inflected)) continue;
      base.assign(word.substr(0, word.size() - ending.inflected.size())).append(ending.base);
      const std::uint32_t base_id = find(base);
      if (base_id == kNone || slice(synsets_, synset_offsets_, base_id).empty()) continue;
      add_synsets(base_id, found);
      break;
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::uint32_t MeteorTable::child(std::uint32_t node, std::uint32_t word) const {
  const auto children = slice(node_words_, node_children_, node);
  const auto place = std::lower_bound(children.begin(), children.end(), word);
  if (place == children.end() || *place != word) return kNone;
  return static_cast<std::uint32_t>(node_children_[node] +
                                    static_cast<std::size_t>(place - children.begin()));
}

std::string_view MeteorTable::list_of(std::uint32_t node) const {
  return slice(paraphrases_, node_paraphrases_, node);
}

bool MeteorTable::Paraphrases::next() {
  if (at_ == bytes_.size()) return false;
  const auto byte = [&] {
    if (at_ == bytes_.size()) fail_damaged("a phrase is cut short");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  };
  const std::uint8_t head = byte();
  const std::size_t shared = head >> 4;
  const std::size_t length = head & 15u;
  if (shared > length_ || shared > length || length == 0) fail_damaged("a phrase has no length");
  for (std::size_t i = shared; i < length; ++i) {
    std::uint32_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t next = byte();
      if (shift > 28) fail_damaged("a number is too long");
      value |= static_cast<std::uint32_t>(next & 0x7Fu) << shift;
      if (next < 0x80) break;
    }
    words_[i] = value;
  }
  length_ = length;
  return true;
}

}  // namespace cidery
