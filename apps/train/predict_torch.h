#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/jobs/recipe_torch.h>
#include <headrace/apps/train/train_options.h>

#include <vector>

namespace headrace::inline v1::app {

/// `headrace predict`: a file with a row for each sample of the data, in their order
/// (PredictionText), or where the job predicts masks one for each picture (MaskFolder), or where it
/// has learnt from volumes one for each of these (predict_volumes()). Weights of several members of
/// a run vote: all networks lie on the device, and each batch goes through them, so that of the
/// data only the rows that are written and names grow.
ExitCode predict(const PredictOptions& options, const std::vector<Job>& jobs,
                 const MakeRecipe& make_recipe);

}  // namespace headrace::inline v1::app
