#pragma once

#include <headrace/apps/config/document.h>

#include <map>
#include <string>

namespace headrace::inline v1::app {

/// A configuration without the keys that may change when a run is resumed: those that say where it
/// is done, how fast, and what is kept of it (threads, memory, device, folders, delays, early
/// stopping, evaluation batch, logs, trials).
Node what_is_learnt(const Node& written);

/// The same, a path and a value for each key. A run is resumed with the same only.
std::map<std::string, std::string> run_identity(const Node& written);

/// A hash of it, 16 hexadecimal digits.
std::string identity_hash(const std::map<std::string, std::string>& identity);

/// Throws ConfigError that names each key whose value differs: `began` is of the run that is to go
/// on, `now` what is asked for.
void require_same_run(const std::map<std::string, std::string>& began,
                      const std::map<std::string, std::string>& now);

}  // namespace headrace::inline v1::app
