// Fields that are set from other fields: what is done to the one never changes the other.
#include <headrace/engine/sample/sample.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

/// Makes a field of `count` bytes of one value.
void put(Sample& sample, const std::string& name, std::uint8_t value, std::int64_t count = 12) {
  std::ranges::fill(sample.make(name, DType::uint8, Shape{count}).values<std::uint8_t>(), value);
}

/// Makes a field anew, larger and larger: both of its pooled pieces are written, or given back.
void renew(Sample& sample, const std::string& name) {
  for (const std::int64_t count : {12, 12, 12, 500, 900, 5000, 9000})
    put(sample, name, 99, count);
}

bool holds(const Sample& sample, const std::string& name, std::uint8_t value,
           std::int64_t count = 12) {
  const auto bytes = sample[name].values<std::uint8_t>();
  return std::ssize(bytes) == count &&
         std::ranges::all_of(bytes, [&](std::uint8_t byte) { return byte == value; });
}

}  // namespace

TEST_CASE("a field set from another one keeps its value when that one is made anew or removed") {
  const Tensor row = Tensor::zeros(DType::uint8, {12});
  for (const bool in_row : {false, true}) {
    CAPTURE(in_row);
    for (const bool removed : {false, true}) {
      CAPTURE(removed);
      Sample sample;
      if (in_row) sample.bind_row("a", row);
      put(sample, "a", 1);
      CHECK((sample["a"].raw() == row.raw()) == in_row);
      sample.set("b", sample["a"]);
      if (removed) sample.remove("a");
      renew(sample, "a");
      CHECK(holds(sample, "b", 1));
      renew(sample, "b");
      CHECK(holds(sample, "a", 99, 9000));
    }
  }
}

TEST_CASE("a field set from a handle that was taken before keeps its value") {
  const Tensor row = Tensor::zeros(DType::uint8, {12});
  for (const bool in_row : {false, true}) {
    CAPTURE(in_row);
    Sample sample;
    if (in_row) sample.bind_row("a", row);
    put(sample, "a", 1);
    const Tensor before = sample["a"];
    put(sample, "a", 2);
    sample.set("b", before);
    renew(sample, "a");
    CHECK(holds(sample, "b", 1));
  }
}

TEST_CASE("a field set from a part of another one, or in another shape, keeps its value") {
  const std::vector<std::function<Tensor(const Tensor&)>> parts{
      [](const Tensor& whole) { return whole.rows(9, 12); },
      [](const Tensor& whole) {
        return whole.reshaped({4, 3}).row(3);
      },
      [](const Tensor& whole) {
        return whole.reshaped({4, 3}).rows(1, 4).reshaped({9});
      },
  };
  const Tensor row = Tensor::zeros(DType::uint8, {12});
  for (const auto& part : parts) {
    for (const bool in_row : {false, true}) {
      Sample sample;
      if (in_row) sample.bind_row("a", row);
      put(sample, "a", 7);
      const std::int64_t count = part(sample["a"]).elements();
      sample.set("b", part(sample["a"]));
      renew(sample, "a");
      CHECK(holds(sample, "b", 7, count));
    }
  }
}

TEST_CASE("a chain of three fields, and a field set to a view of itself, are values of their own") {
  Sample sample;
  put(sample, "a", 1);
  sample.set("b", sample["a"]);
  sample.set("c", sample["b"].rows(0, 6));
  sample.set("b", sample["b"].rows(3, 12));
  renew(sample, "a");
  CHECK(holds(sample, "b", 1, 9));
  CHECK(holds(sample, "c", 1, 6));
  sample.set("a", sample["c"]);
  renew(sample, "b");
  renew(sample, "c");
  CHECK(holds(sample, "a", 1, 6));
}

TEST_CASE("fields that were exchanged stay exchanged while both are made anew") {
  Sample sample;
  for (int round = 0; round < 3; ++round) {
    put(sample, "a", 1);
    put(sample, "b", 2);
    const Tensor a = sample["a"];
    const Tensor b = sample["b"];
    sample.set("a", b);
    sample.set("b", a);
    CHECK(holds(sample, "a", 2));
    CHECK(holds(sample, "b", 1));
    renew(sample, "a");
    CHECK(holds(sample, "b", 1));
    sample.reset();
  }
}

