// Only the bind files know Python. Arrays go in and out flat; the GIL is released around all work
// on them.
#include "bind.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "captions.hpp"
#include "cider.hpp"
#include "compiler.hpp"
#include "exact_sum.hpp"
#include "frequencies.hpp"
#include "ngrams.hpp"
#include "overlap.hpp"
#include "partition.hpp"
#include "ptb.hpp"
#include "resample.hpp"

namespace cidery {

void bind_encoder(nb::module_& m);
void bind_rewards(nb::module_& m);

namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;

/// Calls visit(string) for each item of a list. Strings lie anywhere in memory: where they begin is
/// asked for some items before.
template <class Visit>
void each_string(nb::list list, const Visit& visit) {
  constexpr Py_ssize_t kAhead = 16;
  const Py_ssize_t count = PyList_Size(list.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const later = PyList_GetItem(list.ptr(), std::min(i + kAhead, count - 1));
    prefetch_memory(later);
    prefetch_memory(reinterpret_cast<const char*>(later) + 64);
    if (!visit(PyList_GetItem(list.ptr(), i))) return;
  }
}

/// A list as it is; of anything else that can be gone through, a list.
nb::list as_list(nb::handle values) {
  if (PyList_Check(values.ptr())) return nb::borrow<nb::list>(values);
  PyObject* const made = PySequence_List(values.ptr());
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::list>(made);
}

/// Views of a list's strings. They stay valid while the list holds them: the caller keeps it alive.
std::vector<std::string_view> string_views(nb::list strings) {
  std::vector<std::string_view> views;
  views.reserve(nb::len(strings));
  each_string(strings, [&](PyObject* item) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(item, &size);
    if (data == nullptr) throw nb::python_error();
    views.emplace_back(data, static_cast<std::size_t>(size));
    return true;
  });
  return views;
}

/// Whether all strings of a list are plain ASCII: their characters are as many as their bytes.
bool are_ascii(nb::list strings) {
  bool all = true;
  each_string(strings, [&](PyObject* item) {
    Py_ssize_t size = 0;
    if (PyUnicode_AsUTF8AndSize(item, &size) == nullptr) {
      if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw nb::python_error();
      PyErr_Clear();  // half of a surrogate pair
      all = false;
    } else {
      all = PyUnicode_GetLength(item) == size;
    }
    return all;
  });
  return all;
}

/// How many characters each string of a list has.
nb::ndarray<nb::numpy, std::int64_t> text_lengths(nb::list strings) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(nb::len(strings));
  each_string(strings, [&](PyObject* item) {
    const Py_ssize_t length = PyUnicode_GetLength(item);
    if (length < 0) throw nb::python_error();
    lengths.push_back(length);
    return true;
  });
  return give(std::move(lengths));
}

nb::str as_str(std::string_view text) {
  return nb::str(text.data(), text.size());
}

nb::list word_list(const Vocabulary& vocabulary) {
  nb::list words;
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id) words.append(as_str(vocabulary[id]));
  return words;
}

Tokenizer tokenizer_named(const std::string& name) {
  if (name == "whitespace") return Tokenizer::whitespace;
  if (name == "ptb") return Tokenizer::ptb;
  if (name == "ptb-coco") return Tokenizer::ptb_document;
  throw std::invalid_argument("unknown tokenizer '" + name + "'");
}

std::shared_ptr<Captions> captions_from_tokens(nb::list captions) {
  auto vocabulary = std::make_shared<Vocabulary>();
  auto result = std::make_shared<Captions>();
  for (nb::handle tokens : captions) {
    for (const auto token : string_views(as_list(tokens)))
      result->words.push_back(vocabulary->intern(token));
    result->offsets.push_back(result->words.size());
  }
  result->vocabulary = vocabulary;
  return result;
}

