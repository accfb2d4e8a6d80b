package logs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/yarn/records"
)

// Files of all formats, of a node that is adding to its own and of one that was shut down in the middle, lie in one
// directory.
func TestArchive(t *testing.T) {
	l := newLab(t)
	app := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	archive := Archive{FS: l.remote.As("alice"), Place: Place{Root: "/logs", Suffix: "logs-ifile"}, Older: true}
	put := func(name string, content []byte) {
		t.Helper()
		p := filepath.Join(l.remote.root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	indexed, err := os.ReadFile("ifile/testdata/stock-none.ifile")
	if err != nil {
		t.Fatal(err)
	}
	checksum := func(name string, n int) []byte {
		b := append(binary.BigEndian.AppendUint32(nil, uint32(len(name))), name...)
		return binary.BigEndian.AppendUint64(b, uint64(n))
	}
	dir := archive.Place.AppDir(app, "alice")
	put(dir+"/a_1", indexed)
	put(dir+"/b_1", append(slices.Clone(indexed), "more is under way"...))
	put(dir+"/b_1-checksum", checksum("b_1", len(indexed)))
	put(dir+"/c_1", []byte("the first upload is under way"))
	put(dir+"/c_1-checksum", checksum("c_1", 0))
	put(dir+"/d_1.tmp", []byte("incomplete"))
	put(dir+"/d_1-checksum", []byte("odd"))
	put(archive.Place.OlderAppDir(app, "alice")+"/e_1", golden(t))
	put(dir+"/f_1", indexed[:len(indexed)-1])

	files, err := archive.Files(t.Context(), app, "alice")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		err := archive.Each(t.Context(), f, func(log AggregatedLog, content io.Reader) error {
			var b bytes.Buffer
			if err := log.WriteText(&b, content, 3); err != nil {
				return err
			}
			_, text, _ := strings.Cut(b.String(), "LogContents:\n")
			text, _, _ = strings.Cut(text, "\nEnd of")
			got = append(got, fmt.Sprintf("%s %s %d %q", f.Name, log.Name, log.Length, text))
			return nil
		})
		if wrong := f.Name == "f_1"; (err != nil) != wrong || wrong && !strings.Contains(err.Error(), dir+"/f_1") {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	slices.Sort(got)
	equal(t, "logs", got, []string{
		`a_1 empty 0 ""`, `a_1 stdout 17 "out"`, `a_1 ünï 16 "of "`,
		`b_1 empty 0 ""`, `b_1 stdout 17 "out"`, `b_1 ünï 16 "of "`,
		`e_1 directory.info 1383 "ls "`, `e_1 launch_container.sh 3018 "#!/"`, `e_1 prelaunch.err 0 ""`, `e_1 prelaunch.out 100 "Set"`,
	})
}
