// The layers of BERT-like encoders. The GIL is released around all work.
#include <nanobind/nanobind.h>

#include "bind.hpp"
#include "encoder.hpp"

namespace cidery {

void bind_encoder(nb::module_& m) {
  using Floats = Array<float>;
  nb::class_<Encoder>(m, "Encoder")
      .def(nb::init<std::size_t, std::size_t, std::size_t, float>(), "width"_a, "heads"_a,
           "inner"_a, "epsilon"_a)
      .def_prop_ro("layers", &Encoder::layers)
      .def_prop_ro("kernel", &Encoder::kernel)
      .def(
          "add_layer",
          [](Encoder& encoder, Floats attend, Floats attend_bias, Floats gather, Floats gather_bias,
             Floats attended_scale, Floats attended_shift, Floats widen, Floats widen_bias,
             Floats narrow, Floats narrow_bias, Floats output_scale, Floats output_shift) {
            const EncoderWeights weights{
                view(attend),         view(attend_bias),    view(gather),       view(gather_bias),
                view(attended_scale), view(attended_shift), view(widen),        view(widen_bias),
                view(narrow),         view(narrow_bias),    view(output_scale), view(output_shift)};
            nb::gil_scoped_release release;
            encoder.add_layer(weights);
          },
          "attend"_a, "attend_bias"_a, "gather"_a, "gather_bias"_a, "attended_scale"_a,
          "attended_shift"_a, "widen"_a, "widen_bias"_a, "narrow"_a, "narrow_bias"_a,
          "output_scale"_a, "output_shift"_a)
      .def(
          "run",
          [](const Encoder& encoder, Floats states, Array<std::uint64_t> offsets,
             std::size_t layers, Floats bias, unsigned threads) {
            std::vector<float> result;
            {
              nb::gil_scoped_release release;
              result = encoder.run({view(states), view(offsets)}, layers, view(bias), threads);
            }
            const std::size_t tokens = result.size() / encoder.width();
            return give(std::move(result), {tokens, encoder.width()});
          },
          "states"_a, "offsets"_a, "layers"_a, "bias"_a, "threads"_a = 0);
}

}  // namespace cidery
