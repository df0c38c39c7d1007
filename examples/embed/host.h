#pragma once

namespace embed {

// As many samples at once as are wanted: each waits in its operation until all are there. False
// where they have not met after the given time.
bool samples_meet(int workers, int wanted, double seconds);

// The same while this program uses TBB itself, with a limit of one thread for the whole process.
// Throws std::runtime_error where the limit did not stay in force.
bool samples_meet_beside_host(int workers, int wanted, double seconds);

}  // namespace embed
