package localizer

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/internal/userfiles"
)

// scratch is where fuzzed archives are unpacked: in memory, if that is to be had, as they are thousands.
func scratch(t *testing.T) string {
	t.Helper()
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "heddle-fuzz-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := userfiles.RemoveAll(filepath.Dir(dir), filepath.Base(dir)); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// unpackBeside unpacks an archive into a directory with a file outside of it, and fails if anything but that directory
// changes or the directory holds what it may not. It returns the files that are in the directory then, by name, if the archive was unpacked.
func unpackBeside(t *testing.T, unpack func(*tree) error) map[string]string {
	base := scratch(t)
	inside := filepath.Join(base, "slot", "archive")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	sentinel := filepath.Join(base, "sentinel")
	if err := os.WriteFile(sentinel, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	looks := 0
	m := &meter{ctx: t.Context(), dir: base, step: 64 << 10, space: func(string) (Space, error) {
		if looks++; looks > 2 {
			return Space{}, nil
		}
		return Space{Free: 1 << 40}, nil
	}, reserve: 1}
	tr := newTree(root, m, 0o500)
	defer tr.close()
	err = unpack(tr)
	if err == nil {
		outer, oerr := userfiles.OpenDir(filepath.Dir(inside))
		if oerr != nil {
			t.Fatal(oerr)
		}
		defer outer.Close()
		d := &download{res: Resource{Visibility: Private}}
		if _, err := d.settle(outer, "archive"); err != nil {
			t.Errorf("unpacked, but: %v", err)
		}
	}
	if content, err := os.ReadFile(sentinel); err != nil || string(content) != "untouched" {
		t.Errorf("the file outside: %q, %v", content, err)
	}
	for dir, want := range map[string]int{base: 2, filepath.Dir(inside): 1} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("%s holds %v, %v", dir, entries, err)
		}
	}
	files := map[string]string{}
	werr := filepath.WalkDir(inside, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if e.Type()&^fs.ModeSymlink != 0 {
			t.Errorf("%s is a %v", p, e.Type())
			return nil
		}
		rel, err := filepath.Rel(inside, p)
		files[rel] = ""
		if err == nil && e.Type().IsRegular() && os.Geteuid() == 0 {
			var b []byte
			b, err = os.ReadFile(p)
			files[rel] = string(b)
		}
		return err
	})
	if werr != nil {
		t.Error(werr)
	}
	if err != nil {
		return nil
	}
	return files
}

// scriptedTar makes a tar file of a line for each entry: type, name, target of a link, and content. Headers of what is only mutated
// have wrong checksums, and inputs of some hundred bytes an entry take minutes to be minimized.
func scriptedTar(script string) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(script) {
		kind, rest := "0", strings.TrimSuffix(line, "\n")
		if rest != "" {
			kind, rest = rest[:1], rest[1:]
		}
		fields := append(strings.SplitN(rest, "\t", 3), "", "")
		var h [512]byte
		copy(h[:100], fields[0])
		copy(h[100:], fmt.Sprintf("%07o\x00%07o\x00%07o\x00%011o\x00%011o\x00", 0o644, 0, 0, len(fields[2]), 0))
		copy(h[148:], "        "+kind)
		copy(h[157:257], fields[1])
		copy(h[257:], "ustar\x0000")
		sum := 0
		for _, c := range h {
			sum += int(c)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		b.Write(h[:])
		b.WriteString(fields[2])
		b.Write(make([]byte, -len(fields[2])&511))
	}
	b.Write(make([]byte, 1024))
	return b.Bytes()
}

