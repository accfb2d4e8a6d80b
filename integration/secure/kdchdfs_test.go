package secure

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// copies runs a job of alice's on HDFS, which is localized, renewed, and logged there, and reads its logs. name is its output's.
func copies(t *testing.T, r *realm, l *hadooplab.Lab, name string) error {
	t.Helper()
	r.as(t, "alice")
	out, err := command(t, l, "mr", "-input", "/user/alice/in", "-output", "/user/alice/"+name, "-mapper", "sh -c 'echo to the log >&2; cat'", "-numReduceTasks", "0")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	await.Slowly(t, "its logs are on HDFS", func() bool {
		logs, err := command(t, l, "logs", "-applicationId", submitted.FindString(out))
		return err == nil && strings.Contains(logs, "to the log")
	})
	return nil
}

// While nodes and ResourceManager run jobs on a secured HDFS, one after the other, they ask the KDC for a ticket of their own once in a ticket's life. The ResourceManager
// renews each job's token; a ticket of the NameNode serves for all of them, up to its last minute, which is half of the life here.
func TestRequestsToTheKDCWithHDFS(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	const life, lives = 2 * time.Minute, 2
	r := newRealm(t, life)
	site, keys := securedHDFS(r)
	l := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: site, Krb5: r.Conf})
	run := makeFolders(t, r, l, keys)
	input := l.Dir() + "/input"
	write(t, input, "a line\n")
	run("hdfs", "dfs", "-put", input, "/user/alice/in")
	first, begun, jobs := len(r.Log()), time.Now(), 0
	for ; time.Since(begun) < lives*life; jobs++ {
		if err := copies(t, r, l, fmt.Sprintf("out%d", jobs)); err != nil {
			t.Fatal(err)
		}
	}
	took := float64(time.Since(begun)) / float64(life)
	for _, account := range []string{"nm/localhost@" + r.Realm, "rm/localhost@" + r.Realm} {
		as, tgs := requests(r.Log()[first:], account)
		t.Logf("%s in %.1f lives of a ticket, with %d jobs: %d AS, %d TGS; with tickets of 10 hours %.2f and %.2f an hour", account, took, jobs, as, tgs, float64(as)/took/10, float64(tgs)/took/10)
		if most := int(took/0.7) + 2; as > most || tgs > jobs+most {
			t.Errorf("%s: %d AS and %d TGS", account, as, tgs)
		}
	}
}
