// Mutate measures what tests notice. It changes the code of packages in one small place at a time (a mutant), runs the
// tests, and counts the mutants that make a test fail (killed). It prints each mutant that no test notices.
//
//	go run ./internal/mutate -n 300 -seed 1 ./rm/ledger
//
// All mutants of a package are compiled into one test binary, behind a switch that an environment variable sets: 300 mutants cost
// 300 runs of tests and one build. Files stay as they are (go test -overlay). Each mutant meets only the tests that reach it. A mutant
// that no test reaches has survived. A run that takes far more time or memory than without a mutant is a failed one.
//
// What is changed:
//
//   - comparisons: < and <=, > and >= are exchanged; the result is negated
//   - conditions are true or false always; one side of && or || has no say; loops don't run
//   - + and -, * and /, & and |, << and >> are exchanged, and ++ and --
//   - constants are one more (plain numbers: or one less); true and false are exchanged
//   - assignments, calls, deferred calls, break, continue and return are left out
//   - results and fields of composite literals have their zero value
//
// The words of errors, the sizes of maps and capacities, and generated code are left alone.
//
// Gremlins, the tool that is maintained for Go, builds the tests anew for each mutant, draws no samples and leaves no statements out: a
// run over one of these packages takes it hours.
//
// A mutant that can't change what a caller sees is listed, with the reason, in equivalent_mutants.txt beside the code. Such mutants
// don't count. A line of that file that fits no mutant is an error.
package main