std::shared_ptr<Captions> captions_from_ids(std::shared_ptr<Vocabulary> vocabulary,
                                            Array<std::uint32_t> words,
                                            Array<std::uint64_t> offsets) {
  auto result = std::make_shared<Captions>();
  result->words.assign(words.data(), words.data() + words.size());
  result->offsets.assign(offsets.data(), offsets.data() + offsets.size());
  const auto& starts = result->offsets;
  if (starts.empty() || starts.front() != 0 || starts.back() != words.size() ||
      !std::is_sorted(starts.begin(), starts.end())) {
    throw std::invalid_argument("the offsets must ascend from 0 to the number of words");
  }
  for (const auto word : result->words) {
    if (word >= vocabulary->size())
      throw std::invalid_argument("a word id is outside the vocabulary");
  }
  result->vocabulary = vocabulary;
  return result;
}

nb::list token_lists(const Captions& captions) {
  const nb::list words = word_list(*captions.vocabulary);
  nb::list lists;
  for (std::size_t i = 0; i < captions.size(); ++i) {
    nb::list tokens;
    for (const auto word : captions[i]) tokens.append(words[word]);
    lists.append(tokens);
  }
  return lists;
}

/// Lists of strings, flat: where each list begins.
std::vector<std::uint64_t> list_pieces(nb::list lists, std::vector<std::string_view>& pieces) {
  std::vector<std::uint64_t> starts{0};
  for (nb::handle list : lists) {
    for (const auto piece : string_views(as_list(list))) pieces.push_back(piece);
    starts.push_back(pieces.size());
  }
  return starts;
}

std::shared_ptr<Expansion> make_expansion(nb::list words) {
  std::vector<std::string_view> pieces;
  auto starts = list_pieces(words, pieces);
  return std::make_shared<Expansion>(pieces, std::move(starts));
}

std::shared_ptr<Expansion> replace_words(const Captions& captions, Array<std::uint32_t> words,
                                         nb::list lists) {
  std::vector<std::string_view> pieces;
  const auto starts = list_pieces(lists, pieces);
  return std::make_shared<Expansion>(*captions.vocabulary, view(words), pieces, starts);
}

nb::tuple index_level(const NgramIndex& index, unsigned n) {
  if (n < 1 || n > index.order()) throw std::invalid_argument("the order is outside the index");
  std::vector<std::uint32_t> ids, parents, words, counts;
  const auto frequency = index.frequency(n);
  if (n == 1) {
    for (std::uint32_t id = 0; id < frequency.size(); ++id) {
      ids.push_back(id);
      parents.push_back(0);
      words.push_back(id);
      counts.push_back(frequency[id]);
    }
  } else {
    for (const auto& entry : index.entries(n)) {
      ids.push_back(entry.id);
      parents.push_back(entry.parent);
      words.push_back(entry.word);
      counts.push_back(frequency[entry.id]);
    }
  }
  return nb::make_tuple(give(std::move(ids)), give(std::move(parents)), give(std::move(words)),
                        give(std::move(counts)));
}

using LevelArrays = std::tuple<Array<std::uint8_t>, Array<std::uint8_t>, Array<std::uint32_t>,
                               Array<std::uint32_t>, Array<std::uint32_t>>;

std::shared_ptr<FrequencyTrie> make_trie(nb::list words, unsigned word_width, nb::list levels) {
  // The arrays (perhaps a mapped file) live as long as the trie does.
  auto owner = std::make_shared<std::vector<LevelArrays>>();
  std::vector<FrequencyTrie::Level> views;
  for (nb::handle level : levels) {
    const auto t = nb::cast<nb::tuple>(level);
    owner->emplace_back(nb::cast<Array<std::uint8_t>>(t[0]), nb::cast<Array<std::uint8_t>>(t[1]),
                        nb::cast<Array<std::uint32_t>>(t[2]), nb::cast<Array<std::uint32_t>>(t[3]),
                        nb::cast<Array<std::uint32_t>>(t[4]));
    const auto& a = owner->back();
    views.push_back({view(std::get<0>(a)), view(std::get<1>(a)), view(std::get<2>(a)),
                     view(std::get<3>(a)), view(std::get<4>(a))});
  }
  return std::make_shared<FrequencyTrie>(string_views(words), word_width, std::move(views), owner);
}

