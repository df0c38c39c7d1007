#pragma once

#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/measure/whole_configuration.h>
#include <headrace/tests/apps/classification/array_data.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace headrace::test {

/// A folder for `headrace doctor` and `headrace tune`: job.yaml has a network whose step takes next
/// to nothing, heavy.yaml one that takes its time.
class DoctoredTraining : public TrainingFolder {
 public:
  DoctoredTraining()
      : TrainingFolder(
            "kind: classification\nseed: 7\ndevice: cpu\ndata:\n"
            "  train: {source: npy, file: x.npy, labels: y.npy}\narray: {normalise: none}\n"
            "model: {name: mlp}\ntraining: {batch: 8}\nthreads: {loader: 1, torch: 1}\n") {
    constexpr int records = 400;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < records; ++i)
      labels.push_back(i % 2);
    write_array<float>(path() / "x.npy", "400, 6", array_rows(records, 6, 2));
    write_array<std::int32_t>(path() / "y.npy", "400,", labels);
    std::ofstream(path() / "heavy.yaml")
        << "kind: glaucoma\nseed: 7\ndevice: cpu\ndata: {file: data.h5}\n"
           "training: {batch: 16, member: 0}\nthreads: {loader: 1, torch: 1}\n";
    write_glaucoma_data(path() / "data.h5", 400, 40);
  }

  nlohmann::json doctor(const std::vector<std::string>& settings,
                        const std::string& file = "job.yaml") const {
    std::vector<std::string> words{"doctor", file, "--seconds", "0.3", "--json", "doctor.json"};
    for (const std::string& setting : settings)
      words.insert(words.end(), {"--set", setting});
    const Finished finished = done(words);
    for (const char* line : {"memory ", "storage ", "fetch stall", "\nto do "})
      CHECK_MESSAGE(contains(finished.out, line), line << "\n" << finished.out);
    return nlohmann::json::parse(content_of(path() / "doctor.json"));
  }

  /// loader.yaml has rows in memory and no model.
  void write_loader() const {
    std::ofstream(path() / "loader.yaml")
        << "kind: loader\nbatch: 64\ndata: {source: synthetic, rows: 20000, row_bytes: 64}\n"
           "threads: {loader: 1}\n";
  }

  app::WholeConfiguration read(const std::string& file) const {
    return app::read_whole_configuration(app::jobs(), path() / file, {});
  }
};

}  // namespace headrace::test
