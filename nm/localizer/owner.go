package localizer

// Owner is the operating system's user that a container runs as, if that isn't the NodeManager's own.
type Owner struct {
	UID, GID int
	Groups   []int // supplementary
}
