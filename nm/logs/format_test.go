package logs

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
)

// indexed makes a lab write the indexed format.
func indexed(c *Config) {
	c.Format = Indexed
	c.Place.Suffix = "logs-ifile"
}

// archived returns what can be read of app1, as "file number/name=content".
func (l *lab) archived() []string {
	l.t.Helper()
	archive := Archive{FS: l.remote.As("alice"), Place: l.cfg.Place}
	files, err := archive.Files(l.t.Context(), app1, "alice")
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		err := archive.Each(l.t.Context(), f, func(log AggregatedLog, content io.Reader) error {
			b, err := io.ReadAll(content)
			out = append(out, fmt.Sprintf("%s %d/%s=%s", f.Name, containerID(l.t, log.Container).Sequence(), log.Name, b))
			return err
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return out
}

func TestIndexedAggregation(t *testing.T) {
	for _, compression := range []string{"none", "gz"} {
		l := newLab(t, indexed, func(c *Config) { c.Compression = compression })
		l.begin(Wishes{})
		l.log(1, c1(2), "stdout", "two out")
		l.log(0, c1(2), "stderr", "")
		l.log(0, c1(1), "syslog", strings.Repeat("master\n", 1000))
		l.ContainerFinished(Ended{ID: c1(1), Master: true})
		l.ContainerFinished(Ended{ID: c1(2), ExitCode: 1})
		if err := l.finish(); err != nil {
			t.Fatal(err)
		}
		const file = "host.example.com_8041"
		equal(t, "logs", l.archived(), []string{
			file + " 1/syslog=" + strings.Repeat("master\n", 1000), file + " 2/stderr=", file + " 2/stdout=two out",
		})
	}
}

func TestIndexedRolling(t *testing.T) {
	l := newLab(t, indexed, func(c *Config) { c.Roll = 10 * time.Millisecond })
	l.begin(Wishes{RolledInclude: "rolled"})
	l.ContainerStarted(c1(1), true)
	l.log(0, c1(1), "rolled.1", "first")
	await.Until(t, "the first upload", func() bool { return l.remote.count("rename") > 0 })
	l.log(0, c1(1), "rest", "second")
	l.ContainerFinished(Ended{ID: c1(1), Master: true})
	if err := l.finish(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range l.archived() {
		_, log, _ := strings.Cut(s, " ")
		got = append(got, log)
	}
	equal(t, "logs", got, []string{"1/rolled.1=first", "1/rest=second"})
}

func TestParseFormat(t *testing.T) {
	for _, c := range []struct {
		name, class string
		want        Format
		ok          bool
	}{
		{"TFile", "", TFile, true},
		{"IFile", "", Indexed, true},
		{"mine", controllers + "ifile.LogAggregationIndexedFileController", Indexed, true},
		{"IFile", controllers + "tfile.LogAggregationTFileController", TFile, true},
		{"other", "", TFile, false},
		{"TFile", "com.example.Controller", TFile, false},
	} {
		if got, err := ParseFormat(c.name, c.class); got != c.want || (err == nil) != c.ok {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}
