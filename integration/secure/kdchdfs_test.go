package secure

import (
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// copies runs a job of alice's on HDFS, which is localized, renewed, and logged there. name is its output's. It returns the job's id.
func copies(t *testing.T, r *realm, l *hadooplab.Lab, name string) (app string, err error) {
	t.Helper()
	r.as(t, "alice")
	out, err := command(t, l, "mr", "-input", "/user/alice/in", "-output", "/user/alice/"+name, "-mapper", "sh -c 'echo to the log >&2; cat'", "-numReduceTasks", "0")
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return submitted.FindString(out), err
}

// logged waits until a job's logs are on HDFS.
func logged(t *testing.T, l *hadooplab.Lab, app string) {
	t.Helper()
	await.Slowly(t, "its logs are on HDFS", func() bool {
		logs, err := command(t, l, "logs", "-applicationId", app)
		return err == nil && strings.Contains(logs, "to the log")
	})
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
		app, err := copies(t, r, l, fmt.Sprintf("out%d", jobs))
		if err != nil {
			t.Fatal(err)
		}
		logged(t, l, app)
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

// spnego are settings by which pages ask for tickets, but for /jmx. keys is a keytab.
func spnego(r *realm, keys string) map[string]string {
	return map[string]string{
		"hadoop.http.filter.initializers":                        "org.apache.hadoop.security.AuthenticationFilterInitializer",
		"hadoop.http.authentication.type":                        "kerberos",
		"hadoop.http.authentication.kerberos.principal":          "HTTP/localhost@" + r.Realm,
		"hadoop.http.authentication.kerberos.keytab":             keys,
		"hadoop.http.authentication.kerberos.endpoint.whitelist": "/jmx",
	}
}

// A cluster on a secured HDFS whose daemons have a way to the KDC of their own. While that is slow, jobs run and are logged. While it is silent, they run as long as the
// ResourceManager has a ticket of the NameNode, and then fail soon: their tokens can't be renewed. Pages take tickets all the time, nodes stay, and jobs run again when
// the KDC answers.
func TestASlowKDCUnderSecuredHDFS(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	r := newRealm(t, 90*time.Second)
	way := r.Slow(t)
	t.Setenv("KRB5_CONFIG", way.Conf)
	site, keys := securedHDFS(r)
	site["yarn.nm.liveness-monitor.expiry-interval-ms"] = nodeExpiry
	maps.Copy(site, spnego(r, keys))
	l := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: site, Krb5: r.Conf})
	t.Setenv("KRB5_CONFIG", r.Conf) // the users have a quick one
	run := makeFolders(t, r, l, keys)
	input := l.Dir() + "/input"
	write(t, input, "a line\n")
	run("hdfs", "dfs", "-put", input, "/user/alice/in")
	var page, job time.Duration
	n := 0
	work := func() (app string, err error) {
		t.Helper()
		n++
		begun := time.Now()
		app, err = copies(t, r, l, fmt.Sprintf("out%d", n))
		job = max(job, time.Since(begun))
		t.Logf("a job took %v: %.300v", time.Since(begun).Round(time.Second), err)
		begun = time.Now()
		if out := get(t, fmt.Sprintf("http://localhost:%d/ws/v1/cluster/nodes?states=RUNNING", l.Port("rm-http"))); !strings.Contains(out, `"state":"RUNNING"`) {
			t.Errorf("nodes: %s", out)
		}
		page = max(page, time.Since(begun))
		return app, err
	}
	node := "nm/localhost@" + r.Realm
	before, _ := requests(r.Log(), node)
	way.Delay(4 * time.Second)
	await.Slowly(t, "the node has logged in slowly", func() bool {
		app, err := work()
		if err != nil {
			t.Fatal(err)
		}
		logged(t, l, app)
		now, _ := requests(r.Log(), node)
		return now > before
	})
	way.Silent(true)
	await.Slowly(t, "jobs fail", func() bool {
		_, err := work()
		if err != nil && !strings.Contains(err.Error(), "Failed to renew token: Kind: HDFS_DELEGATION_TOKEN") {
			t.Fatal(err)
		}
		return err != nil
	})
	way.Delay(0)
	way.Silent(false)
	await.Slowly(t, "jobs run again", func() bool {
		app, err := work()
		if err == nil {
			logged(t, l, app)
		}
		return err == nil
	})
	t.Logf("the slowest page took %v, the longest job %v", page, job)
	if page > 10*time.Second || job > time.Minute {
		t.Errorf("a page took %v, a job %v", page, job)
	}
}

// get returns a page that wants a ticket, which the command's user has.
func get(t *testing.T, url string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "curl", "-sS", "--negotiate", "-u", ":", url).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
