// Package documents lists the pages of the repository, for tests that compare what they say with what there is.
package documents

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Pages returns the names of README.md and of all pages below docs, in the repository at root.
func Pages(t testing.TB, root string) []string {
	t.Helper()
	pages := []string{filepath.Join(root, "README.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
