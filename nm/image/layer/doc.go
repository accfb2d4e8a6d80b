// Package layer unpacks the layers of images as lower folders of overlayfs.
//
// The archive may be hostile. Nothing is written outside of the folder. No device, pipe or attribute is made, and no program is
// setuid. Entries and bytes are bounded.
package layer

// Limits bound what a layer may unpack to.
type Limits struct {
	Bytes   int64 // of all files, with overhead for each entry
	Entries int64 // files, folders and links, also those that are only implied by the path of another
}
