#include "../support/skip.h"
#include "trainer_run.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

// A training whose checkpoints go to a disk of 1 MiB. It is a process of its own, which alone sees
// that disk, forked from one that has made no thread yet.
using namespace headrace::training;

namespace {

namespace fs = std::filesystem;

constexpr int no_mounts = 77;
constexpr std::int64_t ballast = 50'000;  // floats: a checkpoint of 0.2 MB

bool mount_small_disk(const fs::path& folder) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);  // not of the root of a chroot
  return ::mount("small", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
}

// Trains below `folder`, and lets the disk be full from the second step on until the second failure
// is told. What is seen goes to `report`.
void train_on_small_disk(const fs::path& folder, std::ofstream& report) {
  CheckpointStore store(folder / "checkpoints");
  const fs::path plug = folder / "plug";
  int failures = 0;
  Setup setup = three_epochs();
  setup.options.checkpoint_every = 1;
  Run run(setup,
          {.on_step =
               [&](const StepReport& step) {
                 if (step.step != 2) return;
                 std::ofstream file(plug);
                 std::fill_n(std::ostreambuf_iterator<char>(file), 1 << 20, 'x');
               },
           .on_warning =
               [&](const std::string& message) {
                 report << "warning " << message << '\n';
                 report << "whole " << CheckpointStore(store.folder()).load_latest()->progress.step
                        << '\n';
                 if (++failures == 2) fs::remove(plug);
               }},
          &store);
  headrace::models::of_module<StatefulModule>(*run.network)
      .register_buffer("ballast", at::zeros({ballast}));
  const RunResult result = run.trainer.run();
  report << "steps " << result.progress.step << '\n';
  report << "last " << store.load_latest()->progress.epoch << '\n';
  report << "best " << read_best_weights(store.best_path()).weights.size() << '\n';
}

[[noreturn]] void train_and_exit(const fs::path& folder, const fs::path& report_path) {
  if (!mount_small_disk(folder)) ::_exit(no_mounts);
  int code = 1;
  try {
    std::ofstream report(report_path);
    train_on_small_disk(folder, report);
    code = 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  ::umount(folder.c_str());
  ::_exit(code);
}

}  // namespace

TEST_CASE("a full disk is warned of with path and bytes, and the old checkpoint stays whole") {
  const TemporaryFolder folder;
  const fs::path disk = folder / "disk";
  fs::create_directory(disk);
  const pid_t child = ::fork();
  if (child == 0) train_and_exit(disk, folder / "report");
  int status = -1;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_mounts)
    return headrace::test::skip("a disk of 1 MiB needs mount namespaces");
  REQUIRE(status == 0);

  std::ifstream file(folder / "report");
  const std::string report{std::istreambuf_iterator<char>(file), {}};
  CAPTURE(report);
  // The second may be of an epoch's end, which writes its best weights first.
  const std::string failure =
      "warning \\[checkpoint\\] " + disk.string() +
      "/checkpoints/(?:checkpoint-000002|best)\\.safetensors\\S*: cannot reserve space: No space "
      "left on "
      "device; (2\\d{5}) bytes are needed, (\\d+) are free; training goes on, the checkpoint "
      "before stays\nwhole 1\n";
  CHECK(std::regex_search(report, std::regex("^" + failure + failure + "steps 21\nlast 3\nbest ")));
}
