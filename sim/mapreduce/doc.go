// Package mapreduce simulates jobs of maps and reduces on nodes that differ, slow down and fail. Each job has an ApplicationMaster
// that decides by am/stage with the policies of am/slowstart and am/speculate, and asks for containers of rm/scheduler/drive: the
// code of `heddle mr` and of a live ResourceManager, in virtual time.
//
// A Scenario says what to simulate. Read takes it from a file and refuses a wrong one by file, line and reason; Run gives a Result. The
// same scenario gives the same result, byte for byte. `heddle sim run` is the command line, docs/scenarios.md describes the file, and
// package sim/study has the scenarios of the papers' experiments.
//
// # The model
//
// A task has an amount of work: the seconds that it takes on a node of speed 1. A node has a speed for each type of task, and
// changes make it slower, faster, or take it away. A part of all attempts straggles wherever it runs.
//
// A map's output can be fetched when the map is done. A reduce fetches its part of all outputs at a bandwidth of its own, as far as they
// are there; then it works. It keeps fetched data even if the output is lost afterwards.
//
// A lost node is noticed after a while, or when it comes back. Until then its tasks make no progress and containers don't start, but
// outputs can be fetched. Then its containers and outputs are lost.
package mapreduce