TEST_CASE("memory of others is adopted without a copy, and a view of the field itself too") {
  const Tensor slab = Tensor::zeros(DType::uint8, {2, 12});
  const Tensor owned = Tensor::zeros(DType::uint8, {12});
  Sample sample;
  sample.bind_row("a", slab.row(0));
  sample.set("b", owned);
  CHECK(sample["b"].raw() == owned.raw());
  put(sample, "a", 1);
  sample.set("a", sample["a"].rows(2, 12));
  CHECK(sample["a"].raw() == slab.data<std::uint8_t>() + 2);
  CHECK(sample.pooled_bytes() == 0);
}

TEST_CASE("a copy goes into the field's own row where it fits, else into memory that stays") {
  const Tensor slab = Tensor::zeros(DType::uint8, {2, 12});
  Sample sample;
  std::size_t warm = 0;
  for (int round = 0; round < 20; ++round) {
    sample.reset();
    sample.bind_row("b", slab.row(1));
    put(sample, "a", 3);
    sample.set("b", sample["a"]);
    CHECK(sample["b"].raw() == slab.row(1).raw());
    sample.set("c", sample["a"].rows(0, 5));
    renew(sample, "a");
    CHECK(holds(sample, "b", 3));
    CHECK(holds(sample, "c", 3, 5));
    if (round == 0) warm = sample.pooled_bytes();
    CHECK(sample.pooled_bytes() == warm);
  }
}

TEST_CASE("whatever is made, set, removed and reset, every field holds what it was given last") {
  constexpr std::array names{"a", "b", "c", "d"};
  const Tensor rows = Tensor::zeros(DType::uint8, {2, 30});
  std::mt19937 random(3);
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  struct Known {
    std::vector<std::uint8_t> value;
    bool present = false;
    Tensor before;  ///< a handle of one change ago
    std::vector<std::uint8_t> value_before;
  };
  Sample sample;
  std::array<Known, names.size()> known;
  const auto change = [&](Known& field, const std::string& name) {
    field.before = field.present ? sample[name] : Tensor();
    field.value_before = field.value;
    field.present = true;
  };
  bool right = true;
  for (int step = 0; step < 20'000 && right; ++step) {
    const std::size_t to = draw(names.size());
    Known& field = known[to];
    const std::size_t act = draw(8);
    if (act < 3) {
      const auto count = static_cast<std::int64_t>(draw(2) == 0 ? 30 : draw(200));
      change(field, names[to]);
      put(sample, names[to], static_cast<std::uint8_t>(step), count);
      field.value.assign(static_cast<std::size_t>(count), static_cast<std::uint8_t>(step));
    } else if (act < 6) {
      const std::size_t from = draw(names.size());
      const bool old = act == 5 && known[from].before.defined();
      if (!old && !known[from].present) continue;
      const Tensor whole = old ? known[from].before : sample[names[from]];
      const std::vector<std::uint8_t> value = old ? known[from].value_before : known[from].value;
      const std::size_t first = draw(value.size() + 1);
      change(field, names[to]);
      sample.set(names[to], whole.rows(static_cast<std::int64_t>(first), whole.elements()));
      field.value.assign(value.begin() + static_cast<std::ptrdiff_t>(first), value.end());
    } else if (act == 6) {
      sample.remove(names[to]);
      field.present = false;
      field.before = Tensor();
    } else if (draw(10) == 0) {
      sample.reset();
      known = {};
      sample.bind_row("a", rows.row(0));
      sample.bind_row("b", rows.row(1));
    }
    for (std::size_t f = 0; f < names.size(); ++f) {
      CHECK(sample.has(names[f]) == known[f].present);
      if (known[f].present)
        right =
            right && std::ranges::equal(sample[names[f]].values<std::uint8_t>(), known[f].value);
    }
    CAPTURE(step);
    CHECK(right);
  }
}
