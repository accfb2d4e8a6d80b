//go:build !linux

package stages

import "time"

// Do does the processor's part of the work for a line, as well as can be told here.
func (w Work) Do(string) error {
	for begun := time.Now(); time.Since(begun) < w.CPU; {
	}
	return nil
}
