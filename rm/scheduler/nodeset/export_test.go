package nodeset

import "heddle/rm/scheduler/handle"

// KindNumber is the number that what a node has goes by.
func (s *Set) KindNumber(h handle.Node) int32 { return s.At[h].kind }

// Late is how many places the index of a node's rack is to be brought up to date in.
func (s *Set) Late(h handle.Node) int { return len(s.Sites[s.At[h].Rack].Rack.late) }
