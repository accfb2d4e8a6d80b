// Package xargs runs one command for each item or group of items that it reads, as GNU xargs does, and some more that users of GNU parallel
// expect: outputs that don't mix, in the order of the input if wanted, tries, timeouts, and a progress bar. A Runner runs the commands: on
// this machine, or on a cluster.
//
// Parse reads a command line. Run then works in three steps, each in a goroutine of its own:
//
//   - a reader turns bytes into items (items.go) and items into command lines (batch.go);
//   - up to -P workers run command lines (run.go);
//   - the outputs of commands wait in a store of bounded memory until it is their time (output.go, spool.go).
//
// Items, quotes, limits, messages and exit codes are those of GNU xargs 4.9; a test compares them with the program
// where it is installed. There is one difference: {} as an argument of its own stands for the items also without -I.
package xargs
