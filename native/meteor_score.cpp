#include <cmath>

#include "meteor.hpp"

namespace cidery {
namespace {

constexpr std::size_t kChunks = 20;
constexpr std::size_t kCandidateMatched = 21;
constexpr std::size_t kReferenceMatched = 22;

bool is_perfect(std::span<const double, kMeteorStatistics> s) {
  return s[kChunks] == 1.0 && s[kCandidateMatched] == s[0] && s[kReferenceMatched] == s[1];
}

/// The weighted share of one side's words that matched; side 0 is the candidate, 1 the reference.
/// The terms are added in the original's order, all content words first: the best of several
/// references can hang on the last bit.
double matched_share(std::span<const double, kMeteorStatistics> s, std::size_t side,
                     const MeteorParameters& p) {
  const double words = p.delta * (s[side] - s[2 + side]) + (1.0 - p.delta) * s[2 + side];
  double matched = 0.0;
  for (std::size_t stage = 0; stage < p.weights.size(); ++stage) {
    matched += s[4 + 4 * stage + side] * p.weights[stage] * p.delta;
  }
  for (std::size_t stage = 0; stage < p.weights.size(); ++stage) {
    matched += s[6 + 4 * stage + side] * p.weights[stage] * (1.0 - p.delta);
  }
  return words > 0.0 ? matched / words : 0.0;
}

}  // namespace

double meteor_score(std::span<const double, kMeteorStatistics> s, const MeteorParameters& p) {
  const double precision = matched_share(s, 0, p);
  const double recall = matched_share(s, 1, p);
  if (precision <= 0.0 || recall <= 0.0) return 0.0;
  const double mean = 1.0 / ((1.0 - p.alpha) / precision + p.alpha / recall);
  const double matched = (s[kCandidateMatched] + s[kReferenceMatched]) / 2.0;
  const double fragmentation = is_perfect(s) ? 0.0 : s[kChunks] / matched;
  return mean * (1.0 - p.gamma * std::pow(fragmentation, p.beta));
}

}  // namespace cidery