LengthPenalty penalty_named(const std::string& name) {
  if (name == "none") return LengthPenalty::none;
  if (name == "gaussian") return LengthPenalty::gaussian;
  if (name == "relative") return LengthPenalty::relative;
  throw std::invalid_argument("unknown length penalty '" + name + "'");
}

void bind_text(nb::module_& m) {
  nb::class_<Vocabulary>(m, "Vocabulary")
      .def("__init__",
           [](Vocabulary* self, nb::list words) {
             new (self) Vocabulary();
             for (const auto word : string_views(words)) self->intern(word);
           })
      .def("__len__", &Vocabulary::size)
      .def("find",
           [](const Vocabulary& self, std::string_view word) -> std::optional<std::uint32_t> {
             const std::uint32_t id = self.find(word);
             return id == kNone ? std::nullopt : std::optional(id);
           })
      .def("words", &word_list);

  nb::class_<Expansion>(m, "Expansion")
      .def(nb::new_(&make_expansion), "words"_a)
      .def_static("replacing", &replace_words, "captions"_a, "words"_a, "pieces"_a)
      .def_static(
          "at_blanks",
          [](const Captions& captions) {
            return std::make_shared<Expansion>(Expansion::at_blanks(*captions.vocabulary));
          },
          "captions"_a);

  nb::class_<Captions>(m, "Captions")
      .def_static("from_tokens", &captions_from_tokens, "captions"_a)
      .def_static("from_ids", &captions_from_ids, "vocabulary"_a, "words"_a, "offsets"_a)
      .def("__len__", &Captions::size)
      .def("vocabulary", [](const Captions& self) { return word_list(*self.vocabulary); })
      .def("tokens", &token_lists)
      .def("unusual_words",
           [](const Captions& self) {
             auto found = find_unusual_words(*self.vocabulary);
             nb::list words;
             for (const std::uint32_t id : found) words.append(as_str((*self.vocabulary)[id]));
             return nb::make_tuple(give(std::move(found)), words);
           })
      .def("has_blank_words",
           [](const Captions& self) { return has_blank_words(*self.vocabulary); })
      .def("words", [](const Captions& self) { return give(std::vector(self.words)); })
      .def("offsets", [](const Captions& self) { return give(std::vector(self.offsets)); })
      .def(
          "expand",
          [](const Captions& self, const Expansion& expansion) {
            return std::make_shared<Captions>(expansion.apply(self));
          },
          "expansion"_a, Release());

  m.def("are_ascii", &are_ascii, "texts"_a);
  m.def("text_lengths", &text_lengths, "texts"_a);

  m.def(
      "tokenize",
      [](nb::list texts, const std::string& tokenizer, unsigned threads) {
        const auto views = string_views(texts);
        const Tokenizer chosen = tokenizer_named(tokenizer);
        nb::gil_scoped_release release;
        return std::make_shared<Captions>(tokenize(views, chosen, threads));
      },
      "texts"_a, "tokenizer"_a, "threads"_a = 0);

  m.def(
      "tokenize_utf8",
      [](Array<std::uint8_t> content, Array<std::int64_t> offsets, const std::string& tokenizer,
         unsigned threads) {
        const Tokenizer chosen = tokenizer_named(tokenizer);
        nb::gil_scoped_release release;
        const auto views = text_views(view(content), view(offsets));
        return std::make_shared<Captions>(tokenize(views, chosen, threads));
      },
      "content"_a, "offsets"_a, "tokenizer"_a, "threads"_a = 0);

  m.def(
      "ptb_tokens",
      [](nb::list captions, bool document, bool clean) {
        const auto views = string_views(captions);
        nb::list lists;
        TokenBuffer buffer;
        for (std::size_t i = 0; i < views.size(); ++i) {
          buffer.clear();
          if (document) {
            ptb_tokenize_in_document(views, i, clean, buffer);
          } else {
            ptb_tokenize(views[i], clean, buffer);
          }
          nb::list tokens;
          std::size_t start = 0;
          for (const std::size_t end : buffer.ends) {
            tokens.append(as_str(std::string_view(buffer.bytes).substr(start, end - start)));
            start = end;
          }
          lists.append(tokens);
        }
        return lists;
      },
      "captions"_a, "document"_a = false, "clean"_a = true);
}

