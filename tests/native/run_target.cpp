// Runs a fuzz target on seeded inputs: caption-like lines, and damage to them. Usage: TARGET
// SEED COUNT. The file that includes this one, after the targets, defines kTargets.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

struct Target {
  std::string_view name;
  void (*run)(const std::uint8_t* data, std::size_t size);
};
extern const std::vector<Target> kTargets;

namespace {

std::string make_input(std::mt19937_64& random) {
  static const std::vector<std::string_view> kPieces{"a",
                                                     "dog",
                                                     "the",
                                                     "cat",
                                                     "on",
                                                     "Dr.",
                                                     "U.S.",
                                                     "don't",
                                                     "n't",
                                                     "'",
                                                     "\"",
                                                     "``",
                                                     "-",
                                                     "--",
                                                     "x-ray",
                                                     "5 1/2",
                                                     "1,000",
                                                     "$5",
                                                     "(",
                                                     ")",
                                                     "...",
                                                     ".",
                                                     ",",
                                                     "!",
                                                     "@",
                                                     "<br />",
                                                     "&amp;",
                                                     "http://a.b/c",
                                                     ":-)",
                                                     "\xC2\xA0",
                                                     "\xE2\x80\x99",
                                                     "\xE6\x97\xA5\xE6\x9C\xAC",
                                                     "\xF0\x9F\x98\x80",
                                                     "e\xCC\x81",
                                                     "\t",
                                                     "\r",
                                                     "\xE2\x80\xA8",
                                                     "\xC4\xB0",
                                                     "|||"};
  std::string input;
  const std::size_t lines = 1 + random() % 12;
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t words = random() % 50 == 0 ? 300 : random() % 14;
    for (std::size_t word = 0; word < words; ++word) {
      if (random() % 5 != 0) input += ' ';
      input += kPieces[random() % (random() % 2 == 0 ? 6 : kPieces.size())];
    }
    input += '\n';
  }
  if (random() % 8 == 0 && !input.empty())
    input[random() % input.size()] = static_cast<char>(random());
  if (random() % 16 == 0) input.resize(random() % (input.size() + 1));
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const unsigned long count = std::strtoul(argv[3], nullptr, 10);
  for (const Target& target : kTargets) {
    if (target.name != argv[1]) continue;
    std::mt19937_64 random(std::strtoul(argv[2], nullptr, 10));
    for (unsigned long i = 0; i < count; ++i) {
      const std::string input = make_input(random);
      target.run(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    }
    std::printf("%lu inputs\n", count);
    return 0;
  }
  return 2;
}
