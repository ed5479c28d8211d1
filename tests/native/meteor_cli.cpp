/// A small driver for checks without Python: builds a table, normalises lines, measures segments.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "meteor.hpp"
#include "meteor_normalise.hpp"

namespace {

using namespace cidery;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// build OUTPUT FUNCTION_WORDS PREFIXES SYNSETS EXCEPTIONS [PARAPHRASES]
int build(const std::vector<std::string>& arguments) {
  const double start = seconds();
  const std::string function_words = read_file(arguments.at(1));
  const std::string prefixes = read_file(arguments.at(2));
  const std::string synsets = read_file(arguments.at(3));
  const std::string exceptions = read_file(arguments.at(4));
  MeteorTableBuilder builder({function_words, prefixes, synsets, exceptions});
  if (arguments.size() > 5) {
    std::ifstream file(arguments[5], std::ios::binary);
    std::string piece(1 << 20, '\0');
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0) {
      builder.add_paraphrases(
          std::string_view(piece).substr(0, static_cast<std::size_t>(file.gcount())));
    }
  }
  const std::string bytes = builder.finish();
  std::ofstream(arguments.at(0), std::ios::binary) << bytes;
  std::fprintf(stderr, "built %zu bytes in %.2f s\n", bytes.size(), seconds() - start);
  return 0;
}

/// normalise TABLE: lines in, lines out
int normalise(const std::vector<std::string>& arguments) {
  const auto table = MeteorTable::open(arguments.at(0));
  for (std::string line, words; std::getline(std::cin, line);) {
    words.clear();
    meteor_normalise(line, *table, words);
    if (!words.empty()) words.pop_back();
    std::cout << words << '\n';
  }
  return 0;
}

/// Stems from a file of lines "word stem"; a word that is missing there is its own stem.
MeteorStemmer read_stems(const std::string& path) {
  auto stems = std::make_shared<std::unordered_map<std::string, std::string>>();
  std::ifstream file(path);
  for (std::string word, stem; file >> word >> stem;) (*stems)[word] = stem;
  return [stems](const std::vector<std::string>& words) {
    std::vector<std::string> found;
    for (const std::string& word : words) {
      const auto place = stems->find(word);
      found.push_back(place == stems->end() ? word : place->second);
    }
    return found;
  };
}

/// measure TABLE STEMS THREADS: lines "candidate TAB reference TAB reference ..." in, 23 numbers
/// and the score out
int measure(const std::vector<std::string>& arguments) {
  const double start = seconds();
  const auto table = MeteorTable::open(arguments.at(0));
  const double opened = seconds();
  const MeteorStemmer stemmer = read_stems(arguments.at(1));
  const auto threads = static_cast<unsigned>(std::stoul(arguments.at(2)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  std::vector<std::string_view> candidate_texts;
  std::vector<std::string_view> reference_texts;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> images;
  for (const std::string& line : lines) {
    std::string_view rest = line;
    for (bool first = true;; first = false) {
      const std::string_view field = rest.substr(0, rest.find('\t'));
      (first ? candidate_texts : reference_texts).push_back(field);
      if (field.size() == rest.size()) break;
      rest.remove_prefix(field.size() + 1);
    }
    images.push_back(static_cast<std::uint32_t>(offsets.size() - 1));
    offsets.push_back(reference_texts.size());
  }
  const double read = seconds();
  const MeteorCaptions references(table, reference_texts, stemmer, threads);
  const MeteorCaptions candidates(table, candidate_texts, stemmer, threads);
  const double prepared = seconds();
  const std::vector<double> rows = meteor_measure(references, offsets, candidates, images, threads);
  const double measured = seconds();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto row = std::span(rows).subspan(i * kMeteorStatistics).first<kMeteorStatistics>();
    for (const double value : row) std::printf("%.1f ", value);
    std::printf("%.17g\n", meteor_score(row));
  }
  std::printf("%.17g\n", meteor_score(meteor_pool(rows)));
  std::fprintf(stderr, "open %.4f s, prepare %.4f s, measure %.4f s\n", opened - start,
               prepared - read, measured - prepared);
  return 0;
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  try {
    const std::string command = arguments.empty() ? "" : arguments[0];
    const std::vector<std::string> rest(arguments.begin() + !arguments.empty(), arguments.end());
    if (command == "build") return build(rest);
    if (command == "normalise") return normalise(rest);
    if (command == "measure") return measure(rest);
    std::fprintf(stderr, "usage: meteor_cli build|normalise|measure ...\n");
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