void bind_counts(nb::module_& m) {
  nb::class_<NgramIndex>(m, "NgramIndex")
      .def(nb::new_([](std::shared_ptr<Captions> captions, Array<std::uint64_t> image_offsets,
                       unsigned order, unsigned threads) {
             std::vector<std::uint64_t> offsets(image_offsets.data(),
                                                image_offsets.data() + image_offsets.size());
             nb::gil_scoped_release release;
             return std::make_shared<NgramIndex>(captions, std::move(offsets), order, threads);
           }),
           "captions"_a, "image_offsets"_a, "order"_a, "threads"_a = 0)
      .def_prop_ro("order", &NgramIndex::order)
      .def("level", &index_level, "n"_a)
      .def(
          "shard",
          [](const NgramIndex& self, Array<std::uint64_t> hashes, std::uint32_t shards) {
            std::vector<ShardedNgrams> orders;
            {
              nb::gil_scoped_release release;
              orders = shard_ngrams(self, view(hashes), shards);
            }
            nb::list given;
            for (std::size_t i = 0; i < orders.size(); ++i) {
              const std::size_t height = orders[i].words.size() / (i + 2);
              given.append(nb::make_tuple(give(std::move(orders[i].words), {height, i + 2}),
                                          give(std::move(orders[i].counts)),
                                          give(std::move(orders[i].starts))));
            }
            return given;
          },
          "hashes"_a, "shards"_a);

  m.def(
      "add_up_shard",
      [](nb::list parts, unsigned n, std::uint32_t word_count, std::uint32_t min_count) {
        using Words = nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
        using Wide = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
        std::vector<ShardPart> read;
        for (const nb::handle part : parts) {
          // Without copies, which would end before they are read.
          ShardPart& one = read.emplace_back();
          if (Words narrow; nb::try_cast(part[0], narrow, false)) {
            one.words = {narrow.data(), narrow.size()};
          } else {
            const auto wide = nb::cast<Wide>(part[0], false);
            one.wide_words = {wide.data(), wide.size()};
          }
          one.ranks = view(nb::cast<Array<std::uint32_t>>(part[1], false));
          one.counts = view(nb::cast<Array<std::uint32_t>>(part[2], false));
        }
        CountedNgrams found;
        {
          nb::gil_scoped_release release;  // the list keeps the arrays
          found = add_up_shard(read, n, word_count, min_count);
        }
        const std::size_t height = found.counts.size();
        return nb::make_tuple(give(std::move(found.words), {height, n}),
                              give(std::move(found.counts)));
      },
      "parts"_a, "n"_a, "word_count"_a, "min_count"_a);

  nb::class_<FrequencyTrie>(m, "FrequencyTrie")
      .def(nb::new_(&make_trie), "words"_a, "word_width"_a, "levels"_a)
      .def_prop_ro("order", &FrequencyTrie::order)
      .def(
          "count",
          [](const FrequencyTrie& self, nb::list ngram) -> std::uint32_t {
            const auto words = string_views(ngram);
            if (words.empty() || words.size() > self.order()) return 0;
            std::uint32_t entry = self.vocabulary().find(words[0]);
            for (unsigned n = 2; n <= words.size() && entry != kNone; ++n) {
              const std::uint32_t word = self.vocabulary().find(words[n - 1]);
              entry = word == kNone ? kNone : self.child(n, entry, word);
            }
            return entry == kNone ? 0 : self.count(static_cast<unsigned>(words.size()), entry);
          },
          "ngram"_a);
}

