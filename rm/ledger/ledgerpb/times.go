// Package ledgerpb has the messages of the ledger: its commands, as they stand in the log, and its snapshot.
package ledgerpb

// For returns what of the times a ledger of a version can hold.
func (t *ContainerTimes) For(version int32) *ContainerTimes {
	if t == nil || version >= starvedVersion || t.Starved == 0 && !t.GivenBack && (!t.Cold || version >= coldVersion) {
		return t
	}
	return &ContainerTimes{Accepted: t.Accepted, Localized: t.Localized, Launched: t.Launched, Ended: t.Ended, Cold: t.Cold && version >= coldVersion}
}

// GivenBack is told of each container that its ApplicationMaster has released. No user of it changes it.
var GivenBack = &ContainerTimes{GivenBack: true}

// The first versions of the ledger with fields of ContainerTimes.
const (
	coldVersion    = 11 // Cold (ledger.CourseVersion)
	starvedVersion = 13 // Starved, GivenBack (ledger.StarvedVersion)
)

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
