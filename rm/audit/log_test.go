package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/internal/output"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 7e6, time.UTC) }

func logTo(w *output.Buffer) *logrus.Entry {
	l := logrus.New()
	l.SetOutput(w)
	return logrus.NewEntry(l)
}

func open(t *testing.T, path string, said *output.Buffer) *Log {
	t.Helper()
	l, err := Open(path, logTo(said), noon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Programs that read YARN's audit log find log4j's layout, and logrotate may take the file away.
func TestAFileThatIsMovedAwayIsMadeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rm-audit.log")
	l := open(t, path, &output.Buffer{})
	l.Write(Entry{User: "alice", Operation: Kill, Target: App})
	await.Until(t, "the first line", func() bool { b, _ := os.ReadFile(path); return len(b) > 0 })
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	l.Write(Entry{User: "bob", Operation: Kill, Target: Clients, Failed: &Unauthorized})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Write(Entry{User: "late"})
	for name, want := range map[string]string{
		path + ".1": "2026-03-01 12:00:00,007 INFO resourcemanager.RMAuditLogger: USER=alice\tOPERATION=Kill Application Request\tTARGET=RMAppImpl\tRESULT=SUCCESS\n",
		path: "2026-03-01 12:00:00,007 WARN resourcemanager.RMAuditLogger: USER=bob\tOPERATION=Kill Application Request\tTARGET=ClientRMService\tRESULT=FAILURE\t" +
			"DESCRIPTION=Unauthorized user\tPERMISSIONS=User doesn't have permissions to MODIFY_APP\n",
	} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}

// A file that can't be written is said once, and the ResourceManager goes on; when the disk is well again, so is the log.
func TestALogThatCannotBeWrittenIsSaidOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	said := &output.Buffer{}
	l := open(t, filepath.Join(dir, "audit"), said)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		l.Write(Entry{User: "alice"})
	}
	await.Until(t, "what failed is said", func() bool { return strings.Contains(said.String(), "lines of the audit log are lost") })
	await.Until(t, "all lines are tried", func() bool { return len(l.lines) == 0 })
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l.Write(Entry{User: "bob"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "audit")); err != nil || !bytes.Contains(b, []byte("USER=bob")) {
		t.Errorf("%q, %v", b, err)
	}
	if n := strings.Count(said.String(), "lost"); n != 1 {
		t.Errorf("it was said %d times:\n%s", n, said.String())
	}
}

// Without a file the lines are in the ResourceManager's log. A Log that isn't there writes nothing.
func TestWithoutAFileLinesGoToTheLog(t *testing.T) {
	said := &output.Buffer{}
	l := open(t, "", said)
	l.Write(Entry{User: "alice", Operation: Kill})
	l.Write(Entry{User: "bob", Operation: Kill, Failed: &Unauthorized})
	if got := said.String(); !strings.Contains(got, "level=info msg=\"USER=alice\\t") || !strings.Contains(got, "level=warning msg=\"USER=bob\\t") {
		t.Error(got)
	}
	var none *Log
	none.Write(Entry{})
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

// A disk that takes no line keeps no request waiting, and what is lost is counted.
func TestASlowDiskHoldsNobodyUp(t *testing.T) {
	said := &output.Buffer{}
	l := &Log{path: "nowhere", log: logTo(said), now: noon, lines: make(chan string, 2), done: make(chan struct{})} // nobody takes the lines
	for i := range 5 {
		l.Write(Entry{User: fmt.Sprint(i)})
	}
	<-l.lines
	l.Write(Entry{User: "5"})
	if !strings.Contains(said.String(), "3 lines of the audit log are lost") {
		t.Error(said.String())
	}
}

// Where others may put a link, a line could be appended to any file of the daemon's user.
func TestFoldersOfOthersAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "audit"), logTo(&output.Buffer{}), noon); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
}
