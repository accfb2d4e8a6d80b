package registry

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/internal/bounded"
	"heddle/internal/whole"
	"heddle/nm/image/oci"
)

// notes is a folder of the parts of images that were found, in a file each. It outlives the process.
type notes string

// unwritten begins the names of files that aren't whole.
const unwritten = "new-"

// Bounds of the folder: images, bytes of one's parts as they are written, and bytes of all.
const (
	maxNotes = 1000
	maxNote  = 4 * oci.MaxText
	maxAll   = 16 * maxNote
	most     = 100 * maxNotes // files, with those of processes that have ended while they wrote
)

func (n notes) open() error {
	if err := os.MkdirAll(string(n), 0o700); err != nil {
		return err
	}
	return n.shrink()
}

func (n notes) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(string(n), hex.EncodeToString(sum[:]))
}

// read returns what was noted under a key. A file that is damaged counts as none.
func (n notes) read(key string) (p oci.Parts, ok bool) {
	text, err := bounded.ReadFile(n.path(key), maxNote)
	if err != nil || json.Unmarshal(text, &p) != nil {
		return oci.Parts{}, false
	}
	now := time.Now()
	_ = os.Chtimes(n.path(key), now, now) // which ones go first
	return p, true
}

// write notes an image, in the place of one that hasn't been used for long if there are too many.
func (n notes) write(key string, p oci.Parts) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := whole.Write(n.path(key), unwritten, 0o600, text); err != nil {
		return err
	}
	return n.shrink()
}

// shrink removes the notes that were used before others, if there are too many, and those that weren't written whole.
func (n notes) shrink() error {
	names, err := bounded.Names(string(n), most)
	if err != nil {
		return err
	}
	type note struct {
		name string
		used time.Time
		size int64
	}
	var all []note
	var size int64
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(string(n), name))
		if err != nil {
			continue // another has removed it
		}
		if strings.HasPrefix(name, unwritten) && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(string(n), name))
			continue
		}
		all = append(all, note{name, info.ModTime(), info.Size()})
		size += info.Size()
	}
	slices.SortFunc(all, func(a, b note) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for len(all) > maxNotes || size > maxAll {
		size -= all[0].size
		_ = os.Remove(filepath.Join(string(n), all[0].name))
		all = all[1:]
	}
	return nil
}
