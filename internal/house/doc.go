// Package house tests that the source tree keeps its rules: which package may import which, how large packages and
// structs may grow, what is pure, where links of documents lead, and which tests may be skipped. It has no code
// besides tests.
package house