void bind_metrics(nb::module_& m) {
  nb::class_<Translation>(m, "Translation");

  nb::class_<CiderSettings>(m, "CiderSettings")
      .def(
          "__init__",
          [](CiderSettings* self, std::vector<double> order_weights, double scale, bool uniform_idf,
             bool clip, bool relative_counts, bool best_reference, const std::string& penalty,
             double sigma, double repetition_weight, bool mean_repetition) {
            new (self) CiderSettings{std::move(order_weights),
                                     scale,
                                     uniform_idf,
                                     clip,
                                     relative_counts,
                                     best_reference,
                                     penalty_named(penalty),
                                     sigma,
                                     repetition_weight,
                                     mean_repetition};
          },
          "order_weights"_a, nb::kw_only(), "scale"_a = 1.0, "uniform_idf"_a = false,
          "clip"_a = false, "relative_counts"_a = false, "best_reference"_a = false,
          "penalty"_a = "none", "sigma"_a = 6.0, "repetition_weight"_a = 0.8,
          "mean_repetition"_a = false);

  nb::class_<Cider>(m, "Cider")
      .def(nb::new_([](std::shared_ptr<NgramIndex> index, std::shared_ptr<FrequencyTrie> trie,
                       double log_image_count, const CiderSettings& settings,
                       std::shared_ptr<Captions> parts, unsigned threads) {
             nb::gil_scoped_release release;
             return std::make_shared<Cider>(index, trie, log_image_count, settings, parts, threads);
           }),
           "index"_a, "trie"_a.none(), "log_image_count"_a, "settings"_a,
           "parts"_a.none() = nb::none(), "threads"_a = 0)
      .def(
          "variant",
          [](const Cider& self, const CiderSettings& settings, std::shared_ptr<Captions> parts) {
            return std::make_shared<Cider>(self.variant(settings, parts));
          },
          "settings"_a, "parts"_a.none() = nb::none())
      .def(
          "translate",
          [](const Cider& self, const Captions& words, const Captions* parts) {
            return self.translate(*words.vocabulary, parts ? parts->vocabulary.get() : nullptr);
          },
          "candidates"_a, "parts"_a.none() = nb::none(), Release())
      .def(
          "similarities",
          [](const Cider& self, const Captions& candidates, Array<std::uint32_t> images,
             const Translation& translation, unsigned threads) {
            std::vector<double> values;
            {
              nb::gil_scoped_release release;
              values = self.similarities(candidates, view(images), translation, threads);
            }
            return give(std::move(values));
          },
          "candidates"_a, "images"_a, "translation"_a, "threads"_a = 0)
      .def(
          "measure",
          [](const Cider& self, const Captions& candidates, Array<std::uint32_t> images,
             const Translation& translation, Array<double> similarities, const Captions* parts,
             unsigned threads) {
            return rows_without_gil(candidates.size(), [&] {
              return self.measure(candidates, parts, view(images), translation, view(similarities),
                                  threads);
            });
          },
          "candidates"_a, "images"_a, "translation"_a, "similarities"_a,
          "parts"_a.none() = nb::none(), "threads"_a = 0);

  nb::class_<Overlap>(m, "Overlap")
      .def(nb::new_(
               [](std::shared_ptr<NgramIndex> index) { return std::make_shared<Overlap>(index); }),
           "index"_a)
      .def(
          "translate",
          [](const Overlap& self, const Captions& words) {
            return self.translate(*words.vocabulary);
          },
          "candidates"_a, Release())
      .def(
          "bleu",
          [](const Overlap& self, const Captions& candidates, Array<std::uint32_t> images,
             const Translation& translation, unsigned order, const std::string& reference_length,
             unsigned threads) {
            const auto option = reference_length_named(reference_length);
            return rows_without_gil(candidates.size(), [&] {
              return self.bleu(candidates, view(images), translation, order, option, threads);
            });
          },
          "candidates"_a, "images"_a, "translation"_a, "order"_a, "reference_length"_a,
          "threads"_a = 0)
      .def(
          "rouge_n",
          [](const Overlap& self, const Captions& candidates, Array<std::uint32_t> images,
             const Translation& translation, unsigned n, unsigned threads) {
            return rows_without_gil(candidates.size(), [&] {
              return self.rouge_n(candidates, view(images), translation, n, threads);
            });
          },
          "candidates"_a, "images"_a, "translation"_a, "n"_a, "threads"_a = 0)
      .def(
          "rouge_l",
          [](const Overlap& self, const Captions& candidates, Array<std::uint32_t> images,
             const Translation& translation, bool empty_is_a_word, unsigned threads) {
            return rows_without_gil(candidates.size(), [&] {
              return self.rouge_l(candidates, view(images), translation, empty_is_a_word, threads);
            });
          },
          "candidates"_a, "images"_a, "translation"_a, "empty_is_a_word"_a, "threads"_a = 0)
      .def(
          "rouge_w",
          [](const Overlap& self, const Captions& candidates, Array<std::uint32_t> images,
             const Translation& translation, double exponent, unsigned threads) {
            return rows_without_gil(candidates.size(), [&] {
              return self.rouge_w(candidates, view(images), translation, exponent, threads);
            });
          },
          "candidates"_a, "images"_a, "translation"_a, "exponent"_a, "threads"_a = 0)
      .def(
          "rouge_s",
          [](const Overlap& self, const Captions& candidates, Array<std::uint32_t> images,
             const Translation& translation, int skip, unsigned threads) {
            return rows_without_gil(candidates.size(), [&] {
              return self.rouge_s(candidates, view(images), translation, skip, threads);
            });
          },
          "candidates"_a, "images"_a, "translation"_a, "skip"_a, "threads"_a = 0);
}

