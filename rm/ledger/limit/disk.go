package limit

// Disk says how much space is left for the log.
type Disk uint8

const (
	DiskFine Disk = iota
	DiskLow       // large submissions are refused
	DiskFull      // all submissions and new delegation tokens are refused; what ends something isn't
)

// LargeContext is the size in bytes above which a submission context is refused while the disk is low.
const LargeContext = 64 << 10
