// METEOR for Python. Arrays go in and out flat; the GIL is released around all work on them.
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "meteor.hpp"

namespace cidery {
namespace {

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::string_view view(const nb::bytes& bytes) {
  return {bytes.c_str(), bytes.size()};
}

nb::bytes as_bytes(const std::string& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

/// A Python callable (list of words -> list of stems) as a stemmer that takes the GIL by itself.
MeteorStemmer stemmer_from(const nb::callable& callable) {
  return [&callable](const std::vector<std::string>& words) {
    const nb::gil_scoped_acquire acquired;
    nb::list list;
    for (const std::string& word : words) list.append(nb::str(word.data(), word.size()));
    std::vector<std::string> stems;
    for (nb::handle stem : nb::object(callable(list))) stems.push_back(nb::cast<std::string>(stem));
    return stems;
  };
}

std::shared_ptr<MeteorCaptions> meteor_captions_from_tokens(
    std::shared_ptr<const MeteorTable> table, const Captions& captions, const nb::callable& stemmer,
    bool paraphrases, unsigned threads) {
  const nb::gil_scoped_release released;
  return std::make_shared<MeteorCaptions>(std::move(table), captions, stemmer_from(stemmer),
                                          paraphrases, threads);
}

nb::list caption_words(const MeteorCaptions& captions, std::size_t caption) {
  if (caption >= captions.size()) throw nb::index_error("no such caption");
  nb::list words;
  for (const std::uint32_t id : captions[caption]) {
    const std::string_view word = captions.vocabulary()[id];
    words.append(nb::str(word.data(), word.size()));
  }
  return words;
}

/// α, β, γ, δ, then the weights of the four stages.
using Parameters = std::array<double, 8>;

MeteorParameters read(const Parameters& p) {
  return {p[0], p[1], p[2], p[3], {p[4], p[5], p[6], p[7]}};
}

std::span<const double> values_of(const Rows& rows) {
  if (rows.shape(1) != kMeteorStatistics) {
    throw std::invalid_argument("METEOR rows have " + std::to_string(kMeteorStatistics) +
                                " columns, these have " + std::to_string(rows.shape(1)));
  }
  return {rows.data(), rows.size()};
}

nb::ndarray<nb::numpy, double> measure(const MeteorCaptions& references,
                                       const Array<std::uint64_t>& reference_offsets,
                                       const MeteorCaptions& candidates,
                                       const Array<std::uint32_t>& candidate_images,
                                       const Parameters& parameters, unsigned threads) {
  std::vector<double> rows;
  {
    const nb::gil_scoped_release released;
    rows = meteor_measure(references, {reference_offsets.data(), reference_offsets.size()},
                          candidates, {candidate_images.data(), candidate_images.size()},
                          read(parameters), threads);
  }
  return give(std::move(rows), {candidates.size(), kMeteorStatistics});
}

nb::ndarray<nb::numpy, double> scores(const Rows& rows, const Parameters& given) {
  const MeteorParameters parameters = read(given);
  const std::span<const double> values = values_of(rows);
  std::vector<double> found;
  for (std::size_t at = 0; at < values.size(); at += kMeteorStatistics) {
    found.push_back(meteor_score(values.subspan(at).first<kMeteorStatistics>(), parameters));
  }
  const std::size_t count = found.size();
  return give(std::move(found), {count});
}

/// (matches, statistics): a match is (candidate start, length, reference start, length, stage).
nb::list are_function_words(const MeteorCaptions& captions, std::size_t caption) {
  if (caption >= captions.size()) throw nb::index_error("there is no such caption");
  nb::list found;
  for (const std::uint32_t id : captions[caption]) found.append(captions.word(id).is_function);
  return found;
}

nb::tuple align(const MeteorCaptions& candidates, std::size_t candidate,
                const MeteorCaptions& references, std::size_t reference) {
  const MeteorAlignment alignment = meteor_align(candidates, candidate, references, reference);
  static constexpr std::array<const char*, 4> kStages = {"exact", "stem", "synonym", "paraphrase"};
  nb::list matches;
  for (const MeteorMatch& match : alignment.matches) {
    matches.append(nb::make_tuple(match.candidate_start, match.candidate_length,
                                  match.reference_start, match.reference_length,
                                  kStages[static_cast<std::size_t>(match.stage)]));
  }
  const auto& row = alignment.statistics;
  return nb::make_tuple(matches,
                        give(std::vector<double>(row.begin(), row.end()), {kMeteorStatistics}));
}

}  // namespace

void bind_meteor(nb::module_& m) {
  nb::class_<MeteorTable>(m, "MeteorTable")
      .def_static(
          "open",
          [](const std::string& path) {
            const nb::gil_scoped_release released;
            return std::const_pointer_cast<MeteorTable>(MeteorTable::open(path));
          },
          "path"_a)
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes) {
            return std::const_pointer_cast<MeteorTable>(
                MeteorTable::from_bytes(std::string(view(bytes))));
          },
          "content"_a)
      .def_prop_ro("checksum", &MeteorTable::checksum)
      .def_prop_ro("language",
                   [](const MeteorTable& table) { return std::string(table.language()); })
      .def_prop_ro("has_paraphrases",
                   [](const MeteorTable& table) { return table.has_paraphrases(); })
      .def(
          "synsets",
          [](const MeteorTable& table, const std::string& word) {
            nb::list found;
            for (const std::uint32_t synset : table.synsets(word)) found.append(synset);
            return found;
          },
          "word"_a);

  nb::class_<MeteorTableBuilder>(m, "MeteorTableBuilder")
      .def(
          "__init__",
          [](MeteorTableBuilder* builder, const nb::bytes& function_words,
             const nb::bytes& prefixes, const nb::bytes& synsets, const nb::bytes& exceptions,
             const std::string& language) {
            new (builder) MeteorTableBuilder(
                {view(function_words), view(prefixes), view(synsets), view(exceptions), language});
          },
          "function_words"_a, "prefixes"_a, "synsets"_a, "exceptions"_a, "language"_a = "en")
      .def(
          "add_paraphrases",
          [](MeteorTableBuilder& builder, const nb::bytes& piece) {
            const nb::gil_scoped_release released;
            builder.add_paraphrases(view(piece));
          },
          "piece"_a)
      .def("finish", [](MeteorTableBuilder& builder) {
        std::string content;
        {
          const nb::gil_scoped_release released;
          content = builder.finish();
        }
        return as_bytes(content);
      });

  nb::class_<MeteorCaptions>(m, "MeteorCaptions")
      .def_static("from_tokens", &meteor_captions_from_tokens, "table"_a, "captions"_a, "stemmer"_a,
                  "paraphrases"_a, "threads"_a = 0)
      .def("__len__", &MeteorCaptions::size)
      .def("words", &caption_words, "caption"_a)
      .def("are_function_words", &are_function_words, "caption"_a);

  m.def("meteor_measure", &measure, "references"_a, "reference_offsets"_a, "candidates"_a,
        "candidate_images"_a, "parameters"_a, "threads"_a = 0);
  m.def("meteor_scores", &scores, "rows"_a, "parameters"_a);
  m.def("meteor_align", &align, "candidates"_a, "candidate"_a, "references"_a, "reference"_a);
}

}  // namespace cidery
