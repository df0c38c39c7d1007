#pragma once

#include <functional>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

/// One side of a comparison: does its work once and returns how many items that was.
struct Contender {
  std::string name;
  std::function<double()> run;
  std::function<void()> prepare{};  ///< before every run, outside its time; may be empty
};

/// Rates of one contender over the repeats, items a second.
struct Rates {
  std::string name;
  double median = 0;
  double low = 0;
  double high = 0;
  double cpu = 0;  ///< CPU seconds an item, median; 0: not asked
  int repeats = 0;
};

/// Runs the contenders in turn, `repeats` rounds after one that is not counted, so that a change of
/// the machine's mood meets all of them.
std::vector<Rates> compare(const std::vector<Contender>& contenders, int repeats);

/// One side of a comparison that measures itself, such as by a device's clock: items a second of
/// one run.
struct Measured {
  std::string name;
  std::function<double()> rate;
};

/// As the other: in turn, after one round that is not counted.
std::vector<Rates> compare_measured(const std::vector<Measured>& contenders, int repeats);

/// CPU, cores, memory, compiler, date: one line, so that no figure stands without its machine.
std::string machine_line();
std::string cpu_model();
/// "2026-11-22", of the UTC clock.
std::string today();

double median(std::vector<double> values);
double seconds();
/// CPU time of the whole process, seconds.
double cpu_seconds();

}  // namespace headrace::inline v1::bench
