#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/jobs/volume_predictor_torch.h>
#include <headrace/apps/train/ensemble_torch.h>
#include <headrace/apps/train/train_options.h>

namespace headrace::inline v1::app {

/// `headrace predict` of weights that have learnt on volumes: a volume of labels for each case of
/// the data (find_volume_cases()), on the grid of its files and in their format where it can be
/// written, else as NIfTI; 0 everywhere where its image is. Scores of one case at a time are held,
/// of each member. Where labels are known a table of Dice is printed and kept as dice.csv; a case
/// whose label has other values is warned of, has none there, and the end is ExitCode::data. The
/// first signal ends it with that signal's code, and the same command goes on (VolumeOutput). What
/// can be known before the network works is refused before.
ExitCode predict_volumes(const PredictOptions& options, Ensemble& ensemble,
                         VolumePredictor& recipe);

}  // namespace headrace::inline v1::app
