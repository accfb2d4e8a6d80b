// Package whatif answers what a recorded load would have met under another configuration. It plays the load (sim/whatif/load) twice through
// the scheduler (sim/whatif/play): under the configuration that it was recorded under, and under the changed one. What the first differs by
// from the record is the error of the method: it gives the error bars, and if it is too large there is no answer.
//
// Everything is deterministic: the same record and options give the same report, byte for byte.
package whatif
