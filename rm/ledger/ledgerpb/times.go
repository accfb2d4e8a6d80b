package ledgerpb

// NewContainerTimes returns the ledger's form of a node's report. Each argument is ms ago, or negative if unknown.
func NewContainerTimes(accepted, localized, launched, ended int64) *ContainerTimes {
	return &ContainerTimes{Accepted: plusOne(accepted), Localized: plusOne(localized), Launched: plusOne(launched), Ended: plusOne(ended)}
}

func plusOne(ms int64) int64 {
	if ms < 0 {
		return 0
	}
	return ms + 1
}
