#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bridgemark/io/program/ask_program.h"
#include "bridgemark/solver/outside/outside_solver.h"

// How the program asks Python for solvers, and has it work with them, in processes of their own.
// Python is the interpreter that BRIDGEMARK_PYTHON names, else python3 of the search path; it must
// have the package of the program's version.
namespace bridgemark {

// To be followed by what `python -m bridgemark` takes.
std::vector<std::string> python_command();

// Runs such a command to its end. Throws Interrupted once `stop` says so.
ProgramAnswer ask_python(const std::vector<std::string>& arguments,
                         const std::function<bool()>& stop = {});

// The solvers of that Python. Nothing is started before one is asked for.
OutsideSolvers solvers_of_python();

}  // namespace bridgemark
