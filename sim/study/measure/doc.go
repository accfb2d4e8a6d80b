// Package measure has what studies share: the seeds and parameters that they are run with, samples with their standard errors, and the tables
// that are printed and kept as files.
package measure
