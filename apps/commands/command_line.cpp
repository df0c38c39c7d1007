#include <headrace/apps/commands/command_line.h>

#include <iostream>

#include <CLI/CLI.hpp>

#include <headrace/apps/commands/unknown_command.h>
#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/config/units.h>
#include <headrace/apps/run/log_level.h>

namespace headrace::inline v1::app {
namespace {

void add_settings(CLI::App& command, std::vector<std::string>& settings) {
  command
      .add_option("--set", settings,
                  "Set a key of the configuration: a.b=c (repeatable, later wins)")
      ->take_all()
      ->allow_extra_args(false);
}

CLI::App* add_train(CLI::App& program, TrainOptions& options) {
  CLI::App* command = program.add_subcommand("train", "Train a model as a configuration says");
  CLI::Option* config = command->add_option("CONFIG", options.config, "Configuration (YAML)");
  add_settings(*command, options.settings);
  command->add_option("--resume", options.resume, "Go on with a run folder where it stopped");
  command->add_option("--fold", options.fold, "Train this fold only")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--dry-run", options.dry_run,
                    "Check everything and forecast memory, then stop before the first step");
  command
      ->add_option("--log-level", options.log_level,
                   "What the terminal shows from; else as HEADRACE_LOG_LEVEL says, else info")
      ->check(CLI::IsMember(log_level_words()));
  command->callback([command, config, &options] {
    if (config->count() == 0 && options.resume.empty()) {
      throw CLI::RequiredError("CONFIG or --resume RUN");
    }
    if (config->count() > 0 && !options.resume.empty()) {
      throw CLI::ValidationError("--resume",
                                 "a run goes on with its own configuration; "
                                 "leave CONFIG out and change keys with --set");
    }
    (void)command;
  });
  return command;
}

CLI::App* add_predict(CLI::App& program, PredictOptions& options) {
  CLI::App* command =
      program.add_subcommand("predict", "Write class probabilities for a file of samples as CSV");
  command->add_option("--checkpoint", options.checkpoint, "Weights that a run has written")
      ->required();
  command->add_option("--data", options.data, "HDF5 file with the samples")->required();
  command->add_option("--output", options.output, "CSV file to write")->required();
  command->add_option("--device", options.device, "auto, cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--batch", options.batch, "Samples at once")->check(CLI::NonNegativeNumber);
  return command;
}

CLI::App* add_bench_loader(CLI::App& bench, BenchLoaderOptions& options, std::string& step) {
  CLI::App* command = bench.add_subcommand(
      "loader", "Run a configuration's pipeline without a model: rate, wait, memory, bottleneck");
  command->add_option("CONFIG", options.config, "Configuration (YAML)")->required();
  add_settings(*command, options.settings);
  command->add_option("--step", step, "Put a consumer of this pace behind it: 20ms");
  command->add_option("--epochs", options.epochs, "Epochs to run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--batches", options.batches, "Stop after so many batches")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--json", options.json, "Write everything measured to this file");
  return command;
}

CLI::App* add_prepare_glaucoma(CLI::App& prepare, PrepareGlaucomaOptions& options) {
  CLI::App* command = prepare.add_subcommand(
      "glaucoma", "Six maps of five classes from Debian's Fashion-MNIST, as one HDF5 file");
  command->add_option("--side", options.side, "Height and width of a map, in pixels")
      ->check(CLI::Range(16, 1024))
      ->capture_default_str();
  command->add_option("--output", options.output, "HDF5 file to write")->required();
  command
      ->add_option("--limit", options.limit,
                   "Most training samples (test samples: a sixth of it); 0: all 30,000")
      ->check(CLI::Range(0, 30000));
  command->add_option("--threads", options.threads, "Threads; 0: usable cores")
      ->check(CLI::NonNegativeNumber);
  return command;
}

CLI::App* add_prepare_leak(CLI::App& prepare, PrepareLeakOptions& options) {
  CLI::App* command = prepare.add_subcommand(
      "leak",
      "Log-mel segments of real speech and music with and without a leak's noise, as three "
      "HDF5 files");
  command->add_option("--output", options.output, "Folder of the files")->required();
  command->add_option("--sounds", options.sounds,
                      "Folder with a folder of WAV, FLAC or Ogg files for each voice; without it "
                      "Debian's Asterisk packages (112 MB)");
  command->add_option("--seed", options.seed, "Of levels and noise")->capture_default_str();
  command->add_option("--hop", options.hop_s, "Seconds from a recording's start to the next one's")
      ->check(CLI::Range(0.25, 3600.0))
      ->capture_default_str();
  command->add_option("--lowest-snr", options.lowest_snr, "Of background to leak, in dB")
      ->check(CLI::Range(-60.0, 60.0))
      ->capture_default_str();
  command->add_option("--highest-snr", options.highest_snr, "Likewise")
      ->check(CLI::Range(-60.0, 60.0))
      ->capture_default_str();
  command
      ->add_option("--limit", options.limit,
                   "Most training recordings (a quarter of it in the others); 0: all")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("!--no-waveforms", options.waveforms, "Leave segments_waveform out");
  command->add_option("--threads", options.threads, "Threads; 0: usable cores")
      ->check(CLI::NonNegativeNumber);
  return command;
}

CLI::App* add_pack_table(CLI::App& pack, PackTableOptions& options) {
  CLI::App* command = pack.add_subcommand(
      "table", "Write arrays into an HDF5 file that reads fast, and measure before and after");
  command->add_option("INPUT", options.input, "HDF5 file, or folder of .npy files")->required();
  command->add_option("OUTPUT", options.output, "HDF5 file to write")->required();
  command->add_option("--dataset", options.datasets, "Dataset to take (repeatable); default: all")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--layout", options.layout,
                   "contiguous: fastest; zstd, lz4: smaller, in compressed chunks")
      ->check(CLI::IsMember({"contiguous", "zstd", "lz4"}))
      ->capture_default_str();
  command->add_option("--chunk-rows", options.chunk_rows, "Rows of a chunk; 0: about 256 KiB")
      ->check(CLI::NonNegativeNumber);
  return command;
}

