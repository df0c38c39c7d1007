#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/training/optimizer_rule.h>
#include <headrace/training/stage_parts.h>
#include <headrace/training/stage_schedule.h>

#include <vector>

namespace headrace::inline v1::app {

/// The kinds of tagged entries in the section `training`, with their parameters.
std::vector<Tag<training::OptimizerRule>> optimizer_tags();
std::vector<Tag<training::Schedule>> schedule_tags();
std::vector<Tag<training::NonFinitePolicy>> non_finite_tags();

}  // namespace headrace::inline v1::app
