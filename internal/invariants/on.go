//go:build invariants

package invariants

// Checked makes the scheduler check itself after every decision, and ResourceManagers the ledger after every batch.
const Checked = true
