//go:build invariants

package invariants

// Checked has the scheduler check itself with every decision, and ResourceManagers the ledger with every batch.
const Checked = true
