#pragma once

namespace headrace::inline v1::app {

class TrainingBackend;

/// A program of the house: reads its command line, runs the command that it names and gives the
/// exit code. Help goes to standard output, a mistake to standard error, both without LibTorch. A
/// program that has no backend becomes headrace-train where a command needs one.
int run_program(int argc, char** argv, TrainingBackend* backend) noexcept;

}  // namespace headrace::inline v1::app
