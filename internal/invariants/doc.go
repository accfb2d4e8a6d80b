// Package invariants says whether the program was built with the tag invariants. Such a program checks what must always hold as it
// goes, and panics if it doesn't: it is for tests, as checks take time in proportion to the whole state. `make invariants` builds and
// runs it.
package invariants
