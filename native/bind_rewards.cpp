// What rewards and explanations need beyond scoring: captions from token ids, credit per n-gram and
// per word.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bind.hpp"
#include "cider.hpp"
#include "tokens.hpp"

namespace cidery {
namespace {

template <class T>
using Flat = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

TokenRows rows_of(const Matrix& ids) {
  return {{ids.data(), ids.size()}, ids.shape(0), ids.shape(1)};
}

TokenRows rows_of(const Flat<std::int64_t>& ids, const Flat<std::uint64_t>& offsets) {
  const std::span<const std::uint64_t> starts(offsets.data(), offsets.size());
  if (starts.empty() || starts.front() != 0 || starts.back() != ids.size() ||
      !std::is_sorted(starts.begin(), starts.end())) {
    throw std::invalid_argument("the offsets must ascend from 0 to the number of tokens");
  }
  return {{ids.data(), ids.size()}, starts.size() - 1, 0, starts};
}

std::shared_ptr<Captions> read(const TokenReader& reader, const TokenRows& rows) {
  nb::gil_scoped_release release;
  return std::make_shared<Captions>(reader.read(rows));
}

nb::ndarray<nb::numpy, bool> mask(const TokenReader& reader, const Matrix& ids) {
  auto chosen = std::make_unique<std::vector<std::uint8_t>>(reader.mask(rows_of(ids)));
  void* data = chosen->data();
  nb::capsule keeper(chosen.release(),
                     [](void* p) noexcept { delete static_cast<std::vector<std::uint8_t>*>(p); });
  return nb::ndarray<nb::numpy, bool>(data, {ids.shape(0), ids.shape(1)}, keeper);
}

nb::list credit(const Cider& cider, const Captions& candidates, const Flat<std::uint32_t>& images,
                const Translation& translation, const Captions* parts) {
  nb::list lists;
  for (const auto& credits :
       cider.credit(candidates, parts, {images.data(), images.size()}, translation)) {
    nb::list list;
    for (const auto& c : credits)
      list.append(nb::make_tuple(c.order, c.start, c.count, c.earned, c.cost));
    lists.append(list);
  }
  return lists;
}

nb::tuple word_shares(const Cider& cider, const Captions& candidates,
                      const Flat<std::uint32_t>& images, const Translation& translation,
                      const Captions* parts, unsigned threads) {
  WordShares shares;
  {
    nb::gil_scoped_release release;
    shares =
        cider.word_shares(candidates, parts, {images.data(), images.size()}, translation, threads);
  }
  return nb::make_tuple(give(std::move(shares.values)), give(std::move(shares.holders)),
                        give(std::move(shares.lacks)), give(std::move(shares.lacking)));
}

}  // namespace

void bind_rewards(nb::module_& m) {
  nb::class_<TokenReader>(m, "TokenReader")
      .def(nb::new_([](std::shared_ptr<Vocabulary> vocabulary, const Flat<std::uint32_t>& words,
                       std::optional<std::int64_t> pad, std::optional<std::int64_t> bos,
                       std::optional<std::int64_t> eos, std::optional<std::uint32_t> eos_word) {
             return std::make_shared<TokenReader>(
                 vocabulary, std::vector(words.data(), words.data() + words.size()),
                 TokenReader::Settings{pad, bos, eos, eos_word.value_or(kNone)});
           }),
           "vocabulary"_a, "words"_a, nb::kw_only(), "pad"_a.none(), "bos"_a.none(), "eos"_a.none(),
           "eos_word"_a.none())
      .def(
          "read", [](const TokenReader& self, Matrix ids) { return read(self, rows_of(ids)); },
          "ids"_a)
      .def(
          "read_ragged",
          [](const TokenReader& self, Flat<std::int64_t> ids, Flat<std::uint64_t> offsets) {
            return read(self, rows_of(ids, offsets));
          },
          "ids"_a, "offsets"_a)
      .def("mask", &mask, "ids"_a);

  m.def(
      "with_last_word",
      [](const Captions& captions, std::string_view word) {
        return std::make_shared<Captions>(with_last_word(captions, word));
      },
      "captions"_a, "word"_a);
  m.def("credit", &credit, "cider"_a, "candidates"_a, "images"_a, "translation"_a,
        "parts"_a.none() = nb::none());
  m.def("word_shares", &word_shares, "cider"_a, "candidates"_a, "images"_a, "translation"_a,
        "parts"_a.none() = nb::none(), "threads"_a = 0);
}

}  // namespace cidery
