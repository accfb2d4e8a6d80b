package limit

// Bounds are how much requests may leave behind in the ledger, for one user and in all. A field of 0 is no bound. Everything that waits for
// its commit counts. docs/disk.md lists them.
type Bounds struct {
	TokensOfOwner, Tokens int // valid delegation tokens of one owner, and of all

	// UserBytes and LiveBytes bound the memory that the applications of one user, and of all, take until they end: their contexts, names
	// and texts. Submissions beyond them are refused.
	UserBytes, LiveBytes int64
	// EndedBytes bounds the memory of applications that have ended: the oldest are forgotten beyond it.
	EndedBytes int64
	// Nodes and NodeBytes bound the nodes, and the memory of what these say of themselves. New nodes beyond them are refused.
	Nodes     int
	NodeBytes int64
}

const (
	// MaxTokenName is the size of the owner, the renewer and the real user of a delegation token, in bytes.
	MaxTokenName = 255
	// MaxBrief is the length in bytes to which a text is cut while its user, or all users together, exceed their bound: the
	// texts of ApplicationMasters and nodes can't be refused.
	MaxBrief = 1 << 10
	// maxWord is the same for a feature of a node.
	maxWord = 64
)

// Standard returns bounds for a process that may use so many bytes of memory. The applications of all users get live bytes, or, if that is 0,
// a quarter of the memory and at most 8 GiB; one user gets a percentage of that.
func Standard(memory, live int64, userPercent int) Bounds {
	if live == 0 {
		live = min(memory/4, 8<<30)
	}
	return Bounds{
		UserBytes: live / 100 * int64(userPercent), LiveBytes: live, EndedBytes: live / 4,
		Nodes: 100_000, NodeBytes: 512 << 20,
	}
}

// Over reports whether something is above a bound.
func Over(bound, is int64) bool { return bound > 0 && is > bound }
