package jvmarchive

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/internal/bounded"
	"heddle/internal/userfiles"
)

// Limits of the search.
const (
	maxJars     = 2000
	maxDirFiles = 5000    // files in the folders that move behind the jars
	maxCover    = 100     // files to put in front again
	maxCovered  = 1 << 20 // bytes of each such file
)

// index knows the names of the entries of some jars. It takes eight bytes an entry. If two names have the same hash,
// the package only makes fewer archives than it could.
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

// cover has the files of folders that share their names with entries of jars. In a separate jar before the others they
// hide those entries, as they did when their folders were in front.
type cover struct {
	names    []string // sorted
	contents map[string][]byte
}

// hash distinguishes covers. That of an empty one is "".
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

// jar returns a jar of the files. The same files always give the same bytes.
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

// coverOf returns the files in folders that share a name with an entry of the jars. It fails if no jar can replace the
// folders.
func coverOf(dirs []string, f *folders, x *index) (*cover, error) {
	c := &cover{contents: make(map[string][]byte)}
	left := maxDirFiles
	for _, dir := range dirs {
		var links map[string]string
		if dir == f.work {
			links = f.links // which may exist already, or not yet
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

// add searches the folder or file at root, which the class path knows by the name prefix. It treats links in it as
// given.
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
			return nil // a dangling link is no resource
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
			return nil // the first of two folders counts
		}
		// The JVM or many libraries read all files with these names, or the files carry rights.
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

// openFile opens a path if it leads to a regular file. A pipe must not block the caller.
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
	return bounded.ReadSome(f, maxCovered)
}
