#include <headrace/apps/commands/command_line.h>

// The program for everything that needs no LibTorch. Training and prediction live in a program of
// their own, which it becomes.
int main(int argc, char** argv) {
  return headrace::app::run_program(argc, argv, nullptr);
}
