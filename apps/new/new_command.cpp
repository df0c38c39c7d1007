#include <headrace/apps/inspect/image_data_options.h>
#include <headrace/apps/new/propose_configuration.h>
#include <headrace/apps/run/command.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

struct NewOptions {
  std::string kind{};
  DataQuestion question{};
  std::filesystem::path output{};
  int threads = 0;
};

void add(CLI::App& line, NewOptions& options) {
  line.add_option("KIND", options.kind, "What is to be learnt: classification, segmentation")
      ->required();
  line.add_option("--data", options.question.data,
                  "Folder, manifest (.csv, .tsv, .jsonl), pack, HDF5 or .npy file to look at; of "
                  "volumes the folder of imagesTr, labelsTr and dataset.json (nnU-Net's)")
      ->required();
  line.add_option("--masks", options.question.mask_folder,
                  "Folder of the masks, where --data is that of the pictures");
  line.add_option("--mask-suffix", options.question.mask_suffix,
                  "What a mask's name has before its extension: \"_mask\"; else it is found out");
  add_list(line, options.question.root, options.question.columns);
  add_follow_links(line, options.question.follow_links);
  line.add_option("--gpu-memory", options.question.gpu_memory,
                  "Of volumes: GB that a training step may take (nnU-Net's GPU memory target; "
                  "default 8, without a GPU 0.25)")
      ->check(number_range(0.05, 1000.0));
  add_preset(line, options.question.preset);
  add_settings(line, options.question.settings);
  line.add_option("--output", options.output, "File to write instead of standard output");
  add_threads(line, options.threads);
}

ExitCode run(const NewOptions& options, const CommandCall& call) {
  if (std::filesystem::exists(options.output))
    throw ConfigError(fmt::format("[new] {}: is there already; remove it, or name another file",
                                  options.output.string()));
  const ProposedText made = propose_configuration(call.jobs, options.kind, options.question,
                                                  {.threads = threads_of(options.threads)});
  if (options.output.empty()) {
    fmt::print("{}", made.yaml);
    return ExitCode::done;
  }
  write_file_atomically(options.output, made.yaml);
  fmt::print("{}\n\n", fmt::join(made.lines, "\n"));
  fmt::print("{}; train it: headrace train {}\n", options.output.string(), options.output.string());
  return ExitCode::done;
}

}  // namespace

// A configuration that trains on data of one's own, as it stands.
Command new_command() {
  return make_command<NewOptions>(
      "new", "Look at data and write a configuration that trains on them", add, run);
}

}  // namespace headrace::inline v1::app
