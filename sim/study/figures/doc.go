// Package figures is the list of every figure and table of the papers that Heddle's techniques come from: what the paper reports, which result of which
// run of a study stands beside it, and what differs and why. It makes docs/studies/README.md of that and of the results that runs have left as files.
package figures