// Where images are, for every command that takes some.
template <class Options>
void add_image_data(CLI::App& command, Options& options) {
  command.add_option("--masks", options.masks, "Folder of masks, laid out as the images are");
  command.add_option("--mask-suffix", options.mask_suffix,
                     "What a mask's name has before its extension");
  command.add_option("--root", options.root, "Folder of a manifest's paths; default: its own");
}

CLI::App* add_pack_images(CLI::App& pack, PackImagesOptions& options) {
  CLI::App* command = pack.add_subcommand(
      "images", "Write images into one file; the same command goes on after an interruption");
  command
      ->add_option("DATA", options.data,
                   "Folder with one folder per class, or manifest (.csv, .tsv, .jsonl)")
      ->required();
  command->add_option("OUTPUT", options.output, "File to write")->required();
  add_image_data(*command, options);
  command->add_flag("--crop-index", options.crop_index,
                    "Rewrite JPEG files losslessly so that a crop costs what the crop costs");
  command
      ->add_option("--segment", options.segment, "Pixels between two places where a crop may begin")
      ->check(CLI::Range(8, 65535))
      ->capture_default_str();
  command
      ->add_option("--longest-side", options.longest_side,
                   "Shrink larger images to this side and encode them anew; 0: as they are")
      ->check(CLI::Range(0, 65535));
  command->add_option("--quality", options.quality, "JPEG quality of shrunk images")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--alignment", options.alignment, "Of records, bytes: a power of two")
      ->check(CLI::Range(8, 1 << 20))
      ->capture_default_str();
  command->add_option("--threads", options.threads, "Threads; 0: usable cores")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--skip-bad", options.skip_bad, "Leave bad images out and say which");
  return command;
}

CLI::App* add_pack_verify(CLI::App& pack, PackVerifyOptions& options) {
  CLI::App* command = pack.add_subcommand(
      "verify", "Read a pack through; with the originals, compare the pixels of random crops");
  command->add_option("PACK", options.pack, "Pack to check")->required();
  command->add_option("DATA", options.data, "What it was made from");
  add_image_data(*command, options);
  command->add_option("--crops", options.crops, "Random crops of each image")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Of the crops")->capture_default_str();
  command->add_option("--threads", options.threads, "Threads; 0: usable cores")
      ->check(CLI::NonNegativeNumber);
  return command;
}

