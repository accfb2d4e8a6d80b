package limit

import (
	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/ledgerpb"
)

// MaxCommand is the maximum size of a command that a leader enters, in bytes. An entry of the log can hold several of that size.
const MaxCommand = 16 << 20

// The maximum size of messages in bytes, without their strings: a varint takes 11 with its tag, and a message its tag and length.
const (
	varintSize  = 12
	messageSize = 8
	refSize     = 4*messageSize + 4*varintSize // ContainerRef
)

// SizeBound returns an upper bound of the number of bytes that a command takes in a batch. It doesn't look at each number of a command that
// lists thousands.
func SizeBound(c *ledgerpb.Command) int {
	n := 2*messageSize + refSize
	switch {
	case c.ContainersAllocated != nil:
		for _, g := range c.ContainersAllocated.GetGrants() {
			n += grantBound(g)
		}
	case c.ContainersCompleted != nil:
		for _, done := range c.ContainersCompleted.GetCompletions() {
			n += CompletionBound(done)
		}
	case c.ContainersRunning != nil:
		n += refSize * len(c.ContainersRunning.GetContainers())
	case c.ContainersReported != nil:
		n += refSize * len(c.ContainersReported.GetContainers())
	default:
		n += proto.Size(c)
	}
	return n
}

func grantBound(g *ledgerpb.Grant) int {
	n := 3*messageSize + 7*varintSize + len(g.GetNode().GetHost()) + varintSize*len(g.GetResource().GetAmount())
	for _, tag := range g.GetTags() {
		n += messageSize + len(tag)
	}
	return n
}

// CompletionBound is like SizeBound, for one of a command's completions.
func CompletionBound(done *ledgerpb.Completion) int {
	return 3*messageSize + refSize + 6*varintSize + len(done.GetDiagnostics())
}
