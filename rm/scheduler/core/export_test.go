package core

import "heddle/rm/scheduler/handle"

// SizeNumber is the number that what a container claims goes by.
func (s *Core) SizeNumber(h handle.Container) int32 { return s.Containers[h].size }
