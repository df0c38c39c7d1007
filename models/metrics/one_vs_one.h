#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headrace::inline v1::models {

/// A pair of classes, the smaller number first. The pairs of K classes are numbered (0, 1), (0, 2),
/// ..., (1, 2), ...
using ClassPair = std::pair<std::int64_t, std::int64_t>;

/// Those of so many classes. Throws `ConfigError` for fewer than two.
HEADRACE_API std::vector<ClassPair> class_pairs(std::int64_t classes);

/// How the networks of all pairs decide together. With r(i, j) the probability of class i against
/// j:
enum class VoteScheme : unsigned char {
  hard,        ///< a vote for i where r(i, j) > 0.5
  soft,        ///< the sum of r(i, j) over j
  confidence,  ///< the sum of r(i, j) |2 r(i, j) - 1|
  /// Of each pair its winner gets accuracy^2 |2 r - 1|, times the winner's weight and boost.
  weighted,
  /// The probabilities p, of sum 1, that minimise sum over i, j of (r(j, i) p(i) - r(i, j) p(j))^2:
  /// the second method of Wu, Lin and Weng (JMLR 5, 2004).
  coupling,
};

/// What schemes and ties go by; an empty list stands for ones, of `prior` for equal shares.
struct VoteOptions {
  std::int64_t classes = 2;
  std::vector<double> accuracies = {};     ///< of each pair, in [0, 1]
  std::vector<double> class_weights = {};  ///< of each class
  std::vector<double> boosts = {};         ///< of each class
  std::vector<double> prior = {};          ///< how frequent each class is, in any unit
};

/// Votes over one case at a time, in double precision. Const, so usable by any thread.
class HEADRACE_API OneVsOneVote {
 public:
  /// Throws `ConfigError` for fewer than two classes and for lists of another length.
  explicit OneVsOneVote(VoteOptions options);

  const std::vector<ClassPair>& pairs() const { return pairs_; }

  /// Scores of the classes, the larger the likelier; of `coupling` they are probabilities.
  /// `second` has a value for each pair: the probability of its second class, in [0, 1]. Throws
  /// `DataError` for another number of values and for one that is no probability.
  std::vector<double> scores(VoteScheme scheme, std::span<const double> second) const;

  /// The class of the largest score. Of classes that tie (to 1e-9) the one with the
  /// larger soft score wins, then the more frequent one, then the one with the lower number.
  std::int64_t winner(std::span<const double> scores, std::span<const double> second) const;

 private:
  std::vector<double> coupled(std::span<const double> second) const;
  void check(std::span<const double> second) const;

  VoteOptions options_;
  std::vector<ClassPair> pairs_;
};

}  // namespace headrace::inline v1::models
