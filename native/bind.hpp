// What the binding files share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "overlap.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cidery {

void bind_diversity(nb::module_& m);

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), array.size()};
}

/// Hands a vector over to NumPy without a copy.
template <class T>
nb::ndarray<nb::numpy, T> give(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  nb::capsule keeper(owned.release(),
                     [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(data, shape, keeper);
}

template <class T>
nb::ndarray<nb::numpy, T> give(std::vector<T>&& values) {
  const std::size_t size = values.size();
  return give(std::move(values), {size});
}

inline Overlap::ReferenceLength reference_length_named(const std::string& name) {
  if (name == "closest") return Overlap::ReferenceLength::closest;
  if (name == "shortest") return Overlap::ReferenceLength::shortest;
  if (name == "average") return Overlap::ReferenceLength::average;
  throw std::invalid_argument("unknown reference length '" + name + "'");
}

/// Runs work() without the GIL and gives its rows as float64[candidates, columns].
template <class Work>
nb::ndarray<nb::numpy, double> rows_without_gil(std::size_t candidates, const Work& work) {
  std::vector<double> rows;
  {
    nb::gil_scoped_release release;
    rows = work();
  }
  const std::size_t columns = candidates == 0 ? 1 : rows.size() / candidates;
  return give(std::move(rows), {candidates, columns});
}

}  // namespace cidery
