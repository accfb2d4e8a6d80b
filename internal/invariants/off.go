//go:build !invariants

package invariants

// Checked is a constant so that the compiler removes the checks.
const Checked = false
