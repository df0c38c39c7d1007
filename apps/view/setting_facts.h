#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/monitor/advice/run_facts.h>

#include <vector>

namespace headrace::inline v1::app {

/// What advice says of a configuration: the keys that it has in use, and the values that an advice
/// may change. Threads are those that will run where a key says 0. Keys that a stage has of its own
/// are left out.
monitor::SettingFacts setting_facts(const TrainingJob& job);

/// The same for each stage of `training.stages`, with what holds in it; empty where there is no
/// list. Keys that a stage has of its own are none of the configuration's.
std::vector<monitor::SettingFacts> stage_setting_facts(const TrainingJob& job);

/// The same of a document of any kind with every key in use; without a key for it `prefetch` is 0.
monitor::SettingFacts setting_facts(const Node& full);

}  // namespace headrace::inline v1::app
