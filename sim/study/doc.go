// Package study has the experiments of the texts that FRESH, OMO and eSplash come from (Wang, chapters 3 to 5), as scenarios of
// package sim/mapreduce: their nodes, slots, jobs and disturbances. A Study prints what comes out beside what the texts report, and
// draws it. `heddle sim study` is the command line; docs/studies has the results.
//
// What a text doesn't say is chosen once, by what is plain, and stands at the constant. No parameter is tuned to a figure: what is to
// be reproduced is who wins, and by about how much.
package study
