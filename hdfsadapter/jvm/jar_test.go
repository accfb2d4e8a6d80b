package jvm

import (
	"archive/zip"
	"bytes"
	"flag"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/integration/jvmtest"
)

var update = flag.Bool("update", false, "write host.jar")

// classes compiles java/ and returns the classes by their names in the jar.
func classes(t *testing.T) map[string][]byte {
	t.Helper()
	sources, err := filepath.Glob("java/*.java")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	dir := jvmtest.Compile(t, sources...)
	out := map[string][]byte{}
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[path], err = os.ReadFile(filepath.Join(dir, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// pack makes a jar of classes. It has no times, so that the same classes make the same jar.
func pack(t *testing.T, all map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = w.Write(all[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// host.jar is committed, as those who build Heddle need Go alone, and those who run it a Java without a compiler. It must be what its source says:
// after a change of java/, run go test ./hdfsadapter/jvm -run Jar -update with Java 17.
func TestTheJarIsWhatItsSourceSays(t *testing.T) {
	want := classes(t)
	if *update {
		if err := os.WriteFile("host.jar", pack(t, want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	z, err := zip.NewReader(bytes.NewReader(hostJar), int64(len(hostJar)))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if found++; !bytes.Equal(got, want[f.Name]) {
			t.Errorf("%s isn't what java/ says: run this test with -update", f.Name)
		}
		if major := int(got[6])<<8 | int(got[7]); major != 52 {
			t.Errorf("%s is for version %d of the JVM; Java 8 has 52", f.Name, major)
		}
	}
	if found != len(want) {
		t.Errorf("%d classes, and java/ has %d: run this test with -update", found, len(want))
	}
}
