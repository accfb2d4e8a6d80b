//go:build !linux

package awake

import "time"

func sinceBoot() (time.Duration, bool) { return 0, false }
