#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/one_vs_one.h>

#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::models;
using doctest::Approx;

namespace {

using Values = std::vector<double>;

void check_scores(const Values& scores, const Values& wanted, double tolerance) {
  REQUIRE(scores.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    CHECK(scores[i] == Approx(wanted[i]).epsilon(tolerance));
}

const Values of_three{0.7, 0.4, 0.45};

}  // namespace

TEST_CASE("pairs of classes are numbered by their first class, then by their second") {
  CHECK((class_pairs(4) == std::vector<ClassPair>{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}));
  CHECK(class_pairs(5).size() == 10);
  CHECK_THROWS_AS(class_pairs(1), headrace::ConfigError);
}

TEST_CASE("every scheme gives three classes the scores that were worked out by hand") {
  const OneVsOneVote vote({.classes = 3, .accuracies = {0.9, 0.8, 0.6}});
  check_scores(vote.scores(VoteScheme::hard, of_three), {1, 2, 0}, 1e-9);
  check_scores(vote.scores(VoteScheme::soft, of_three), {0.9, 1.25, 0.85}, 1e-9);
  check_scores(vote.scores(VoteScheme::confidence, of_three), {0.24, 0.335, 0.125}, 1e-9);
  check_scores(vote.scores(VoteScheme::weighted, of_three), {0.128, 0.36, 0}, 1e-9);
  check_scores(vote.scores(VoteScheme::coupling, of_three),
               {0.264190262456099, 0.456318036752598, 0.279491700791303}, 1e-9);
}

TEST_CASE("coupling is the solution of its linear system, and certain pairs do not break it") {
  const OneVsOneVote vote({.classes = 5});
  check_scores(vote.scores(VoteScheme::coupling,
                           Values{0.9, 0.2, 0.65, 0.3, 0.15, 0.4, 0.35, 0.8, 0.55, 0.25}),
               {0.111619850245602, 0.408923235857947, 0.069027676842096, 0.290606822070223,
                0.119822414984133},
               1e-9);
  const Values sure{0, 0, 0, 0, 1, 0, 1, 0, 1, 1};  // class 0 beats all
  const Values p = vote.scores(VoteScheme::coupling, sure);
  CHECK(p[0] == Approx(1.0).epsilon(1e-5));
  CHECK(vote.winner(p, sure) == 0);
}

TEST_CASE("class weights and boosts count for the winner of a pair alone") {
  const OneVsOneVote vote({.classes = 3,
                           .accuracies = {0.9, 0.8, 0.6},
                           .class_weights = {1, 2, 1},
                           .boosts = {1.5, 3, 100}});
  check_scores(vote.scores(VoteScheme::weighted, of_three), {0.192, 2.16, 0}, 1e-9);
}

TEST_CASE("ties go to the larger soft score, then to the more frequent class, then to the lower") {
  // A circle: every class wins once.
  const Values circle{0.6, 0.3, 0.7};
  const OneVsOneVote vote({.classes = 3});
  const Values hard = vote.scores(VoteScheme::hard, circle);
  check_scores(hard, {1, 1, 1}, 1e-9);
  check_scores(vote.scores(VoteScheme::soft, circle), {1.1, 0.9, 1.0}, 1e-9);
  CHECK(vote.winner(hard, circle) == 0);
  const Values level{0.6, 0.4, 0.6};
  CHECK(vote.winner(vote.scores(VoteScheme::hard, level), level) == 0);
  const OneVsOneVote by_prior({.classes = 3, .prior = {5, 20, 20}});
  CHECK(by_prior.winner(by_prior.scores(VoteScheme::hard, level), level) == 1);
}

TEST_CASE("a pair that is undecided votes for neither class") {
  check_scores(OneVsOneVote({.classes = 2}).scores(VoteScheme::hard, Values{0.5}), {0, 0}, 1e-9);
}

TEST_CASE("values that are no probabilities and lists of another length are refused") {
  const OneVsOneVote vote({.classes = 3});
  CHECK_THROWS_AS(vote.scores(VoteScheme::soft, Values{0.5, 0.5}), headrace::DataError);
  CHECK_THROWS_AS(vote.scores(VoteScheme::soft, Values{0.5, 0.5, 1.1}), headrace::DataError);
  CHECK_THROWS_AS(
      vote.scores(VoteScheme::soft, Values{0.5, 0.5, std::numeric_limits<double>::quiet_NaN()}),
      headrace::DataError);
  CHECK_THROWS_AS(vote.winner(Values{1, 2}, of_three), headrace::DataError);
  CHECK_THROWS_AS(OneVsOneVote({.classes = 3, .boosts = {1, 1}}), headrace::ConfigError);
  CHECK_THROWS_AS(OneVsOneVote({.classes = 3, .accuracies = {1}}), headrace::ConfigError);
}
