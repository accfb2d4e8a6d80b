//go:build invariants

package scheduler

// checking has every call of Schedule check what must always hold, and panic if it doesn't.
const checking = true
