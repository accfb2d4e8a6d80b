// Package invariants says whether the program was built with the tag invariants. Such a program checks its invariants
// while it runs, and panics if one is violated. The tag is for tests, because the time of a check grows with the whole
// state. `make invariants` builds and runs it.
package invariants
