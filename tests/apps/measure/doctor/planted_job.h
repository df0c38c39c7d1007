#pragma once

#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace headrace::test {

/// A folder with loader.yaml: rows in memory for a consumer that is the slow side, for `headrace
/// doctor` with something planted.
class PlantedJob {
 public:
  PlantedJob() {
    std::ofstream(path() / "loader.yaml")
        << "kind: loader\nbatch: 16\nshuffle: false\n"
           "data: {source: synthetic, rows: 20000, row_bytes: 64}\n"
           "threads: {loader: 1, io: 2}\ndelay: {consumer: 10ms}\n";
  }

  const std::filesystem::path& path() const { return folder_.path(); }

  /// What doctor found, as its JSON has it; CHECKs that evidence and check stand below the one
  /// thing. `file_limit` is that of open files; 0: as it is. A trial takes `seconds`.
  nlohmann::json doctor(const std::vector<std::string>& settings, std::size_t file_limit = 0,
                        const std::string& seconds = "0.2") const {
    std::vector<std::string> words{"doctor", "loader.yaml", "--seconds",
                                   seconds,  "--json",      "doctor.json"};
    for (const std::string& setting : settings)
      words.insert(words.end(), {"--set", setting});
    // The shell lowers both limits, of which the program raises the soft one, and becomes it.
    if (file_limit > 0)
      words.insert(words.begin(), {"-c", "ulimit -n \"$0\" && exec \"$@\"",
                                   std::to_string(file_limit), headrace::test::headrace_program()});
    const Finished finished = run_program(
        file_limit > 0 ? "/bin/sh" : headrace::test::headrace_program(), words, {.folder = path()});
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    auto found = nlohmann::json::parse(content_of(path() / "doctor.json"));
    const std::size_t last = finished.out.rfind("\nto do ");
    REQUIRE_MESSAGE(last != std::string::npos, finished.out);
    for (const char* label : {"\nbecause ", "\ncheck "})
      CHECK_MESSAGE(contains(finished.out.substr(last), label) == found.contains("advice"),
                    finished.out);
    return found;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace headrace::test
