// Package house holds the rules that the source tree keeps, as tests: which package may import which, how large packages and structs
// may grow, what is pure, what docs/architecture.md names, and which tests may be skipped. It has no code besides its tests.
package house
