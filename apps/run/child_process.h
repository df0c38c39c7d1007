#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// How a started program ended.
struct ChildResult {
  /// Exit status; 127 when it could not be started, 128 + n when signal n ended it.
  int status = 0;
  std::string output;  ///< its standard output and error together
};

/// Runs a program found on PATH to its end, without a shell; `folder` is its working directory when
/// given; a request to stop kills it. Throws ResourceError when no process or pipe can be had.
ChildResult run_child(const std::vector<std::string>& arguments,
                      const std::filesystem::path& folder = {}, const std::stop_token& stop = {});

}  // namespace headrace::inline v1::app