func FuzzUntar(f *testing.F) {
	for _, script := range []string{
		"0d/f\t\tcontent\n5e/\n",
		"2l\t../../sentinel\n0l/x\t\tx\n",
		"0d/f\t\tx\n1h\td/f\n2d/f\t/\n0d/f/g\t\ty\n",
		"xp\t\t16 path=a/b/c/d\n0x\t\tcontent\n",
		"L\t\tlong/long/name\n0x\t\tcontent\n",
		"K\t\t../../sentinel\n2x\t\n0x\t\ty\n",
		"0../sentinel\t\tx\n", "0/abs\t\tx\n", "3dev\n", "6fifo\n", "5.\n1a\tb\n",
	} {
		f.Add(script, false)
	}
	f.Add("\x1f\x8b\x08\x00", true)
	f.Fuzz(func(t *testing.T, data string, raw bool) {
		b := []byte(data)
		if !raw {
			b = scriptedTar(data)
		}
		unpackBeside(t, func(tr *tree) error { return untar(tr, bytes.NewReader(b)) })
	})
}

// scriptedZip makes a zip file of a line for each entry: its name and its content, or the target if the name begins with @.
func scriptedZip(script string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for line := range strings.Lines(script) {
		name, content, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		h := &zip.FileHeader{Name: strings.TrimPrefix(name, "@")}
		if h.Name != name {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		if w, err := z.CreateHeader(h); err == nil { // a directory has no content
			_, _ = w.Write([]byte(content))
		}
	}
	z.Close()
	return b.Bytes()
}

func FuzzUnzip(f *testing.F) {
	for _, script := range []string{"d/f\tcontent\ne/\n", "@l\t../../sentinel\nl\tx\nl/x\ty\n", "../sentinel\tx\n", "a\tx\na\ty\na/b\tz\n", "\\..\\x\ty\n"} {
		f.Add(script, false)
	}
	f.Add("PK\x05\x06", true)
	f.Fuzz(func(t *testing.T, data string, raw bool) {
		b := []byte(data)
		if !raw {
			b = scriptedZip(data)
		}
		unpackBeside(t, func(tr *tree) error { return unzip(tr, bytes.NewReader(b), int64(len(b)), nil) })
	})
}

// FuzzPattern unpacks jars as resources of type PATTERN: the jar is kept as it is, and beside it is what the pattern chooses.
func FuzzPattern(f *testing.F) {
	for pattern, script := range map[string]string{
		"": "a\tx\nd/b\ty\n", "(?:classes/|lib/).*": "classes/A.class\tx\nlib/b.jar\ty\nother\tz\n", "a|b": "a\tx\nab\ty\n", "job.jar": "job.jar\tx\n./job.jar\ty\n@l\tjob.jar\n", "(": "a\tx\n",
		`[^/]*\.xml`: "a.xml\tx\nd/a.xml\ty\n", "(?=x)y": "y\tx\n", "(a*)*b": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\tx\n", `job.jar/x`: "job.jar/x\ty\n",
	} {
		f.Add(pattern, script)
	}
	f.Fuzz(func(t *testing.T, pattern, script string) {
		match, err := compilePattern(pattern)
		if err != nil {
			return
		}
		jar := scriptedZip(script)
		d := &download{res: Resource{Type: Pattern, Pattern: pattern, Visibility: Private, Location: Location{Path: "/job.jar"}}}
		files := unpackBeside(t, func(tr *tree) error {
			d.meter = tr.m
			return d.unpackJar(tr, bytes.NewReader(jar), match)
		})
		if files == nil {
			return
		}
		if os.Geteuid() == 0 && files["job.jar"] != string(jar) {
			t.Errorf("the jar has become %q", files["job.jar"])
		}
		var chosen []string
		for line := range strings.Lines(script) {
			name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if name = strings.TrimPrefix(name, "@"); match == nil || match(name) {
				chosen = append(chosen, strings.TrimPrefix(path.Clean("/"+name), "/"))
			}
		}
		for name := range files {
			// A link that was chosen may lead another chosen entry to elsewhere in the directory.
			if name != "job.jar" && !slices.Contains(chosen, name) && !strings.Contains(script, "@") {
				t.Errorf("%q is there, though %q chooses %q", name, pattern, chosen)
			}
		}
	})
}
