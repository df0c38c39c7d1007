#pragma once

/// Every job of the program, a line each; `job(name)` is expanded for each in turn. The job's room
/// is apps/jobs/<name>, where `Job <name>_job()` is defined. CMake's list is
/// apps/jobs/CMakeLists.txt.
#define HEADRACE_JOBS(job) job(glaucoma) job(leak)
