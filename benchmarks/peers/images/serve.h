#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace headrace::inline v1::bench {

/// The arguments that compare.py gives to every contender.
struct Request {
  std::string data{};     ///< a folder per class
  std::string cache{};    ///< where a contender may keep a file of its own format
  std::string variant{};  ///< which contender of the program
  std::int64_t batches = 32;
  std::int64_t batch = 64;
  int threads = 2;

  Request() = default;
  /// Ends the program with 2 for arguments that it does not know.
  Request(int argc, char** argv);
};

/// Told of every batch of an epoch as it arrives.
using OnBatch = std::function<void()>;

/// contenders/common.py for C++: one epoch, saying when its first batch came and when it is over;
/// then one for every line on standard input, saying how many images came in how many seconds
/// between an eighth of it and its last eighth.
int serve(const Request& request, const std::function<void(const OnBatch&)>& epoch);
/// The same for work without batches: `run` does all of an epoch and returns its seconds.
int serve_whole(const Request& request, const std::function<double()>& run);

}  // namespace headrace::inline v1::bench