void bind_statistics(nb::module_& m) {
  using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  m.def(
      "exact_sums",
      [](const Matrix& rows) {
        ExactSums sums;
        {
          nb::gil_scoped_release release;
          sums = exact_sums({rows.data(), rows.size()}, rows.shape(1));
        }
        nb::list units;
        for (std::size_t at = 0; at < sums.units.size(); at += ExactSum::kBytes)
          units.append(nb::bytes(&sums.units[at], ExactSum::kBytes));
        return nb::make_tuple(units, sums.others);
      },
      "rows"_a);
  m.def(
      "hash_texts",
      [](Array<std::uint8_t> bytes, Array<std::int64_t> offsets) {
        return give(hash_texts(view(bytes), view(offsets)));
      },
      "bytes"_a, "offsets"_a);
  m.def(
      "hash_words",
      [](nb::list words) {
        std::vector<std::uint64_t> hashes;
        hashes.reserve(nb::len(words));
        for (const auto word : string_views(words)) hashes.push_back(hash_text(word));
        return give(std::move(hashes));
      },
      "words"_a);
  m.def(
      "resample_sums",
      [](const Matrix& rows, std::size_t resamples, std::uint64_t seed, unsigned threads) {
        return rows_without_gil(resamples, [&] {
          return resample_sums({rows.data(), rows.size()}, rows.shape(1), resamples, seed, threads);
        });
      },
      "rows"_a, "resamples"_a, "seed"_a, "threads"_a = 0);
  m.def(
      "signed_sums",
      [](const Matrix& rows, Array<std::uint32_t> thresholds, std::size_t resamples,
         std::uint64_t seed, unsigned threads) {
        const auto chosen = view(thresholds);
        return rows_without_gil(resamples, [&] {
          return signed_sums({rows.data(), rows.size()}, rows.shape(1), chosen, resamples, seed,
                             threads);
        });
      },
      "rows"_a, "thresholds"_a, "resamples"_a, "seed"_a, "threads"_a = 0);
}

}  // namespace

void bind_meteor(nb::module_& m);  // bind_meteor.cpp

}  // namespace cidery

NB_MODULE(_native, m) {
  m.doc() = "The counting core of cidery: text to words, n-grams, frequencies, metrics.";
  cidery::bind_text(m);
  cidery::bind_counts(m);
  cidery::bind_metrics(m);
  cidery::bind_statistics(m);
  cidery::bind_meteor(m);
  cidery::bind_diversity(m);
  cidery::bind_rewards(m);
  cidery::bind_encoder(m);
}
