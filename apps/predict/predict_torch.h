#pragma once

#include <headrace/apps/backend/command_options.h>
#include <headrace/apps/backend/ensemble_torch.h>
#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/job/job.h>
#include <headrace/apps/job/recipe_torch.h>
#include <headrace/apps/learn/volume_predictor_torch.h>
#include <headrace/training/metrics/nan_cases.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace headrace::inline v1::app {

/// `headrace predict`: a file with a row for each sample of the data, in their order
/// (PredictionText), or where the job predicts masks one for each picture (MaskFolder), or where it
/// has learnt from volumes one for each of these (predict_volumes()). Weights of several members of
/// a run vote: all networks lie on the device, and each batch goes through them, so that of the
/// data only the rows that are written and names grow.
ExitCode predict(const PredictOptions& options, const std::vector<Job>& jobs,
                 const MakeRecipe& make_recipe);

/// `headrace predict` of weights that have learnt on volumes: a volume of labels for each case of
/// the data (find_volume_cases()), on the grid of its files and in their format where it can be
/// written, else as NIfTI; 0 everywhere where its image is. Scores of one case at a time are held,
/// of each member. Where labels are known a table of Dice is printed and kept as dice.csv; a case
/// whose label has other values is warned of, has none there, and the end is ExitCode::data. The
/// first signal ends it with that signal's code, and the same command goes on (VolumeOutput). What
/// can be known before the network works is refused before.
ExitCode predict_volumes(const PredictOptions& options, Ensemble& ensemble,
                         VolumePredictor& recipe);

/// How a prediction ends of which some cases have no numbers: says how many, of `all`, and which is
/// the first, and gives ExitCode::numeric; ExitCode::done where there are none.
ExitCode end_of_prediction(const training::NoNumbers& nothing, std::int64_t all);

/// `--root` of a command ("predict"): where the paths of `data`, a list, lie; empty: not asked for.
/// Throws ConfigError where data are no list, or the kind takes none.
void set_root(training::Recipe& recipe, const std::filesystem::path& root,
              const std::filesystem::path& data, const char* command);

/// `headrace evaluate`: the figures of a run's weights on labelled data, as a table and as JSON.
/// Weights of several members are judged one by one and by their vote.
ExitCode evaluate(const EvaluateOptions& options, const std::vector<Job>& jobs,
                  const MakeRecipe& make_recipe);

/// `headrace export`: the best weights of a run's members as safetensors for other programs: the
/// network's own names, those left out that the note "transient" lists, and as metadata "format"
/// ("pt", which timm and transformers look for) and what the recipe says of network and classes.
/// Of a network that came from TorchScript (the note "torchscript") also the script with these
/// weights, `.torchscript` beside the safetensors; tensors with two names are in the safetensors
/// under both. Prints the files it has written.
ExitCode export_weights(const ExportOptions& options, const std::vector<Job>& jobs,
                        const MakeRecipe& make_recipe);

}  // namespace headrace::inline v1::app
