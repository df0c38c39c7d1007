#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/jobs/job.h>
#include <headrace/apps/jobs/recipe_torch.h>
#include <headrace/apps/train/train_options.h>

#include <vector>

namespace headrace::inline v1::app {

/// `headrace export`: the best weights of a run's members as safetensors for other programs: the
/// network's own names, those left out that the note "transient" lists, and as metadata "format"
/// ("pt", which timm and transformers look for) and what the recipe says of network and classes.
/// Of a network that came from TorchScript (the note "torchscript") also the script with these
/// weights, `.torchscript` beside the safetensors; tensors with two names are in the safetensors
/// under both. Prints the files it has written.
ExitCode export_weights(const ExportOptions& options, const std::vector<Job>& jobs,
                        const MakeRecipe& make_recipe);

}  // namespace headrace::inline v1::app
