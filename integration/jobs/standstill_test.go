package jobs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/yarn/wire"
)

// A command of heddle xargs whose executor is suspended, on whatever groups this machine has, for longer than anybody may be silent, goes on
// where it was: it isn't run again, and its time doesn't run out meanwhile.
func TestASuspendedExecutorIsntLost(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it takes a minute
	nmtest.RealGroups(t)
	c := startCluster(t, 1, 1, nil)
	marks := t.TempDir()
	x := c.xargs("-P", "1", "-I{}", "--timeout", "30", "sh", "-c",
		`echo $CONTAINER_ID > $(mktemp `+marks+`/XXXXXX); while ! test -e go; do sleep 0.05; done; echo {}`)
	x.feed(7, 8)
	begun := func() []string { return must(filepath.Glob(marks + "/*")) }
	id := await.Value(t, "the command begins", func() (string, bool) {
		if len(begun()) == 0 {
			return "", false
		}
		b := must(os.ReadFile(begun()[0]))
		return strings.TrimSpace(string(b)), strings.HasSuffix(string(b), "\n")
	})
	container := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(c.binary, append([]string{"container", "--conf", c.conf}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	container("-suspend", id, "-level", "frozen", "-breathe", "never")
	<-time.After(2*wire.Silence + 5*time.Second) // its pool would notice that it is silent, and then the command's time would be over
	container("-resume", id)
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	x.in.Close()
	if code := x.code(); code != 0 || x.stdout.String() != "7\n" || len(begun()) != 1 {
		t.Errorf("exit code %d, %q, begun %d times: %s", code, x.stdout, len(begun()), x.stderr)
	}
}
