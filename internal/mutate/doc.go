// Mutate measures what tests notice. It changes the code of packages in one small place at a time (a mutant), runs the
// tests, and counts the mutants that make a test fail (killed). It prints each mutant that no test notices.
//
//	go run ./internal/mutate -n 300 -seed 1 ./rm/ledger
//
// All mutants of a package are compiled into one test binary, behind a switch that an environment variable sets: 300
// mutants cost 300 runs of tests and one build. Source files stay unchanged (go test -overlay). Each mutant meets only
// the tests that reach it. A mutant that no test reaches has survived. A run fails, too, if it takes far more time or
// memory than without a mutant.
//
// These are the changes:
//
//   - comparisons: < and <=, > and >= are exchanged; the result is negated
//   - conditions are always true or always false; one side of && or || is ignored; loops don't run
//   - + and -, * and /, & and |, << and >>, ++ and -- are exchanged
//   - constants are increased by one (plain numbers also decreased); true and false are exchanged
//   - assignments, calls, deferred calls, break, continue and return are left out
//   - results and fields of composite literals get their zero value
//
// The words of errors, the sizes of maps and capacities, and generated code stay unchanged.
//
// Gremlins, the maintained tool for Go, builds the tests again for each mutant, draws no samples and leaves no
// statements out. A run over one of these packages takes it hours.
//
// equivalent_mutants.txt beside the code lists mutants that can't change what a caller sees, with the reason. They
// don't count. A line of that file that fits no mutant is an error.
package main
