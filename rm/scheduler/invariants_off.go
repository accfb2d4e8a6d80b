//go:build !invariants

package scheduler

const checking = false
