#pragma once

#include <map>
#include <string>
#include <vector>

namespace embed {

// What belongs to a process and to nobody's library, as text: name and value. What this machine or
// program does not have (a CUDA device, OpenCV) is left out.
using ProcessState = std::map<std::string, std::string>;

// As seen by the calling thread.
ProcessState process_state();

// "locale: was C, is de_DE.UTF-8": one line for everything that differs.
std::vector<std::string> changes(const ProcessState& before, const ProcessState& after);

}  // namespace embed
