// Comparisons of an image's captions with each other. The GIL is released around all work.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bind.hpp"
#include "cider.hpp"
#include "word_products.hpp"

namespace cidery {
namespace {

/// Runs work() without the GIL and gives its values flat.
template <class Work>
nb::ndarray<nb::numpy, double> flat_without_gil(const Work& work) {
  std::vector<double> values;
  {
    nb::gil_scoped_release release;
    values = work();
  }
  return give(std::move(values));
}

}  // namespace

void bind_diversity(nb::module_& m) {
  m.def(
      "cider_kernels",
      [](const Cider& cider, bool one_way, unsigned threads) {
        return flat_without_gil([&] { return cider.kernels(one_way, threads); });
      },
      "cider"_a, "one_way"_a = false, "threads"_a = 0);
  m.def(
      "word_products",
      [](const NgramIndex& index, Array<std::uint8_t> ignored, unsigned threads) {
        return flat_without_gil([&] { return word_products(index, view(ignored), threads); });
      },
      "index"_a, "ignored"_a, "threads"_a = 0);
  m.def(
      "bleu_left_out",
      [](const Overlap& overlap, unsigned order, const std::string& reference_length,
         unsigned threads) {
        const auto option = reference_length_named(reference_length);
        return rows_without_gil(overlap.index().captions().size(),
                                [&] { return overlap.bleu_left_out(order, option, threads); });
      },
      "overlap"_a, "order"_a, "reference_length"_a, "threads"_a = 0);
}

}  // namespace cidery
