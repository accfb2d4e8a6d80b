// Package ladder measures how long it takes to suspend processes and to resume them, by nm/suspend on groups of this machine's kernel:
// `heddle-lab bench suspend`. Run starts processes (Child) that hold memory, brings them to levels and back, and checks that nothing in
// their memory has changed.
package ladder
