#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/advice/advice.h>
#include <headrace/monitor/advice/advice_thresholds.h>
#include <headrace/monitor/advice/run_facts.h>

#include <map>
#include <vector>

namespace headrace::inline v1::monitor {

/// All that the rules say of one window, without patience and whatever was said before: for a look
/// from outside (doctor, tune). What a more fundamental advice contradicts is left out; the worst
/// comes first. Where the GPU is starved, the advice that explains it names the cause first, and
/// why nothing else would help.
HEADRACE_API std::vector<Advice> advise(const RunFacts& window,
                                        const AdviceThresholds& thresholds = {});

/// Looks at the windows of a run, one after the other, and says what is news: a rule speaks when it
/// held for as many windows in a row as its patience asks, and again only when it got clearly
/// worse. Not thread-safe; one for a run.
class HEADRACE_API Adviser {
 public:
  explicit Adviser(const AdviceThresholds& thresholds = {});

  /// The windows that follow are of another stage: only what was said is remembered.
  void begin_stage();
  /// The worst first; empty of a healthy run, but for the GPU that sets the pace, once.
  std::vector<Advice> look(const RunFacts& window);

 private:
  AdviceThresholds thresholds_;
  AdviceMemory said_;
  std::map<int, int> in_a_row_;  // windows, by the rule's number
  double best_busy_ = -1.0;      // of the GPU, in the windows before
};

}  // namespace headrace::inline v1::monitor
