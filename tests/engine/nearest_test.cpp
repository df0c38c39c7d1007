#include <headrace/engine/base/nearest.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

TEST_CASE("the edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("memroy", "memory") == 1);
}

TEST_CASE("the nearest name is offered and a far one is not") {
  const std::vector<std::string> names{"memory", "prefetch", "epochs", "lr"};
  CHECK(nearest_name("memroy", names) == "memory");
  CHECK(nearest_name("epoch", names) == "epochs");
  CHECK(nearest_name("lrr", names) == "lr");
  CHECK_FALSE(nearest_name("banana", names).has_value());
  CHECK_FALSE(nearest_name(std::string(100'000, 'a'), names).has_value());
}
