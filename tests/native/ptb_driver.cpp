/// Tokenize captions from standard input, one per line, for comparison in bulk.
///
/// Usage: ptb_driver single|document raw|clean < captions > tokens
/// In document mode an empty line of the form "\x1d" ends a document, so that many can be sent at
/// once.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "../../native/ptb.hpp"

namespace {

void print(const cidery::TokenBuffer& tokens, std::string& out) {
  std::size_t start = 0;
  for (const std::uint32_t end : tokens.ends) {
    if (start != 0) {
      out += ' ';
    }
    out.append(tokens.bytes, start, end - start);
    start = end;
  }
  out += '\n';
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void run_document(const std::vector<std::string_view>& captions, bool clean, std::string& out) {
  cidery::TokenBuffer tokens;
  for (std::size_t i = 0; i < captions.size(); ++i) {
    tokens.clear();
    cidery::ptb_tokenize_in_document(captions, i, clean, tokens);
    print(tokens, out);
  }
}

/// Nanoseconds per byte over the captions, best of several passes.
void bench(const std::vector<std::string_view>& captions, std::size_t bytes) {
  double best = 1e300;
  std::size_t count = 0;
  for (int pass = 0; pass < 10; ++pass) {
    cidery::TokenBuffer tokens;
    const auto start = std::chrono::steady_clock::now();
    for (const std::string_view caption : captions) {
      cidery::ptb_tokenize(caption, true, tokens);
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
    count = tokens.ends.size();
  }
  std::printf("%zu captions, %zu bytes, %zu tokens: %.3f ms, %.2f ns per byte\n", captions.size(),
              bytes, count, best / 1e6, best / static_cast<double>(bytes));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "single";
  const bool clean = argc > 2 && std::string_view(argv[2]) == "clean";
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  const std::vector<std::string_view> lines = split_lines(input);
  std::string out;
  if (mode == "bench") {
    bench(lines, input.size());
  } else if (mode == "document") {
    std::vector<std::string_view> captions;
    for (const std::string_view line : lines) {
      if (line == "\x1d") {
        run_document(captions, clean, out);
        captions.clear();
      } else {
        captions.push_back(line);
      }
    }
    run_document(captions, clean, out);
  } else {
    cidery::TokenBuffer tokens;
    for (const std::string_view line : lines) {
      tokens.clear();
      cidery::ptb_tokenize(line, clean, tokens);
      print(tokens, out);
    }
  }
  std::cout << out;
}
