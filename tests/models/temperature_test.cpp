#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/temperature.h>

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::models;
using doctest::Approx;

namespace {

struct Rows {
  std::vector<double> logits{};
  std::vector<std::uint8_t> labels{};
};

// The rows of tests/models/reference/make_vote_values.py.
Rows known_rows(double divided_by) {
  Rows rows;
  for (int i = 0; i < 40; ++i) {
    const double z = 4 * std::sin(i) + 1;
    rows.logits.push_back(z / divided_by);
    rows.labels.push_back(i % 3 < 1 + (z > 0 ? 1 : 0) ? 1 : 0);
  }
  return rows;
}

}  // namespace

TEST_CASE("the temperature is the one with the least cross entropy") {
  const Rows rows = known_rows(1.0);
  CHECK(fit_temperature(rows.logits, rows.labels) == Approx(7.69809374733082).epsilon(1e-6));
  const Rows smaller = known_rows(8.0);
  CHECK(fit_temperature(smaller.logits, smaller.labels) ==
        Approx(0.9622616621659021).epsilon(1e-6));
}

TEST_CASE("rows that are all right make a pair no surer than their number allows") {
  const std::vector<double> right{-3, -2, 1, 4, 5};
  CHECK(fit_temperature(right, std::vector<std::uint8_t>{0, 0, 1, 1, 1}) ==
        Approx(2.73044353712196).epsilon(1e-6));
  CHECK(fit_temperature(std::vector<double>{-1, 1}, std::vector<std::uint8_t>{0, 1}) ==
        Approx(1.0 / std::log(2.0)).epsilon(1e-9));
}

TEST_CASE("logits that tell nothing, or far too little, have the temperature of their limit") {
  CHECK(fit_temperature(std::vector<double>{-1e-3, 1e-3}, std::vector<std::uint8_t>{0, 1}) ==
        1.0 / 16);
  CHECK(fit_temperature(std::vector<double>{-1, 1}, std::vector<std::uint8_t>{1, 0}) == 16.0);
  CHECK(fit_temperature(std::vector<double>{-1, 1}, std::vector<std::uint8_t>{1, 1}) == 1.0);
  CHECK(fit_temperature(std::vector<double>{0, 0}, std::vector<std::uint8_t>{0, 1}) == 1.0);
  CHECK(fit_temperature({}, {}) == 1.0);
}

TEST_CASE("a tempered probability is that of the logit divided by the temperature") {
  CHECK(tempered(0.8, 1.0) == Approx(0.8).epsilon(1e-12));
  CHECK(tempered(0.8, 2.0) == Approx(1.0 / 1.5).epsilon(1e-12));
  CHECK(tempered(1.0, 1.0) == Approx(1.0 - 1e-7).epsilon(1e-12));
  CHECK(logit_of(0.5) == 0.0);
}

TEST_CASE("logits and labels that do not go together are refused") {
  CHECK_THROWS_AS(fit_temperature(std::vector<double>{1}, {}), headrace::DataError);
  CHECK_THROWS_AS(fit_temperature(std::vector<double>{NAN, 1}, std::vector<std::uint8_t>{0, 1}),
                  headrace::DataError);
}
