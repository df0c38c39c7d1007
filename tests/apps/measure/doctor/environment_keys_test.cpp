// What is said of a machine names keys of the kind at hand.
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/measure/doctor/environment.h>
#include <headrace/apps/measure/whole_configuration.h>
#include <headrace/apps/view/setting_facts.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/source_folder.h>

#include "healthy_machine.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using headrace::test::contains;
using headrace::test::HealthyMachine;

// The words behind each "set " and "or " that look like a key, "threads.loader".
std::vector<std::string> keys_in(const std::string& way_out) {
  std::vector<std::string> keys;
  std::istringstream words(way_out);
  std::string before;
  for (std::string word; words >> word; before = word) {
    while (!word.empty() && (word.back() == ',' || word.back() == ':'))
      word.pop_back();
    const bool dotted = word.find('.') != std::string::npos && word.find('/') == std::string::npos;
    if (before == "set" || (before == "or" && dotted)) keys.push_back(word);
  }
  return keys;
}

// All is slow, small and far away.
void spoil(HealthyMachine& machine, const app::WholeConfiguration& whole) {
  machine.options.needs = configured_needs(whole);
  machine.options.needs.memory_limit = 1ULL << 50;
  machine.options.needs.loader_threads = 500;
  if (whole.trains) machine.options.needs.torch_threads = 500;
  machine.options.data = "/no-such-folder-of-data";
  if (whole.trains) machine.options.runs = "/no-such-folder-of-runs";
  machine.write("proc/self/mountinfo", "20 1 0:40 / / rw,relatime - nfs4 server:/export rw\n");
  machine.facts().read_speed = app::ReadSpeed{.sequential_per_s = 1e3, .random_per_s = 1e3};
  machine.facts().run_space = app::FolderSpace{1, 1};
  machine.facts().fsync_s = 10.0;
}

void check_keys(const app::Node& document) {
  const auto whole = app::read_whole_configuration(app::jobs(), document);
  const std::vector<std::string> keys = app::setting_facts(whole.full).keys;
  HealthyMachine machine;
  spoil(machine, whole);
  bool memory = false;
  for (const app::Finding& finding : app::check_environment(machine.options)) {
    for (const std::string& key : keys_in(finding.way_out)) {
      CHECK_MESSAGE(std::ranges::find(keys, key) != keys.end(), key, " in ", finding.way_out);
      memory = memory || key.starts_with("memory");
    }
  }
  CHECK(memory);
}

}  // namespace

TEST_CASE("keys in the way out of a finding are keys of the kind at hand") {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           headrace::test::source_folder() + "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    check_keys(app::read_document(entry.path()));
  }
  check_keys(app::parse_document("kind: loader\n", "loader.yaml"));
}

TEST_CASE("what has no copy and no cache is moved or packed instead") {
  const auto whole = app::read_whole_configuration(
      app::jobs(), app::parse_document("kind: loader\ndata: {source: images, folder: x, cache: "
                                       "{memory: 1GiB}}\n",
                                       "loader.yaml"));
  HealthyMachine machine;
  spoil(machine, whole);
  CHECK(machine.finding("storage of the data").way_out.starts_with("copy the data to a local"));
  CHECK(contains(machine.finding("read speed of the data").way_out, "move the files"));
  CHECK(machine.finding("memory limit").way_out.starts_with("set memory to at most"));
}
