package secure

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// A job outlives four tickets of its daemons and eight renewals of its token. Leaders are killed in the middle; the next ones renew the token, and the job goes on. A member
// that is restarted without its keytab says what is missing, and joins when the keytab is back.
func TestALongJobUnderShortTickets(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	const life, renewal, long = 75 * time.Second, 40 * time.Second, 5 * time.Minute
	r := newRealm(t, life)
	site, keys := securedHDFS(r)
	maps.Copy(site, map[string]string{"dfs.namenode.delegation.token.renew-interval": strconv.FormatInt(renewal.Milliseconds(), 10), "dfs.namenode.delegation.token.max-lifetime": "36000000"})
	l := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, ResourceManagers: 3, NodeManagers: 1, Heddle: heddle, Site: site, Krb5: r.Conf})
	run := makeFolders(t, r, l, keys)
	input := l.Dir() + "/input"
	write(t, input, "a line\n")
	run("hdfs", "dfs", "-put", input, "/user/alice/in")
	mapper := fmt.Sprintf("sh -c 'echo to the log >&2; sleep %d; cat'", int(long.Seconds()))
	job := exec.CommandContext(t.Context(), heddle, "mr", "-input", "/user/alice/in", "-output", "/user/alice/out", "-mapper", mapper, "-numReduceTasks", "0", "-D", "mapreduce.task.timeout=0")
	job.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
	var said strings.Builder
	job.Stdout, job.Stderr = &said, &said
	r.as(t, "alice")
	begun := time.Now()
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	renewals := func() int { return strings.Count(l.Daemon("namenode").Log(), "cmd=renewDelegationToken") }
	renewed := func(what string, times int) {
		t.Helper()
		times += renewals()
		await.Slowly(t, what, func() bool {
			r.as(t, "alice") // its command finds new tickets of kinit's
			return renewals() >= times
		})
	}
	renewed("the token is renewed", 3)
	first := leads(t, l)
	l.Daemon(first).Kill()
	renewed("the next leader renews it", 2)
	withoutKeytab(t, l.Daemon(first), r.site["yarn.resourcemanager.keytab"])
	l.Daemon(leads(t, l, first)).Kill()
	renewed("the last leader renews it", 2)

	ended := make(chan error, 1)
	go func() { ended <- job.Wait() }()
	tickets := time.NewTicker(life / 4)
	defer tickets.Stop()
	for over := false; !over; {
		select {
		case err := <-ended:
			if over = true; err != nil {
				t.Fatalf("%v\n%s", err, said.String())
			}
		case <-tickets.C:
			r.as(t, "alice")
		}
	}
	lives := float64(time.Since(begun)) / float64(life)
	as, tgs := requests(r.Log(), "rm/localhost@"+r.Realm)
	t.Logf("the job took %v: %.1f lives of a ticket, %d renewals; the ResourceManagers asked for %d tickets of their own and %d of services", time.Since(begun).Round(time.Second), lives, renewals(), as, tgs)
	if time.Since(begun) < long || as < 3 || tgs < 3 {
		t.Errorf("the job took %v; %d AS and %d TGS", time.Since(begun), as, tgs)
	}
	r.as(t, "alice")
	logged(t, l, submitted.FindString(said.String()))
}

// withoutKeytab starts a member that was killed without its keytab, and then with it.
func withoutKeytab(t *testing.T, member *hadooplab.Daemon, keytab string) {
	t.Helper()
	if err := os.Rename(keytab, keytab+".away"); err != nil {
		t.Fatal(err)
	}
	_ = member.Restart() // it ends by itself
	await.Slowly(t, "a member without its keytab says so", func() bool {
		log := member.Log()
		return strings.Contains(log, "yarn.resourcemanager.keytab") && strings.Contains(log, keytab)
	})
	if err := os.Rename(keytab+".away", keytab); err != nil {
		t.Fatal(err)
	}
	if err := member.Restart(); err != nil {
		t.Errorf("with its keytab: %v", err)
	}
}

// leads returns the name of the daemon that was the last to lead, but for one that was killed.
func leads(t *testing.T, l *hadooplab.Lab, killed ...string) string {
	t.Helper()
	for _, name := range []string{"resourcemanager1", "resourcemanager2", "resourcemanager3"} {
		if !slices.Contains(killed, name) && strings.Contains(l.Daemon(name).Log(), "msg=leading ") {
			return name
		}
	}
	t.Fatal("no member leads")
	return ""
}
