// Trains on a file of points with a reader and an augmentation of its own, then asserts what a good
// guest must not have changed, and that a host which limits TBB to one thread starves nobody.
#include <headrace/engine/headrace.h>

#include "host.h"
#include "jitter.h"
#include "point_file.h"
#include "process_state.h"
#include "train.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <stdexcept>

#include <unistd.h>

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

// Two rings: radius about 1, label 0; radius about 2, label 1.
std::filesystem::path write_rings(int points, std::uint64_t seed) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("rings-" + std::to_string(getpid()) + "-" + std::to_string(seed) + ".txt");
  std::ofstream file(path);
  headrace::Random random({.seed = seed});
  for (int i = 0; i < points; ++i) {
    const double angle = random.uniform(0.0, 2.0 * std::numbers::pi);
    const double radius = (i % 2 == 0 ? 1.0 : 2.0) + 0.1 * random.normal();
    file << radius * std::cos(angle) << ' ' << radius * std::sin(angle) << ' ' << i % 2 << '\n';
  }
  return path;
}

embed::ProcessState state() {
  embed::ProcessState state = embed::process_state();
  state["threads of the net's library"] = std::to_string(embed::net_threads());
  return state;
}

void require_unchanged(const embed::ProcessState& before, const char* when) {
  const auto lines = embed::changes(before, state());
  for (const std::string& line : lines)
    std::fprintf(stderr, "%s: %s\n", when, line.c_str());
  require(lines.empty(), "a library changed what belongs to the process");
}

double train_on_rings(const embed::ProcessState& before) {
  const auto training_file = write_rings(2000, 1);
  const auto test_file = write_rings(500, 2);
  headrace::Loader training = headrace::Pipeline::from(embed::PointFile{training_file})
                                  .order(headrace::Shuffled{.seed = 7})
                                  .then(embed::Jitter{.sigma = 0.05})
                                  .batch({.size = 50})
                                  .build({.prefetch = 4});
  headrace::Loader test =
      headrace::Pipeline::from(embed::PointFile{test_file}).batch({.size = 100}).build();
  const double right = embed::train(training, test, 20);
  require_unchanged(before, "with two loaders alive");
  std::filesystem::remove(training_file);
  std::filesystem::remove(test_file);
  return right;
}

}  // namespace

int main() {
  try {
    const embed::ProcessState before = state();
    const double right = train_on_rings(before);
    std::printf("right after training: %.3f\n", right);
    require(right > 0.97, "the net did not learn two rings");
    require_unchanged(before, "after the loaders");

    require(embed::samples_meet(4, 4, 60.0), "four workers never worked at once");
    require(embed::samples_meet_beside_host(4, 4, 60.0),
            "beside a host with a TBB limit of 1, four workers never worked at once");
    require(!embed::samples_meet_beside_host(3, 4, 0.2),
            "four samples at once on three workers: this check proves nothing");
    require_unchanged(before, "at the end");
    std::printf("%zu things of the process are as they were\n", before.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