CLI::App* add_inspect(CLI::App& program, InspectOptions& options) {
  CLI::App* command = program.add_subcommand(
      "inspect", "Say what a data set holds and what is bad in it, and draw what a pipeline feeds");
  command
      ->add_option("DATA", options.data,
                   "Folder with one folder per class, manifest, pack, or a loader's configuration")
      ->required();
  add_settings(*command, options.settings);
  add_image_data(*command, options);
  command->add_option("--sheet", options.sheet, "Contact sheet to write (PNG); \"\": none")
      ->capture_default_str();
  command->add_option("--samples", options.samples, "Rows of the sheet")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--draws", options.draws, "What the pipeline makes of each")
      ->check(CLI::Range(1, 50))
      ->capture_default_str();
  command->add_option("--json", options.json, "Write everything found to this file");
  command->add_option("--threads", options.threads, "Threads; 0: usable cores")
      ->check(CLI::NonNegativeNumber);
  return command;
}

double step_seconds(const std::string& text) {
  const std::optional<Duration> step = parse_duration(text);
  if (!step) throw CLI::ValidationError("--step", "must be a duration such as 20ms, got " + text);
  return step->seconds;
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  TrainOptions train;
  PredictOptions predict;
  BenchLoaderOptions bench_loader;
  PrepareGlaucomaOptions prepare_glaucoma;
  PrepareLeakOptions prepare_leak;
  PackTableOptions pack_table;
  PackImagesOptions pack_images;
  PackVerifyOptions pack_verify;
  InspectOptions inspect;
  std::string step;

  CLI::App program("Trains models whose GPU never waits for data.", "headrace");
  program.require_subcommand(1);
  program.set_version_flag("--version", "headrace " HEADRACE_VERSION);
  CLI::App* train_command = add_train(program, train);
  CLI::App* predict_command = add_predict(program, predict);
  CLI::App* bench = program.add_subcommand("bench", "Measure");
  bench->require_subcommand(1);
  CLI::App* bench_command = add_bench_loader(*bench, bench_loader, step);
  CLI::App* prepare = program.add_subcommand("prepare", "Make a data file from packaged data");
  prepare->require_subcommand(1);
  CLI::App* glaucoma_command = add_prepare_glaucoma(*prepare, prepare_glaucoma);
  CLI::App* leak_command = add_prepare_leak(*prepare, prepare_leak);

  CLI::App* pack = program.add_subcommand("pack", "Put a data set into one file");
  pack->require_subcommand(1);
  CLI::App* pack_table_command = add_pack_table(*pack, pack_table);
  CLI::App* pack_images_command = add_pack_images(*pack, pack_images);
  CLI::App* pack_verify_command = add_pack_verify(*pack, pack_verify);
  CLI::App* inspect_command = add_inspect(program, inspect);

  try {
    program.parse(argc, argv);
    if (!step.empty()) bench_loader.step_s = step_seconds(step);
  } catch (const CLI::ParseError& error) {
    // It is looked for here because a request for help would be answered first.
    if (const auto mistake = unknown_command(program)) {
      std::cerr << "headrace: " << *mistake << '\n';
      return {.exit_code = static_cast<int>(ExitCode::configuration)};
    }
    return {.exit_code = program.exit(error, std::cout, std::cerr) == 0 ? 0 : 2};
  }
  if (*train_command) return {.command = train};
  if (*predict_command) return {.command = predict};
  if (*bench_command) return {.command = bench_loader};
  if (*glaucoma_command) return {.command = prepare_glaucoma};
  if (*leak_command) return {.command = prepare_leak};
  if (*pack_table_command) return {.command = pack_table};
  if (*pack_images_command) return {.command = pack_images};
  if (*pack_verify_command) return {.command = pack_verify};
  if (*inspect_command) return {.command = inspect};
  return {.exit_code = 2};
}

}  // namespace headrace::inline v1::app
