// Feeds METEOR's normaliser and alignment, damaged table files, and the table compiler.
// Built and run as fuzz_core.cpp.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "meteor.hpp"
#include "meteor_normalise.hpp"
#include "target.hpp"

namespace cidery::fuzz_meteor {
namespace {

std::string tiny_table(std::string_view language = "en") {
  MeteorTableBuilder builder({"the\na\n.\n's\n", "v\nNo #NUMERIC_ONLY#\n",
                              "dog\n1 2\nhound\n2 3\nwalk\n4\nstroll\n4 5\nman\n6\n",
                              "man\nmen\ngo\nwent gone\n", language});
  builder.add_paraphrases(
      "0.1\na b\nb\n0.1\na b\nb a\n0.1\na b\nc d e\n0.1\nb\na b\n0.1\nb\na\n0.2\nc\nd d\n0.2\nc "
      "d\nc\n0.2\nd\nc\n");
  return builder.finish();
}

/// A stemmer that makes stems collide.
std::vector<std::string> stem(const std::vector<std::string>& words) {
  std::vector<std::string> stems;
  for (const std::string& word : words) stems.push_back(word.substr(0, 2));
  return stems;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    if (end == text.size()) return lines;
    text.remove_prefix(end + 1);
  }
}

/// Normalising again, token by token or not, and comparing: everything that must hold of any
/// captions.
void check_captions(const std::shared_ptr<const MeteorTable>& table, std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text.substr(0, 2000));
  const MeteorCaptions captions(table, lines, stem, true, 1);
  expect(captions.size() == lines.size(), "every line is a caption");
  const std::vector<std::uint64_t> offsets = {0, lines.size() / 2, lines.size()};
  std::vector<std::uint32_t> images;
  for (std::size_t i = 0; i < lines.size(); ++i)
    images.push_back(static_cast<std::uint32_t>(i % 2));
  const std::vector<double> one = meteor_measure(captions, offsets, captions, images, {}, 1);
  expect(one == meteor_measure(captions, offsets, captions, images, {}, 3),
         "threads do not change the bits");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto row = std::span(one).subspan(i * kMeteorStatistics).first<kMeteorStatistics>();
    const double score = meteor_score(row, {});
    expect(score >= 0.0 && score <= 1.0 && row[21] <= row[0] && row[22] <= row[1] &&
               row[20] <= row[21],
           "scores lie in their range, and no more words match than there are");
  }
  const MeteorAlignment self = meteor_align(captions, 0, captions, 0);
  std::vector<char> used(captions[0].size(), 0);
  for (const MeteorMatch& match : self.matches) {
    for (std::size_t i = 0; i < match.candidate_length; ++i)
      expect(used.at(match.candidate_start + i)++ == 0, "a word matches once");
  }
}

/// Bytes of the tiny table, changed in places; with `sealed` the checksum fits again, as in a
/// forged file.
void check_damaged(const std::string& good, std::string_view edits, bool sealed) {
  std::string bytes = good;
  for (; edits.size() >= 4; edits.remove_prefix(4)) {
    std::uint16_t place = 0;
    std::memcpy(&place, edits.data(), 2);
    if (edits[2] == 'X') {
      bytes.resize(place % (bytes.size() + 1));
    } else if (!bytes.empty()) {
      bytes[place % bytes.size()] = edits[3];
    }
  }
  if (sealed && bytes.size() >= sizeof(meteor_file::Header)) {
    const std::uint64_t size = bytes.size();
    std::memcpy(bytes.data() + offsetof(meteor_file::Header, size), &size, sizeof(size));
    const std::uint64_t sum =
        meteor_file::checksum(std::string_view(bytes).substr(meteor_file::kUnchecked));
    std::memcpy(bytes.data() + offsetof(meteor_file::Header, checksum), &sum, sizeof(sum));
  }
  const bool same = bytes == good;
  try {
    const auto table = MeteorTable::from_bytes(bytes);
    expect(same || sealed, "damage is seen");
    check_captions(table, "a b c d dog\nhounds men went v. No. 5\nb a c d e walking");
  } catch (const std::runtime_error&) {
    expect(!same, "a good table is read");
  }
}

void check_builder(std::string_view text) {
  const std::size_t part = text.size() / 5;
  try {
    MeteorTableBuilder builder({text.substr(0, part), text.substr(part, part),
                                text.substr(2 * part, part), text.substr(3 * part, part), "en"});
    builder.add_paraphrases(text.substr(4 * part, part / 2));
    builder.add_paraphrases(text.substr(4 * part + part / 2));
    check_captions(MeteorTable::from_bytes(builder.finish()), text);
  } catch (const std::invalid_argument&) {
  }
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  static const std::string good = tiny_table();
  static const std::array tables = {
      MeteorTable::from_bytes(good), MeteorTable::from_bytes(tiny_table("de")),
      MeteorTable::from_bytes(tiny_table("fr")), MeteorTable::from_bytes(tiny_table("it"))};
  if (size == 0) return;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      check_damaged(good, rest, false);
      break;
    case 1:
    case 2:
      check_damaged(good, rest, true);
      break;
    case 3:
      check_builder(rest);
      break;
    default:
      check_captions(tables[data[0] % tables.size()], rest);
  }
}

}  // namespace cidery::fuzz_meteor

CIDERY_FUZZ_TARGET(fuzz_meteor)
