#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/jobs/volume_predictor_torch.h>
#include <headrace/apps/train/ensemble_torch.h>
#include <headrace/apps/train/train_options.h>

namespace headrace::inline v1::app {

/// `headrace predict` of weights that have learnt on volumes: a volume of labels for each case of
/// the data (find_volume_cases()), on the grid of its files and in their format where it can be
/// written, else as NIfTI. Cases are prepared into a hidden folder of the output, which goes with
/// the end; scores of one case at a time are held, of each member. Where labels are known a table
/// of Dice is printed and kept as dice.csv.
ExitCode predict_volumes(const PredictOptions& options, Ensemble& ensemble,
                         VolumePredictor& recipe);

}  // namespace headrace::inline v1::app
