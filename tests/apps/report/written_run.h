#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace headrace::test {

/// What a run folder is written with, that no training has made.
struct WrittenRun {
  int members = 1;
  int epochs = 4;
  double step_s = 0.1;  ///< mean of a step
  double noise = 0.02;  ///< of step_s from epoch to epoch, as a share of it
  double accuracy = 0.8;
  std::int64_t batch = 32;
  std::string kind = "glaucoma";
  std::string host = "node-1";
  bool finished = true;
};

void write_text(const std::filesystem::path& file, const std::string& text);
/// A line of events.jsonl; `facts` are members of a JSON object.
std::string event_line(const std::string& time, const std::string& event, const std::string& facts);
/// Adds text at the end.
void append_text(const std::filesystem::path& file, const std::string& text);

/// config.yaml, command.txt, env.json, events.jsonl, log.txt, metrics.csv, metrics.jsonl and
/// result.json.
void write_run(const std::filesystem::path& folder, const WrittenRun& run = {});

}  // namespace headrace::test
