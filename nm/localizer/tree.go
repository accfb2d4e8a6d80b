package localizer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// maxDepth bounds the nesting of an archive's directories. Real ones are far less deep, and code that walks trees can
// cope with it.
const maxDepth = 255

// tree writes the contents of an archive below a directory. os.Root resolves names: it follows a link from the archive
// within the directory only. No entry is written through a link of its own name.
type tree struct {
	root *os.Root
	m    *meter
	mode fs.FileMode // mode of files

	// Archives list entries directory by directory, so the last directory stays open.
	last     *os.Root
	lastName string
}

// newTree returns a tree that writes below root. Close it when done; root stays open.
func newTree(root *os.Root, m *meter, mode fs.FileMode) *tree {
	return &tree{root: root, m: m, mode: mode, last: root, lastName: "."}
}

func (t *tree) close() { t.leave() }

func (t *tree) leave() {
	if t.last != t.root {
		t.last.Close()
	}
	t.last, t.lastName = t.root, "."
}

// enter makes the directory dir and its parents, and leaves it open in t.last.
func (t *tree) enter(dir string) error {
	if dir == t.lastName {
		return nil
	}
	t.leave()
	if dir == "." {
		return nil
	}
	if err := t.mkdir(dir); err != nil {
		return err
	}
	d, err := t.root.OpenRoot(dir)
	if err != nil {
		return err
	}
	t.last, t.lastName = d, dir
	return nil
}

// clean turns the name of an entry into a path within the tree. It drops leading slashes, like tar and Hadoop's
// unpackers. "." stands for the tree itself.
func (t *tree) clean(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("entry %q: name with a zero byte", name)
	}
	p := path.Clean(strings.TrimLeft(name, "/"))
	switch {
	case p == ".." || strings.HasPrefix(p, "../"):
		return "", fmt.Errorf("expanding %s would create entry outside of %s", name, t.root.Name())
	case strings.Count(p, "/") >= maxDepth:
		return "", fmt.Errorf("entry %.80q…: more than %d directories deep", name, maxDepth)
	}
	return p, nil
}

func (t *tree) mkdir(dir string) error {
	if err := t.m.created(); err != nil {
		return err
	}
	return t.m.full(t.root.MkdirAll(dir, 0o700))
}

// add calls create with the free place of the entry name: a name in the directory t.last.
func (t *tree) add(name string, create func(base string) error) error {
	p, err := t.clean(name)
	if err != nil {
		return err
	}
	if p == "." {
		return fmt.Errorf("entry %q names the archive's own directory", name)
	}
	if err := t.m.created(); err != nil {
		return err
	}
	base := path.Base(p)
	if err = t.enter(path.Dir(p)); err == nil {
		err = create(base)
	}
	if errors.Is(err, fs.ErrExist) {
		if err = t.vacate(p); err == nil {
			err = create(base)
		}
	}
	if err != nil {
		return fmt.Errorf("entry %q: %w", name, t.m.full(err))
	}
	return nil
}

// vacate removes an earlier entry with the same name.
func (t *tree) vacate(p string) error {
	fi, err := t.last.Lstat(path.Base(p))
	switch {
	case err != nil:
		return err
	case fi.IsDir():
		return fmt.Errorf("%s: an earlier entry made it a directory", p)
	}
	return t.last.Remove(path.Base(p))
}

// file writes a file. If modified is zero, it doesn't set the modification time.
func (t *tree) file(name string, modified time.Time, content io.Reader) error {
	return t.add(name, func(base string) error {
		f, err := t.last.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, t.mode)
		if err != nil {
			return err
		}
		_, err = t.m.copy(f, content)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err == nil && !modified.IsZero() {
			// Like Hadoop, keep the times if possible.
			_ = t.last.Chtimes(base, modified, modified)
		}
		return err
	})
}

// dir creates a directory.
func (t *tree) dir(name string) error {
	p, err := t.clean(name)
	if err != nil || p == "." {
		return err
	}
	if err := t.mkdir(p); err != nil {
		return fmt.Errorf("entry %q: %w", name, err)
	}
	return nil
}

// symlink creates a link to any target. Nothing here follows it out of the tree.
func (t *tree) symlink(name, target string) error {
	return t.add(name, func(base string) error { return t.last.Symlink(target, base) })
}

// link creates a hard link to the earlier entry target.
func (t *tree) link(name, target string) error {
	old, err := t.clean(target)
	if err != nil {
		return fmt.Errorf("entry %q: link to %w", name, err)
	}
	p, err := t.clean(name)
	if err != nil {
		return err
	}
	if p == old {
		return nil
	}
	return t.add(name, func(string) error { return t.root.Link(old, p) })
}
