package jvmarchive

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/internal/userfiles"
)

// Bounds of what is looked at.
const (
	maxJars     = 2000
	maxDirFiles = 5000    // of the folders that are moved behind the jars
	maxCover    = 100     // files that have to go in front again
	maxCovered  = 1 << 20 // bytes of each
)

// index knows the names of the entries of some jars. It takes eight bytes an entry; that two names have the same hash
// makes it err on the side of caution.
type index struct {
	seed   maphash.Seed
	hashes []uint64 // sorted
}

func indexJars(jars []string) (*index, error) {
	x := &index{seed: maphash.MakeSeed()}
	for _, j := range jars {
		if err := x.add(j); err != nil {
			return nil, fmt.Errorf("%s: %w", j, err)
		}
	}
	slices.Sort(x.hashes)
	x.hashes = slices.Compact(x.hashes)
	return x, nil
}

func (x *index) add(jar string) error {
	f, err := openFile(jar)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(f, st.Size())
	if errors.Is(err, zip.ErrFormat) && st.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range z.File {
		if !strings.HasSuffix(e.Name, "/") {
			x.hashes = append(x.hashes, maphash.String(x.seed, e.Name))
		}
	}
	return nil
}

func (x *index) has(name string) bool {
	_, ok := slices.BinarySearch(x.hashes, maphash.String(x.seed, name))
	return ok
}

// cover are files of folders whose names are those of entries of jars. In a jar of their own, in front of the others, they hide
// these as they did when their folders were in front.
type cover struct {
	names    []string // sorted
	contents map[string][]byte
}

// hash tells covers apart; that of none is empty.
func (c *cover) hash() string {
	if len(c.names) == 0 {
		return ""
	}
	h := sha256.New()
	for _, n := range c.names {
		sum := sha256.Sum256(c.contents[n])
		fmt.Fprintf(h, "%q %x\n", n, sum)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// jar is a jar of the files, always the same bytes for the same files.
func (c *cover) jar() ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, n := range c.names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: n, Method: zip.Store})
		if err == nil {
			_, err = w.Write(c.contents[n])
		}
		if err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// coverOf finds the files in folders that entries of the jars have the names of. It fails where no jar can stand in for the folders.
func coverOf(dirs []string, f *folders, x *index) (*cover, error) {
	c := &cover{contents: make(map[string][]byte)}
	left := maxDirFiles
	for _, dir := range dirs {
		var links map[string]string
		if dir == f.work {
			links = f.links // which may be there by now, or not yet
		}
		if err := c.add(dir, "", links, x, &left); err != nil {
			return nil, err
		}
		for name, target := range links {
			if err := c.add(target, name, nil, x, &left); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(c.names)
	return c, nil
}

// add looks through the folder, or at the file, that the class path knows by the name prefix, but for some links in it.
func (c *cover) add(root, prefix string, links map[string]string, x *index, left *int) error {
	root, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if *left--; *left < 0 {
			return errors.New("too many files")
		}
		rel, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		if _, known := links[rel]; known {
			return nil
		}
		st, err := os.Stat(at)
		if err != nil {
			return nil // a link to nowhere is no resource
		}
		if st.IsDir() {
			if d.Type()&fs.ModeSymlink != 0 && at != root {
				return fmt.Errorf("%s: a link to a folder", at)
			}
			return nil
		}
		name := filepath.ToSlash(filepath.Join(prefix, rel))
		_, known := c.contents[name]
		if known || !x.has(name) {
			return nil // of two folders the first one counts
		}
		// Of these the JVM or many libraries read all that there are, or they carry rights.
		if strings.HasPrefix(name, "META-INF/") || strings.HasSuffix(name, ".class") {
			return fmt.Errorf("%s hides the entry of a jar", at)
		}
		if len(c.names) >= maxCover || !st.Mode().IsRegular() || st.Size() > maxCovered {
			return fmt.Errorf("%s hides the entry of a jar, and can't be put into another one", at)
		}
		b, err := readFile(at)
		if err != nil {
			return err
		}
		c.names = append(c.names, name)
		c.contents[name] = b
		return nil
	})
}

// openFile opens what a path leads to, if it is a regular file: a pipe in its place must not hold anybody up.
func openFile(path string) (*os.File, error) {
	real, err := userfiles.OpenReal(path)
	if err != nil {
		return nil, err
	}
	defer real.Close()
	return real.Open()
}

func readFile(path string) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxCovered))
}
