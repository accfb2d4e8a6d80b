// Package invariants says whether the program was built with the tag invariants. Such a program checks its invariants while it
// runs, and panics if one is violated. It is for tests, because a check takes time in proportion to the whole state. `make invariants` builds and
// runs it.
package invariants
