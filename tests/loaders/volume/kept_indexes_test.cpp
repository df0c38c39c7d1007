// Indexes of parts of a file that a volume keeps: each read once, the eldest given up first.
#include <headrace/loaders/volume/detail/array/kept_indexes.h>

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using headrace::detail::KeptIndexes;

namespace {

/// Asks for indexes of a part's number, and counts how often one is made.
struct Asked {
  explicit Asked(std::size_t most_bytes) : kept(most_bytes) {}

  int made_for(std::uint64_t part, std::size_t length = 4) {
    const int before = made;
    const auto index = kept.get(part, [&] {
      ++made;
      return KeptIndexes::Index(length, part);
    });
    CHECK(*index == KeptIndexes::Index(length, part));
    return made - before;
  }

  KeptIndexes kept;
  int made = 0;
};

}  // namespace

TEST_CASE("an index is read once, and the eldest goes where the memory is used up") {
  Asked many(std::size_t{1} << 20);
  for (const std::uint64_t part : {1, 2, 3, 1, 2, 3})
    many.made_for(part);
  CHECK(many.made == 3);

  Asked few(1);  // not even one
  CHECK(few.made_for(1) == 1);
  CHECK(few.made_for(1) == 1);

  Asked some(3000);
  CHECK(some.made_for(1, 300) == 1);
  CHECK(some.made_for(1, 300) == 0);
  CHECK(some.made_for(2, 100) == 1);  // there is no room for both
  CHECK(some.made_for(2, 100) == 0);
  CHECK(some.made_for(1, 300) == 1);
  CHECK(some.made_for(9, 1000) == 1);  // larger than all
  CHECK(some.made_for(1, 300) == 0);
}
