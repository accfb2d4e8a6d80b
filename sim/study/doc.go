// Package study has the experiments of the techniques' papers, and prints its results beside theirs:
//
//   - OMO and eSplash (Wang, chapters 3 to 5), as scenarios of package sim/mapreduce: their nodes, slots, jobs and disturbances;
//   - BIG-C's preemption by suspension, by package sim, on a trace like the one that its text replays;
//   - Sparrow, Hawk, Eagle, Dice and Eirene, by package sim/hybrid, on synthetic traces of the shapes of Yahoo's, Cloudera's and Facebook's,
//     and on traces that the environment names (HEDDLE_YAHOO_TRACE, HEDDLE_GOOGLE_TRACE, HEDDLE_FACEBOOK_TRACE), as not all of them may be part
//     of this repository.
//
// `heddle-lab sim study` is the command line; docs/studies has the results.
//
// Parameters that a text doesn't give are chosen once, with the reason at the constant. None is tuned to a figure: the studies reproduce
// who wins, and by about how much.
package study
